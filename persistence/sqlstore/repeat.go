package sqlstore

import (
	"context"
	"math/rand/v2"
	"time"
)

const (
	maxTries   = 8
	firstPause = 5 * time.Millisecond
	maxPause   = 400 * time.Millisecond
)

// repeat does what may be done again while again says of its error that it is of no lasting
// kind: eight times at most, within about half a second of pauses and the context's deadline.
// That is long enough for a conflict or for a connection that died while the environment was
// frozen, and too short for a fail-over.
func repeat(ctx context.Context, again func(error) bool, do func() error) error {
	return repeatWhile(ctx, func(try int, err error) bool { return try < maxTries && again(err) }, do)
}

// persist is repeat for what recognises that it has been done before: until the context's
// time is over, which a fail-over may well take. Without a deadline it is repeat.
func persist(ctx context.Context, again func(error) bool, do func() error) error {
	_, limited := ctx.Deadline()
	return repeatWhile(ctx, func(try int, err error) bool { return (limited || try < maxTries) && again(err) }, do)
}

// repeatWhile pauses a little longer after each try. It does not pause until the context's
// deadline: the last try is made halfway there.
func repeatWhile(ctx context.Context, again func(try int, err error) bool, do func() error) error {
	err := do()
	for try, pause := 1, firstPause; err != nil && ctx.Err() == nil && again(try, err); try, pause = try+1, min(2*pause, maxPause) {
		rest := pause/2 + rand.N(pause/2)
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= rest {
			if rest = time.Until(deadline) / 2; rest < firstPause/2 {
				return err
			}
		}
		timer := time.NewTimer(rest)
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
