// Package simulated stands in for the services beyond AWS that the sample functions
// call: a payment provider, a mail service, a warehouse.
package simulated

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"sync/atomic"
	"time"

	"github.com/ikkai-go/idempotency/functions/internal/downstream"
	"github.com/ikkai-go/idempotency/functions/internal/ledger"
)

var (
	// ErrRefused is a service's final no.
	ErrRefused = errors.New("simulated: refused")
	// ErrOtherRequest says that the key was used before, for something else.
	ErrOtherRequest = errors.New("simulated: the key was used for another request")
)

// Service is a simulated service. What it has done it writes into a ledger, a row
// "kind#…" for each thing done, so that anybody can count from outside how often
// that was. It is safe for concurrent use.
type Service struct {
	ledger      *ledger.Ledger
	kind        string
	mood        mood
	ignoresKeys bool
	calls       atomic.Int64
}

// mood is how a service behaves.
type mood string

const (
	prompt   mood = ""       // does it at once
	steady   mood = "steady" // does it after a tenth of a second
	slow     mood = "slow"   // does it after a second
	hanging  mood = "hang"   // does it and never answers
	flaky    mood = "flaky"  // fails the first call in this process, and does nothing
	refusing mood = "refuse" // refuses everything
)

// New returns a service that does things of a kind. How it behaves is one of "",
// steady, slow, hang, flaky and refuse. With keys "off" it does what it is asked to at each
// call; with any other value once for each key, as services of repute do.
func New(l *ledger.Ledger, kind, behaviour, keys string) (*Service, error) {
	s := &Service{ledger: l, kind: kind, mood: mood(behaviour), ignoresKeys: keys == "off"}
	switch s.mood {
	case prompt, steady, slow, hanging, flaky, refusing:
		return s, nil
	default:
		return nil, fmt.Errorf("simulated: the behaviour is %q, which is none of steady, slow, hang, flaky and refuse", behaviour)
	}
}

// Do does what the row describes, and returns the id of what is done. Tries of one
// request have the same key. After any error but [ErrRefused] and
// [ErrOtherRequest] nobody knows whether it was done.
func (s *Service) Do(ctx context.Context, key string, what ledger.Row) (id string, err error) {
	switch calls := s.calls.Add(1); {
	case s.mood == refusing:
		return "", ErrRefused
	case s.mood == flaky && calls == 1:
		return "", fmt.Errorf("simulated: %s: connection reset", s.kind)
	}
	if err := wait(ctx, s.mood.takes()); err != nil {
		return "", err
	}
	id, err = s.do(ctx, key, what)
	if err == nil && s.mood == hanging {
		// The worst moment: it is done and nobody hears of it. The context's end
		// changes nothing; Lambda has to kill the process.
		time.Sleep(neverInLambda)
	}
	return id, err
}

// neverInLambda is longer than any invocation may take.
const neverInLambda = 24 * time.Hour

func (s *Service) do(ctx context.Context, key string, what ledger.Row) (string, error) {
	id := downstream.ID(key)
	if s.ignoresKeys {
		id = rand.Text()
	}
	row := maps.Clone(what)
	row["idempotency_key"] = ledger.Text(key)
	row["created_at"] = ledger.Text(time.Now().UTC().Format(time.RFC3339Nano))
	done, err := s.ledger.Add(ctx, s.kind+"#"+id, row)
	if err != nil {
		return "", err
	}
	if !done.Has(what) {
		return "", ErrOtherRequest
	}
	return id, nil
}

// takes is how long a service needs before it does what it is asked to.
func (m mood) takes() time.Duration {
	switch m {
	case slow:
		return time.Second
	case steady:
		return time.Second / 10
	default:
		return 0
	}
}

func wait(ctx context.Context, d time.Duration) error {
	if d == 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
