package redisstore

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	firstPause = 25 * time.Millisecond
	maxPause   = 400 * time.Millisecond
)

// persist sends a request again while its error may pass and the context has time. It begins
// where the client has given up: that one repeats what it can as often as its options say,
// which is over in less than a second as a rule, and a fail-over takes longer. The pauses are
// bounded, and the last one ends halfway to the deadline. Without a deadline there is nothing
// to fill, and the client's tries have to do.
func persist(ctx context.Context, send func() *redis.Cmd) *redis.Cmd {
	cmd := send()
	deadline, limited := ctx.Deadline()
	for pause := firstPause; limited && passes(ctx, cmd.Err()); pause = min(2*pause, maxPause) {
		rest := pause/2 + rand.N(pause/2)
		if left := time.Until(deadline); left <= rest {
			if rest = left / 2; rest < firstPause/2 {
				return cmd
			}
		}
		timer := time.NewTimer(rest)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return cmd
		}
		cmd = send()
	}
	return cmd
}

// passes tells whether the same request may be answered later on, within its context.
func passes(ctx context.Context, err error) bool {
	return err != nil && ctx.Err() == nil && !errors.Is(err, redis.ErrClosed) && !answered(err, wrongType) && retryable(err)
}
