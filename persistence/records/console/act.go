package console

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"

	"github.com/ikkai-go/idempotency/persistence/records"
)

// action is something to be done about a record.
type action struct {
	// Do is forget, complete, complete_without_result, fail, finish_step, decline_step or
	// undo_step.
	Do string `json:"do"`
	// Result of complete, and Output of finish_step: JSON, as text. A nil output is not known.
	Result string  `json:"result,omitempty"`
	Output *string `json:"output,omitempty"`
	// Step of the actions on one.
	Step string `json:"step,omitempty"`
	// ErrorType and Message of fail.
	ErrorType string `json:"error_type,omitempty"`
	Message   string `json:"message,omitempty"`
}

// plan plans the action for a record.
func (a action) plan(ctx context.Context, desk *records.Desk, shown records.Record) (*records.Plan, error) {
	var s records.Settlement
	switch a.Do {
	case "forget":
		return desk.Forget(ctx, shown)
	case "complete":
		if !json.Valid([]byte(a.Result)) {
			return nil, &usageError{"The result is not JSON. A text needs quotation marks."}
		}
		s = records.Complete([]byte(a.Result))
	case "complete_without_result":
		s = records.CompleteWithoutResult()
	case "fail":
		if a.ErrorType == "" {
			return nil, &usageError{"A failure needs a type, such as CardDeclined."}
		}
		s = records.Fail(a.ErrorType, a.Message)
	case "finish_step":
		var output []byte
		if a.Output != nil {
			if output = []byte(*a.Output); !json.Valid(output) {
				return nil, &usageError{"The output is not JSON. A text needs quotation marks."}
			}
		}
		s = records.FinishStep(a.Step, output)
	case "decline_step":
		s = records.DeclineStep(a.Step)
	case "undo_step":
		s = records.UndoStep(a.Step)
	default:
		return nil, &usageError{"There is no such action."}
	}
	return desk.Settle(ctx, shown, s)
}

type request struct {
	shown
	Action action `json:"action"`
}

type planned struct {
	Does  []string `json:"does"`
	Notes []string `json:"notes"`
}

// plan says what would be done about a record.
func (c *Console) plan(r *http.Request, asked request) (any, error) {
	p, err := c.planFor(r.Context(), asked)
	if err != nil {
		return nil, err
	}
	return planned{Does: p.Does, Notes: p.Notes}, nil
}

func (c *Console) planFor(ctx context.Context, asked request) (*records.Plan, error) {
	record, err := c.still(ctx, asked.shown)
	if err != nil {
		return nil, err
	}
	return asked.Action.plan(ctx, c.desk, record)
}

type done struct {
	// Now is the record as it is; nil where it is gone.
	Now *records.Record `json:"now,omitempty"`
}

// do does it, if the record is still what was shown.
func (c *Console) do(r *http.Request, asked request) (any, error) {
	p, err := c.planFor(r.Context(), asked)
	if err != nil {
		return nil, err
	}
	now, err := p.Do(r.Context())
	c.log(r, "did something about a record", slog.String("key", asked.Key), slog.String("action", asked.Action.Do),
		slog.String("step", asked.Action.Step), slog.Bool("done", err == nil))
	switch {
	case err != nil:
		return nil, err
	case now.Key == "":
		return done{}, nil
	default:
		return done{Now: &now}, nil
	}
}
