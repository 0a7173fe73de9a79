package dynamostore

import (
	"context"
	"math/rand/v2"
	"time"
)

const (
	maxTries   = 6
	firstPause = 50 * time.Millisecond
)

// retry sends a request, and sends it again where that is a matter of moments:
//
//   - The table was busy. The SDK repeats throttled requests a few times, and
//     conflicts with a transaction not at all.
//   - No answer came within the request timeout. The SDK would wait for it until
//     the context ends, which is when Lambda kills the process. Whether the
//     request was applied is not known, but a write recognises itself.
//
// It stays within the context's deadline, which the last error outlives: it says
// more than "deadline exceeded".
func (s *Store) retry(ctx context.Context, request func(context.Context) error) error {
	pause := firstPause
	for try := 1; ; try++ {
		err, late := s.try(ctx, request)
		switch {
		case err == nil, try == maxTries, !late && !busy(err):
			return err
		case late:
			continue
		}
		timer := time.NewTimer(pause/2 + rand.N(pause/2))
		select {
		case <-timer.C:
			pause *= 2
		case <-ctx.Done():
			timer.Stop()
			return err
		}
	}
}

// try sends a request once and tells whether its answer was too late, with time
// left for another try.
func (s *Store) try(ctx context.Context, request func(context.Context) error) (err error, late bool) {
	limited, cancel := context.WithTimeout(ctx, s.requestTimeout)
	defer cancel()
	err = request(limited)
	return err, err != nil && limited.Err() != nil && ctx.Err() == nil
}
