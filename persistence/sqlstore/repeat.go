package sqlstore

import (
	"context"
	"math/rand/v2"
	"time"
)

const (
	maxTries   = 8
	firstPause = 5 * time.Millisecond
)

// repeat does what may be done again while again says of its error that it is of no
// lasting kind: eight times at most, within about half a second of pauses and the
// context's deadline. That is long enough for a conflict or for a connection that died
// while the environment was frozen, and too short for a failover.
func repeat(ctx context.Context, again func(error) bool, do func() error) error {
	err := do()
	for try, pause := 1, firstPause; try < maxTries && err != nil && ctx.Err() == nil && again(err); try, pause = try+1, 2*pause {
		timer := time.NewTimer(pause/2 + rand.N(pause/2))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return err
		}
		err = do()
	}
	return err
}
