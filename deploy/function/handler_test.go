package main

import (
	"errors"
	"testing"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/idempotenttest"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
)

// function is the function as the test kit sees it: made as main makes it, with the kit's DynamoDB and service.
func function() idempotenttest.Function {
	return idempotenttest.Function{
		New: func(e *idempotenttest.Environment) (any, error) {
			store, err := dynamostore.New(e.Client(), dynamostore.Config{Table: "idempotency"})
			if err != nil {
				return nil, err
			}
			return newFunction(store, e.Service("payout"))
		},
		Request: request{ID: "r-1", Amount: 4999},
		Other:   request{ID: "r-2", Amount: 4999},
	}
}

// A crash and a lost reply at every request, races, freezes: what the function does, it does once.
func TestTheFunctionIsProved(t *testing.T) {
	idempotenttest.Prove(t, function())
}

func TestTheSameIDWithAnotherAmountIsRefused(t *testing.T) {
	idempotenttest.Story(t, function(), func(t *testing.T, w *idempotenttest.World) {
		e := w.Start()
		if first := e.Invoke(request{ID: "r-1", Amount: 4999}); first.Err != nil {
			t.Fatal(first)
		}
		if other := e.Invoke(request{ID: "r-1", Amount: 1}); !errors.Is(other.Err, idempotent.ErrMismatch) {
			t.Errorf("the other amount %v", other)
		}
		if effects := len(w.Effects()); effects != 1 {
			t.Errorf("there are %d effects", effects)
		}
	})
}

func TestARefusalIsRecorded(t *testing.T) {
	function, err := newFunction(persistence.NewMemory(), standIn{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := function.Invoke(t.Context(), []byte(`{"id":"r-1","amount":0}`)); err == nil {
			t.Error("nothing was paid, and nothing said")
		}
	}
}
