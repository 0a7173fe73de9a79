package idempotent

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent/internal/result"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// Step runs fn as a named part of the guarded call that ctx belongs to. Once it has
// succeeded, its output is kept in the record: in a retry, a redelivery or a
// take-over Step returns that output, and fn does not run. A step that was
// interrupted runs again, so hand its [StepCall.Token] to the service that it calls.
//
//	reserved, err := idempotent.Step(ctx, "reserve-stock", func(ctx context.Context) (Reservation, error) {
//		return stock.Reserve(ctx, order.Lines)
//	})
//
// Steps are known by their names, never by their order, and a finished step is not
// run again because the code around it has changed. The names are declared in
// Config.Steps. A call may run each of them once; one whose function has failed may
// be tried again.
//
// The error of fn comes out as it is. Everything else that keeps a step from being
// run, or its output from being kept, is a [*StepError]. Outputs are stored and
// come back as JSON, with the rules of [Func]: a later attempt has what JSON makes of
// the value, raw messages without their white space. Step panics for a nil function
// and for outputs that JSON can't hold.
//
// Steps may run in parallel. The guarded call waits for those under way before it
// ends; their context ends when the function returns. There are no steps inside of
// steps.
//
// A step costs one write of the record, whose size grows by the output.
func Step[Out any](ctx context.Context, name string, fn func(context.Context) (Out, error)) (Out, error) {
	return StepAs(ctx, StepSpec[Out]{Name: name}, fn)
}

// StepSpec describes a step by more than its name.
type StepSpec[Out any] struct {
	// Name of the step. Required, and declared in Config.Steps.
	Name string

	// Input is what the output depends on, if anything: any value that JSON can
	// hold. An output that was kept for another input is not returned; the step
	// fails with [ErrStepInput], and does not run. Only a digest of it is kept.
	Input any

	// Compensate undoes the finished step, given its output, where the call fails
	// for good: see [Saga]. It runs until it has succeeded once, so it must be
	// idempotent; [StepFrom] has a token for it, too. In a later attempt it is what
	// that attempt's call of the step has here. A step whose function has returned
	// an error counts as not having happened, unless it is AtMostOnce.
	Compensate func(context.Context, Out) error

	// AtMostOnce never runs an interrupted step again, for effects that can't be
	// repeated. That it starts is recorded first, which costs a write more. What
	// became of an attempt that did not end with success, Reconcile has to find
	// out; without it, the step ends in *[OutcomeUnknownError] from then on.
	AtMostOnce bool

	// Reconcile finds out whether an earlier attempt of the step has happened, and
	// what its output was. If it has not, the step runs. An error leaves it unknown,
	// and the step undone. It is also asked for an output that could not be stored,
	// as long as the step happened.
	Reconcile func(context.Context) (out Out, happened bool, err error)
}

// StepAs is [Step] with a [StepSpec].
func StepAs[Out any](ctx context.Context, spec StepSpec[Out], fn func(context.Context) (Out, error)) (Out, error) {
	result.MustKeep(reflect.TypeFor[Out]())
	if fn == nil {
		panic(fmt.Sprintf("idempotent: step %q of a nil function", spec.Name))
	}
	var out Out
	s := &step{
		name:       spec.Name,
		input:      spec.Input,
		atMostOnce: spec.AtMostOnce,
		run: func(ctx context.Context) (err error) {
			out, err = fn(ctx)
			return err
		},
		encode: func() ([]byte, error) { return result.Encode(&out) },
		decode: func(stored []byte) error { return result.Decode(stored, &out) },
	}
	if spec.Compensate != nil {
		s.compensate = func(ctx context.Context, stored []byte) error {
			output := out // kept in memory only, where it could not be stored
			if stored != nil {
				output = *new(Out)
				if err := result.Decode(stored, &output); err != nil {
					return err
				}
			}
			return spec.Compensate(ctx, output)
		}
	}
	if spec.Reconcile != nil {
		s.reconcile = func(ctx context.Context) (bool, error) {
			found, happened, err := spec.Reconcile(ctx)
			if happened && err == nil {
				out = found
			}
			return happened, err
		}
	}
	err := journalFrom(ctx).do(ctx, s)
	return out, err
}

// step is a call of a step, without its types. Its functions share the output.
type step struct {
	name       string
	input      any
	atMostOnce bool
	run        func(context.Context) error
	encode     func() ([]byte, error)
	decode     func([]byte) error
	compensate func(context.Context, []byte) error              // nil without one
	reconcile  func(context.Context) (happened bool, err error) // nil without one
}

// digest returns what the input of a step is recognised by; empty without one.
func (s *step) digest() (string, error) {
	if s.input == nil {
		return "", nil
	}
	input, err := json.Marshal(map[string]any{"input": s.input}) // an empty input is an input
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrStepMisuse, result.Loss(err, "the input can't be encoded (%T)", err))
	}
	digest, err := idempotency.WholePayload().Fingerprint(result.MarkReplaced(input))
	if err != nil {
		return "", fmt.Errorf("%w: the input: %w", ErrStepMisuse, err)
	}
	return digest, nil
}

// StepCall is the step that a context belongs to.
type StepCall struct {
	// Name of the step.
	Name string
	// Token is made of the record's key and the step's name: the same in every
	// attempt, and so the idempotency key to hand to the service that the step
	// calls. A compensation has a token of its own. 32 hexadecimal digits, which is
	// within the limits of the AWS services (36 for most client tokens).
	Token string
}

type stepKey struct{}

// stepOf is a step as its context knows it.
type stepOf struct {
	journal *journal
	call    StepCall
}

// StepFrom returns the step, or the compensation, that ctx belongs to. There is none
// outside of one, nor in a guarded call that a step makes.
func StepFrom(ctx context.Context) (StepCall, bool) {
	s, ok := ctx.Value(stepKey{}).(stepOf)
	if !ok || s.journal != journalFrom(ctx) {
		return StepCall{}, false
	}
	return s.call, true
}

func (j *journal) withStep(ctx context.Context, name, purpose string) (context.Context, *storekit.Enlistment) {
	call := StepCall{Name: name, Token: token(j.key, name, purpose)}
	return j.guard.enlisting(context.WithValue(ctx, stepKey{}, stepOf{j, call}))
}

// token derives a token from parts, injectively.
func token(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		var length [8]byte
		binary.BigEndian.PutUint64(length[:], uint64(len(part)))
		h.Write(length[:])
		h.Write([]byte(part))
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// maxStepName is the longest name of a step, in bytes.
const maxStepName = 200

// checkStepName returns what is wrong with the name of a step, or with an entry of
// Config.Steps. The colon is kept for what else is recorded of a step.
func checkStepName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("a step needs a name")
	case len(name) > maxStepName:
		return fmt.Errorf("%.20q… has %d bytes, the limit is %d", name, len(name), maxStepName)
	case !utf8.ValidString(name), strings.ContainsFunc(name, unicode.IsControl):
		return fmt.Errorf("%q is not printable text", name)
	case strings.Contains(name, ":"):
		return fmt.Errorf("%q has a colon", name)
	}
	return nil
}

// declares tells whether the function may run a step of that name.
func (c Config) declares(name string) bool {
	for _, declared := range c.Steps {
		family := strings.HasSuffix(declared, "/")
		if !family && name == declared || family && len(name) > len(declared) && strings.HasPrefix(name, declared) {
			return true
		}
	}
	return false
}
