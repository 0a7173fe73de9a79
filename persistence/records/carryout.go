package records

import (
	"context"
	"errors"
)

var errUnfinished = errors.New("records: not built yet")

func (d *Desk) settle(context.Context, Record, Settlement) (*Plan, error) { return nil, errUnfinished }
func (d *Desk) forgetting(context.Context, Record) (*Plan, error)         { return nil, errUnfinished }
func (d *Desk) resume(context.Context, Record, Resumption) (*Plan, error) { return nil, errUnfinished }
