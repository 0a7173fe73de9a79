package records

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/ikkai-go/idempotency/internal/stepentry"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// planStep plans an entry of a step, after which the request can be resumed. What is recorded of
// the step so far is opened for that, and not shown.
func (w *settling) planStep(ctx context.Context, p *Plan) (*Plan, error) {
	opened, err := w.desk.Open(ctx, w.shown)
	if err != nil {
		return nil, fmt.Errorf("records: %s: opening its steps: %w", w.shown.Key, err)
	}
	refuse := func(format string, args ...any) (*Plan, error) {
		return nil, &RefusedError{w.shown.Key, w.shown.State, fmt.Sprintf(format, args...)}
	}
	name := w.settlement.step
	at := slices.IndexFunc(opened.Steps, func(s Step) bool { return s.Name == name })
	if at < 0 {
		return refuse("it has no step %q", name)
	}
	step := opened.Steps[at]
	keeper, keeps := storekit.Able[persistence.Checkpointer](w.desk.store)
	switch {
	case !keeps:
		return refuse("its store keeps no steps")
	case w.settlement.kind == stepUndone && opened.Undoing == nil:
		return refuse("it has not failed for good, so its steps are not to be undone")
	case w.settlement.kind == stepUndone && step.Phase != PhaseFinished && step.Phase != PhaseStarted,
		w.settlement.kind != stepUndone && step.Phase != PhaseStarted:
		return refuse("its step %s is %s, about which there is nothing to say", name, step.Phase)
	}
	var what string
	switch w.settlement.kind {
	case stepFinished:
		what = "has happened"
		if w.settlement.content != nil && !json.Valid(w.settlement.content) {
			return refuse("the output of its step %s is not JSON, and could not be read", name)
		}
		w.entry = name
		if w.says, err = finished(step, opened.Steps, w.settlement.content); err != nil {
			return refuse("the output of its step %s: %v", name, err)
		}
		if w.settlement.content == nil {
			p.note("its output is not recorded, and can't be later: without a Reconcile no try gets past %s then, only be settled as a whole. Give the output as JSON; that of a step that returns nothing is {}.", name)
		}
		if opened.Undoing != nil && step.Compensable {
			p.note("the request has failed for good, so %s will be undone.", name)
		}
	case stepDeclined:
		what = "has not happened"
		w.entry, w.says = name+stepentry.Nth(stepentry.Declined, max(step.Starts, 1)), []byte("{}")
	default:
		what = "was undone"
		w.entry, w.says = name+stepentry.Compensated, []byte("{}")
	}
	p.does("Take the record over from its owner, who has lost it from then on (attempt %d).", w.shown.Attempt+1)
	p.does("Record that the step %s %s.", name, what)
	p.does("Give the request up: whoever sends it again goes on with it.")
	if w.shown.State == StateDied {
		p.note("the rest of its run has died at a place that is not known. A guard that refuses unknown outcomes lets it be resumed then.")
	}
	p.do = func(ctx context.Context) (Record, error) {
		return w.carryOut(ctx, func(ctx context.Context, held persistence.Record) error { return w.checkpoint(ctx, keeper, held) })
	}
	return p, nil
}

// finished is the entry of a started step that has happened: the last one so far.
func finished(step Step, all []Step, output []byte) ([]byte, error) {
	e := stepentry.Entry{Omitted: output == nil, Input: step.entry.Input, Compensable: step.entry.Compensable}
	for _, s := range all {
		e.Order = max(e.Order, s.Order)
	}
	e.Order++
	if output != nil {
		var compact bytes.Buffer
		if err := json.Compact(&compact, output); err != nil {
			return nil, err
		}
		e.Output = compact.Bytes()
	}
	return json.Marshal(e)
}

// checkpoint records the entry and gives the record up.
func (w *settling) checkpoint(ctx context.Context, keeper persistence.Checkpointer, held persistence.Record) error {
	if _, recorded := held.Steps[w.entry]; held.Status == persistence.StatusPartial && recorded {
		return nil // an earlier try has come this far
	}
	lease := held.Lease()
	if err := keeper.Checkpoint(ctx, lease, w.entry, w.says); err != nil {
		return failed(held.Key, "recording the step", err)
	}
	lease.Steps = withStep(lease.Steps, w.entry, w.says)
	if err := w.desk.store.Release(ctx, lease); err != nil {
		return failed(held.Key, "giving the request up", err)
	}
	return nil
}

func withStep(steps map[string][]byte, name string, output []byte) map[string][]byte {
	with := make(map[string][]byte, len(steps)+1)
	maps.Copy(with, steps)
	with[name] = output
	return with
}
