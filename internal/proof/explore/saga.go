package explore

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/saga"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
)

// Saga is a guarded function that consists of steps, one after the other. Each of
// their functions is a place where the process may stop, and end in any way.
type Saga []Stage

// Stage is a step of a saga.
type Stage struct {
	// Compensable steps have a compensation.
	Compensable bool
	// AtMostOnce steps have a function that finds out whether they have happened, and
	// tells the truth if it does not fail.
	AtMostOnce bool
	// Enlists says that the effects of the step, and of its compensation, are writes
	// that commit with their entries. Needs a table that is a [Ledger].
	Enlists bool
	// Bytes is how much output the step has, besides a few.
	Bytes int
	// Beside says that the step runs beside the one before it, at the same time.
	Beside bool
}

// Chain is a saga of n like steps.
func Chain(n int, stage Stage) Saga {
	chain := make(Saga, n)
	for i := range chain {
		chain[i] = stage
	}
	return chain
}

// enlists tells whether a step of the saga does. The guarded function then does, too.
func (s Saga) enlists() bool {
	for _, stage := range s {
		if stage.Enlists {
			return true
		}
	}
	return false
}

// names are those of the steps, in order.
func (s Saga) names() []string {
	names := make([]string, len(s))
	for i := range s {
		names[i] = strconv.Itoa(i + 1)
	}
	return names
}

// String describes the saga in a few words.
func (s Saga) String() string {
	var kinds []string
	for i := 0; i < len(s); {
		n := 1
		for i+n < len(s) && s[i+n] == s[i] {
			n++
		}
		kinds = append(kinds, strings.TrimSpace(fmt.Sprintf("%d %s", n, s[i])))
		i += n
	}
	return "saga of " + strings.Join(kinds, ", ")
}

// String describes the step in a few words.
func (s Stage) String() string {
	var words []string
	if s.Bytes > 0 {
		words = append(words, "large")
	}
	if s.Beside {
		words = append(words, "beside")
	}
	if s.Enlists {
		words = append(words, "enlisting")
	}
	if s.AtMostOnce {
		words = append(words, "at-most-once")
	}
	if !s.Compensable {
		words = append(words, "final")
	}
	return strings.Join(words, " ")
}

// run runs the saga in a process. Its result are the outputs of the steps.
func (s Saga) run(ctx context.Context, p *Process) (string, error) {
	outputs := make([]string, len(s))
	for from := 0; from < len(s); {
		to := from + 1
		for to < len(s) && s[to].Beside {
			to++
		}
		if err := s.runBeside(ctx, p, from, outputs[from:to]); err != nil {
			return "", err
		}
		from = to
	}
	if _, err := p.pause(ctx, "function", returnsOK, returnsError, failsForGood, unwinds); err != nil {
		return "", err
	}
	if s.enlists() {
		enlist(ctx, completion)
	}
	return strings.Join(outputs, ", "), nil
}

// runBeside runs as many steps at the same time as there are outputs, each in a thread of
// its own. A single one is the call's own.
func (s Saga) runBeside(ctx context.Context, p *Process, from int, outputs []string) error {
	if len(outputs) == 1 {
		return s.runStep(ctx, p, from, &outputs[0])
	}
	errs := make([]error, len(outputs))
	var running sync.WaitGroup
	for n := range outputs {
		running.Go(func() {
			defer func() {
				if thrown := recover(); thrown != nil {
					errs[n] = errTryAgain
				}
			}()
			errs[n] = s.runStep(p.on(ctx, stepping+from+n), p, from+n, &outputs[n])
		})
	}
	running.Wait()
	if p.dead {
		runtime.Goexit()
	}
	// A failure for good decides; which error it is otherwise is all the same.
	for _, err := range errs {
		if errors.Is(err, idempotent.ErrPermanent) {
			return err
		}
	}
	return errors.Join(errs...)
}

// runStep runs a step, and keeps its output.
func (s Saga) runStep(ctx context.Context, p *Process, i int, output *string) error {
	name := s.names()[i]
	got, err := p.steps[i].Run(ctx, func(ctx context.Context, _ saga.Call) (string, error) {
		return s[i].perform(ctx, p, name)
	})
	if err != nil && s[i].AtMostOnce {
		err = p.giveUp(ctx, name, err)
	}
	if err != nil {
		return err
	}
	p.world.judgeOutput(ctx, p, name, got)
	*output = got
	return nil
}

// giveUp returns the error of a step, or fails for good because of it: the step may have
// happened all the same.
func (p *Process) giveUp(ctx context.Context, step string, err error) error {
	if _, declined := p.pause(ctx, "handling of step "+step+"'s error", returnsOK, failsForGood); declined != nil {
		return declined
	}
	return err
}

// steps are the steps of a saga, as a process has declared them.
type steps []*saga.Step[string]

// steps returns the steps as a process declares them.
func (s Saga) steps(p *Process) steps {
	var all steps
	for i, name := range s.names() {
		all = append(all, saga.NewStep(s[i].spec(p, name)))
	}
	return all
}

// declared are the steps as the engine takes them.
func (s steps) declared() (all []saga.Declaration) {
	for _, step := range s {
		all = append(all, step)
	}
	return all
}

// spec is the step as the engine takes it.
func (s Stage) spec(p *Process, name string) saga.Spec[string] {
	spec := saga.Spec[string]{Name: name, AtMostOnce: s.AtMostOnce}
	if s.Compensable {
		spec.Compensate = func(ctx context.Context, _ saga.Call, output string) error { return s.undo(ctx, p, name, output) }
	}
	if s.AtMostOnce {
		spec.Reconcile = func(ctx context.Context, _ saga.Call) (string, bool, error) { return s.reconcile(ctx, p, name) }
	}
	return spec
}

func (s Stage) perform(ctx context.Context, p *Process, name string) (string, error) {
	p.world.judgeStep(ctx, p, name)
	if !s.Enlists {
		p.acts.Store(true)
	}
	ways := []kind{returnsOK, returnsError, failsForGood, unwinds}
	if s.AtMostOnce {
		ways = append(ways, breaksOff)
	}
	end, err := p.pause(ctx, "step "+name, ways...)
	if s.AtMostOnce && (end == returns || end == breaks) {
		p.world.happen(ctx, name)
	}
	if err != nil {
		return "", err
	}
	p.finishes(name)
	if s.Enlists {
		enlist(ctx, name)
	}
	return s.output(p, name), nil
}

// output is that of a step which a process has run.
func (s Stage) output(p *Process, name string) string {
	return p.name + name + strings.Repeat("x", s.Bytes)
}

func (s Stage) undo(ctx context.Context, p *Process, name, output string) error {
	p.world.judgeUndo(ctx, p, name, output)
	if !s.Enlists {
		p.acts.Store(true)
	}
	if _, err := p.pause(ctx, "compensation of step "+name, returnsOK, returnsError, failsForGood, unwinds); err != nil {
		return err
	}
	p.did = append(p.did, name+compensatedSuffix)
	if s.Enlists {
		enlist(ctx, undoing(name))
	}
	return nil
}

func (s Stage) reconcile(ctx context.Context, p *Process, name string) (string, bool, error) {
	p.thread(ctx).asks = name
	end, err := p.pause(ctx, "question about step "+name, finds, returnsError, unwinds)
	if err != nil {
		return "", false, err
	}
	if end == confirms {
		p.finishes(name)
	}
	return s.output(p, name), end == confirms, nil
}

// errDeclined is the failure for good that a process has met.
func errDeclined(name string, room int) error {
	reason := ""
	if room > 0 { // then it is as long as a reason that is recorded may be
		reason = strings.Repeat(".", 300)
	}
	return idempotent.Permanent(fmt.Errorf("%s was declined%s", name, reason))
}

// The enlisted writes count how often they are applied, each in an item of its own.
const (
	ledgerName = "ledger"
	completion = "completion"
)

// undoing is the name of the write that undoes a step; a step's has the step's name.
func undoing(step string) string { return "undoing " + step }

// enlist adds to the count of a name, once it commits.
func enlist(ctx context.Context, name string) {
	err := dynamostore.Enlist(ctx, dynamostore.Write{Update: &types.Update{
		TableName:                 aws.String(ledgerName),
		Key:                       map[string]types.AttributeValue{"name": text(name)},
		UpdateExpression:          aws.String("ADD #n :one"),
		ExpressionAttributeNames:  map[string]string{"#n": "n"},
		ExpressionAttributeValues: map[string]types.AttributeValue{":one": number(1)},
	}})
	if err != nil {
		panic(err) // a System that can't be set up
	}
}
