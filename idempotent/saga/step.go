package saga

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	"github.com/ikkai-go/idempotency/idempotent/internal/journal"
	"github.com/ikkai-go/idempotency/idempotent/internal/result"
)

// Spec describes a step. Only Name is required.
type Spec[Out any] struct {
	// Name of the step, by which records know it: up to 200 bytes, and no colon. That of a
	// family ([NewFamily]) ends in "/".
	Name string

	// Compensate undoes the finished step, given its output, where the call fails for
	// good: see [Run]. It runs until it has succeeded once, so it must be idempotent; the
	// call that it gets has a token for it. All that it needs has to be in the output: it
	// may run in a later attempt, whose function did not come to the step. A step whose
	// function has returned an error counts as not having happened, unless it is AtMostOnce.
	Compensate func(ctx context.Context, call Call, out Out) error

	// AtMostOnce never runs an interrupted step again, for effects that can't be
	// repeated. That it starts is recorded first, which costs a write more. What
	// became of an attempt that did not end with success, Reconcile has to find
	// out; without it, the step ends in *[idempotent.OutcomeUnknownError] from then on, and a
	// call that fails with the step's error is stuck at once.
	AtMostOnce bool

	// Reconcile finds out whether an earlier attempt of the step has happened, and
	// what its output was; the call has the token that the attempt had. If it has not, the
	// step runs. An error leaves it unknown, and the step undone. It is also asked for an
	// output that could not be stored, as long as the step happened.
	Reconcile func(ctx context.Context, call Call) (out Out, happened bool, err error)
}

// None is the output of steps that have none.
type None = struct{}

// Step is a named part of a guarded call, declared once for all calls of a guard ([Steps]).
// Safe for concurrent use.
type Step[Out any] struct {
	declared *definition
	spec     *Spec[Out]
	name     string
}

// NewStep returns a step. It panics for a spec that is wrong, and for outputs that JSON
// can't hold: both are program text.
func NewStep[Out any](spec Spec[Out]) *Step[Out] {
	if strings.HasSuffix(spec.Name, "/") {
		panic(fmt.Sprintf("saga: %q names a family, and NewStep makes one step; use NewFamily", spec.Name))
	}
	return &Step[Out]{declared: define(&spec), spec: &spec, name: spec.Name}
}

// Name returns the step's name.
func (s *Step[Out]) Name() string { return s.name }

// Run runs fn as the step, in the guarded call that ctx belongs to. Once it has succeeded,
// its output is kept in the record: in a retry, a redelivery or a take-over Run returns that
// output, and fn does not run. A step that was interrupted runs again, so hand [Call.Token]
// to the service that it calls.
//
// The error of fn comes out as it is. Everything else that keeps a step from being run, or
// its output from being kept, is a [*StepError]. Outputs are stored and come back as JSON,
// with the rules of [idempotent.Func]: a later attempt has what JSON makes of the value, raw
// messages without their white space.
//
// A call may run each step once; one whose function has failed may be tried again. Steps may
// run in parallel. The guarded call waits for those under way before it ends; their context
// ends when the function returns. There are no steps inside of steps.
//
// A step costs one write of the record, whose size grows by the output. Run panics for a nil
// function.
func (s *Step[Out]) Run(ctx context.Context, fn func(context.Context, Call) (Out, error)) (Out, error) {
	return s.RunFor(ctx, nil, fn)
}

// RunFor is [Step.Run] for an output that depends on an input: any value that JSON can hold,
// made of the request and of the outputs of earlier steps, and never of the time. An output
// that was kept for another input is not returned; the step fails with [ErrStepInput], and
// does not run. Only a digest of the input is kept.
func (s *Step[Out]) RunFor(ctx context.Context, input any, fn func(context.Context, Call) (Out, error)) (Out, error) {
	if fn == nil {
		panic(fmt.Sprintf("saga: step %q of a nil function", s.name))
	}
	var out Out
	err := journalFrom(ctx).do(ctx, &visit{
		declared: s.declared,
		name:     s.name,
		input:    input,
		run: func(ctx context.Context, call Call) (err error) {
			out, err = fn(ctx, call)
			return err
		},
		output: s.spec.hold(&out),
	})
	return out, err
}

// Do is [Step.Run] for functions that return nothing but an error. The output is the zero
// one.
func (s *Step[Out]) Do(ctx context.Context, fn func(context.Context, Call) error) error {
	if fn == nil {
		panic(fmt.Sprintf("saga: step %q of a nil function", s.name))
	}
	_, err := s.Run(ctx, func(ctx context.Context, call Call) (out Out, err error) { return out, fn(ctx, call) })
	return err
}

// Family is steps that differ in what they are done for, such as "e-mail/42" and
// "e-mail/43", and are declared together. Safe for concurrent use.
type Family[Out any] struct {
	declared *definition
	spec     *Spec[Out]
}

// NewFamily returns a family of steps; the name of its spec ends in "/". It panics as
// [NewStep] does.
func NewFamily[Out any](spec Spec[Out]) *Family[Out] {
	if !strings.HasSuffix(spec.Name, "/") {
		panic(fmt.Sprintf("saga: %q names one step, and the name of a family ends in \"/\"", spec.Name))
	}
	return &Family[Out]{declared: define(&spec), spec: &spec}
}

// Step returns a step of the family, whose name is the family's and member. A name that can't
// be one is an error of the step's run.
func (f *Family[Out]) Step(member string) *Step[Out] {
	return &Step[Out]{declared: f.declared, spec: f.spec, name: f.spec.Name + member}
}

// define returns the definition of a spec.
func define[Out any](spec *Spec[Out]) *definition {
	if err := checkName(spec.Name); err != nil {
		panic("saga: " + err.Error())
	}
	result.MustKeep(reflect.TypeFor[Out]())
	return &definition{
		name:        spec.Name,
		atMostOnce:  spec.AtMostOnce,
		compensates: spec.Compensate != nil,
		reconciles:  spec.Reconcile != nil,
		hold:        func() *output { return spec.hold(new(Out)) },
	}
}

// visit is a call's coming to a step, without its types.
type visit struct {
	declared *definition
	name     string
	input    any
	run      func(context.Context, Call) error
	output   *output
	failure  error // of the step's function, if that is how it has ended
}

// output is the output of a step in one attempt of the call, without its type.
type output struct {
	encode func() ([]byte, error)
	decode func([]byte) error
	// undo returns what undoes the step, given what is stored of the output; nil for what is
	// kept in memory only, where it could not be stored. The error says that it can't be read.
	undo func(stored []byte) (func(context.Context, Call) error, error)
	// reconcile finds out whether the step has happened, and if so takes what it finds.
	reconcile func(context.Context, Call) (happened bool, err error)
}

// hold holds the output that out points to.
func (s *Spec[Out]) hold(out *Out) *output {
	return &output{
		encode: func() ([]byte, error) { return result.Encode(out) },
		decode: func(stored []byte) error { return result.Decode(stored, out) },
		undo: func(stored []byte) (func(context.Context, Call) error, error) {
			done := *out
			if stored != nil {
				done = *new(Out) // the function may have changed what it got
				if err := result.Decode(stored, &done); err != nil {
					return nil, err
				}
			}
			return func(ctx context.Context, call Call) error { return s.Compensate(ctx, call, done) }, nil
		},
		reconcile: func(ctx context.Context, call Call) (bool, error) {
			found, happened, err := s.Reconcile(ctx, call)
			if happened && err == nil {
				*out = found
			}
			return happened, err
		},
	}
}

// Call is the step that a function or a compensation runs as.
type Call struct {
	// Name of the step.
	Name string
	// Token is made of the record's key and the step's name: the same in every
	// attempt, and so the idempotency key to hand to the service that the step
	// calls. A compensation has a token of its own. 32 hexadecimal digits, which is
	// within the limits of the AWS services (36 for most client tokens).
	Token string
}

// CallFrom returns the step, or the compensation, that ctx belongs to. There is none
// outside of one, nor in a guarded call that a step makes.
func CallFrom(ctx context.Context) (Call, bool) {
	step, ok := journal.StepFrom(ctx)
	return Call(step), ok
}
