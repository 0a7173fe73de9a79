package dynamostore

import (
	"context"
	"math/rand/v2"
	"time"
)

const (
	busyTries      = 6
	busyFirstPause = 50 * time.Millisecond
)

// retryBusy repeats a request that the table was too busy for. The SDK repeats
// throttled requests a few times and conflicts with a transaction not at all,
// but both are a matter of moments. Within the context's deadline, which the
// last error outlives: it says more than "deadline exceeded".
func retryBusy(ctx context.Context, request func() error) error {
	err := request()
	for try, pause := 1, busyFirstPause; try < busyTries && busy(err); try, pause = try+1, 2*pause {
		timer := time.NewTimer(pause/2 + rand.N(pause/2))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return err
		}
		err = request()
	}
	return err
}
