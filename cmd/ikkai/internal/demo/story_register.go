package demo

import (
	"context"
	"net/http"

	"github.com/ikkai-go/idempotency/persistence"
)

// The scenes of functions/register, an HTTP API whose own table is a second line of
// defence.

var (
	ada = Registration{Key: "c1a2f0de-1b7e-4c7b-8d38-0a6b5e9f2f61", Email: "ada@example.com"}
	eve = Registration{Key: "4f0f9a3c-55d2-4f57-9d0c-7f7a4e0f3b18", Email: "ada@example.com"}
)

func registration(ctx context.Context, s *show) error {
	first, err := s.send(ctx, "env-9", ada)
	if err != nil {
		return err
	}
	again, err := s.send(ctx, "env-10", ada)
	if err != nil {
		return err
	}
	s.promise("the same request twice makes one account, sends one mail, and has one answer",
		answered(first, http.StatusCreated), ownAnswer(first), took(first.Work, "PutItem", "UpdateItem"),
		sameAnswer(again, first), markedAsReplay(again), took(again.Work, refused("PutItem")), untouched(again.Work),
		s.stage.recorded(ada, persistence.StatusCompleted, 1),
		s.stage.done(ada, 1))
	if err := s.stage.forget(ada); err != nil {
		return err
	}
	forgotten := s.stage.unrecorded(ada)
	if again, err = s.send(ctx, "env-10", ada); err != nil {
		return err
	}
	s.promise("once its record has expired it runs again, and finds the account instead of making a second one",
		forgotten,
		answered(again, http.StatusCreated), sameAnswer(again, first), ownAnswer(again), took(again.Work, "PutItem", "UpdateItem"),
		s.stage.done(ada, 1))
	return nil
}

func taken(ctx context.Context, s *show) error {
	other, err := s.send(ctx, "env-9", eve)
	if err != nil {
		return err
	}
	s.promise("another key is another request: it gets no account, and its record does not stay",
		answered(other, http.StatusConflict), took(other.Work, "PutItem", "DeleteItem"),
		s.stage.unrecorded(eve),
		s.stage.done(ada, 1))
	return nil
}
