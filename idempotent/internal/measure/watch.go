package measure

import (
	"context"

	"github.com/ikkai-go/idempotency/idempotent"
)

// Watch returns a config with hooks besides those that it has. The new ones come last:
// their parts lie within the others'.
func Watch(
	config idempotent.Config,
	observe func(context.Context, idempotent.Event),
	trace func(context.Context, idempotent.Event) (context.Context, func(idempotent.Event)),
) idempotent.Config {
	if before := config.Observe; before != nil {
		after := observe
		observe = func(ctx context.Context, e idempotent.Event) {
			before(ctx, e)
			after(ctx, e)
		}
	}
	if outer := config.Trace; outer != nil {
		inner := trace
		trace = func(ctx context.Context, e idempotent.Event) (context.Context, func(idempotent.Event)) {
			within, endOuter := outer(ctx, e)
			if within == nil {
				within = ctx
			}
			within, endInner := inner(within, e)
			if endOuter == nil {
				return within, endInner
			}
			return within, func(e idempotent.Event) {
				defer endOuter(e)
				endInner(e)
			}
		}
	}
	config.Observe, config.Trace = observe, trace
	return config
}
