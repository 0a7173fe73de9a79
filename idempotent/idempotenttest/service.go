package idempotenttest

import (
	"context"
	"errors"
	"fmt"

	"github.com/ikkai-go/idempotency/idempotent/saga"
)

var (
	// ErrUnreachable is what a caller is told whose call to a service was lost, or whose
	// reply was: it can't know which.
	ErrUnreachable = errors.New("idempotenttest: the connection broke")
	// ErrOtherRequest says that a service knows the key, of another request.
	ErrOtherRequest = errors.New("idempotenttest: the key was used for another request")
)

// Effect is something that a service has done.
type Effect struct {
	Service string // its name
	Key     string // the idempotency key that it was given; empty for none
	What    string // what it was asked for
	ID      string // the service's name for what it has done

	step       string // in which it was asked; empty for none
	invocation *Invocation
	unguarded  bool // its invocation had not written to the records' table before
}

// Service is a service beyond DynamoDB that the function calls, such as a provider of
// payments: what it does for a key it does once. Calls of it can be lost like requests
// to DynamoDB, and a process can die before and after each. It is safe for concurrent use.
type Service struct {
	environment *Environment
	process     *process
	name        string
	keyless     bool
}

// Service is the environment's connection to the service of that name. It is the same
// service in all environments of a world.
func (e *Environment) Service(name string) *Service {
	return &Service{environment: e, process: e.current(), name: name}
}

// IgnoringKeys is the service as one that does what it is asked for at each call,
// whatever the key.
func (s *Service) IgnoringKeys() *Service {
	keyless := *s
	keyless.keyless = true
	return &keyless
}

// Do has the service do what it is asked for, and returns its ID for that. A key that
// it knows gets the ID of what was done for it; with other words for what, it is
// [ErrOtherRequest]. An empty key is none. An error of the context comes before
// anything is done; after [ErrUnreachable] nobody knows.
func (s *Service) Do(ctx context.Context, key, what string) (id string, err error) {
	err = s.environment.outside(ctx, s.process, "the call of "+s.name, func() error {
		id, err = s.do(ctx, key, what)
		return err
	})
	if err != nil {
		return "", err
	}
	return id, nil
}

func (s *Service) do(ctx context.Context, key, what string) (string, error) {
	w := s.process.world
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, done := range w.effects {
		if key == "" || s.keyless || done.Service != s.name || done.Key != key {
			continue
		}
		if done.What != what {
			return "", ErrOtherRequest
		}
		return done.ID, nil
	}
	effect := Effect{Service: s.name, Key: key, What: what, ID: fmt.Sprintf("%s-%d", s.name, len(w.effects)+1)}
	if step, ok := saga.CallFrom(ctx); ok {
		effect.step = step.Name
	}
	if effect.invocation, _ = ctx.Value(invocationKey{}).(*Invocation); effect.invocation != nil {
		effect.unguarded = !effect.invocation.hasAcquired()
	}
	w.effects = append(w.effects, effect)
	return effect.ID, nil
}

// Outside carries out a call to something outside of the function that the test has
// faked itself, under a name for the story. Like a request to DynamoDB it may be lost
// (it is then not carried out), its reply may be lost, and the process may die before and after it.
func (e *Environment) Outside(ctx context.Context, name string, call func() error) error {
	return e.outside(ctx, e.current(), name, call)
}
