package httpguard

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/ikkai-go/idempotency/idempotent"
)

// signing are the headers by which a client proves who it is: what they hold would let whoever
// reads the table in as that client.
var signing = map[string]bool{
	"Authorization":           true,
	"Cookie":                  true,
	"Proxy-Authorization":     true,
	"X-Amz-Security-Token":    true,
	"X-Amzn-Oidc-Accesstoken": true,
	"X-Amzn-Oidc-Data":        true,
	"X-Api-Key":               true,
}

// unsigned returns headers without those.
func unsigned[V any](headers map[string]V) map[string]V {
	var rest map[string]V
	for name, value := range headers {
		if signing[http.CanonicalHeaderKey(name)] {
			continue
		}
		if rest == nil {
			rest = make(map[string]V, len(headers))
		}
		rest[name] = value
	}
	return rest
}

// keep returns the event that the function has to be invoked with to go on with a request; nil
// where there is none that has the same key: a [Scope] that looks at what is left out would find
// another owner for it, or none.
func (a *API) keep(ctx context.Context, r *Request, id idempotent.Identity) []byte {
	if r.kept == nil {
		return nil
	}
	event, resumed := r.kept()
	again, err := a.identify(ctx, resumed)
	if err != nil || again.Request() != id.Request() {
		return nil
	}
	kept, err := json.Marshal(event)
	if err != nil {
		return nil
	}
	return kept
}
