package demo

import (
	"context"
	"net/http"

	"github.com/ikkai-go/idempotency/persistence"
)

// The scenes of functions/payment, an HTTP API.

var (
	firstOrder   = Order{Key: "order-1", Amount: 12_50}
	racedOrder   = Order{Key: "order-2", Amount: 80_00}
	failedOrder  = Order{Key: "order-3", Amount: 7_20}
	killedOrder  = Order{Key: "order-4", Amount: 310_00}
	chargedTwice = Order{Key: "order-5", Amount: 19_99}
)

func retry(ctx context.Context, s *show) error {
	first, err := s.send(ctx, "env-1", firstOrder)
	if err != nil {
		return err
	}
	s.promise("a first run takes two writes, and is charged once",
		answered(first, http.StatusCreated), ownAnswer(first),
		took(first.Work, "PutItem", "UpdateItem"),
		s.stage.recorded(firstOrder, persistence.StatusCompleted, 1),
		s.stage.done(firstOrder, 1))
	again, err := s.send(ctx, "env-2", firstOrder)
	if err != nil {
		return err
	}
	s.promise("a retry gets the first answer byte for byte, marked as a replay, for one write that fails",
		sameAnswer(again, first), markedAsReplay(again),
		took(again.Work, refused("PutItem")), untouched(again.Work),
		s.stage.done(firstOrder, 1))
	quoted := firstOrder
	quoted.Quoted = true
	if again, err = s.send(ctx, "env-2", quoted); err != nil {
		return err
	}
	s.promise("the key in quotes, as the IETF's draft has it, is the same key",
		sameAnswer(again, first), markedAsReplay(again),
		took(again.Work, refused("PutItem")), untouched(again.Work),
		s.stage.done(firstOrder, 1))
	return nil
}

func otherAmount(ctx context.Context, s *show) error {
	was, _ := s.stage.record(firstOrder)
	other, err := s.send(ctx, "env-1", Order{Key: firstOrder.Key, Amount: 99_00})
	if err != nil {
		return err
	}
	s.promise("a key used for something else is refused, and its record stays as it was",
		answered(other, http.StatusUnprocessableEntity),
		took(other.Work, refused("PutItem")), untouched(other.Work),
		s.stage.unchanged(firstOrder, was),
		s.stage.done(firstOrder, 1))
	return nil
}

func race(ctx context.Context, s *show) error {
	paid, other, err := s.sendBoth(ctx, [2]string{"env-3", "env-4"}, racedOrder)
	if err != nil {
		return err
	}
	s.promise("of two at once one runs, and the other is told to wait",
		answered(paid, http.StatusCreated), took(paid.Work, "PutItem", "UpdateItem"),
		answered(other, http.StatusConflict), toldToWait(other),
		took(other.Work, refused("PutItem")), untouched(other.Work),
		s.stage.done(racedOrder, 1))
	again, err := s.sendWhenTold(ctx, other.Environment, other)
	if err != nil {
		return err
	}
	s.promise("and then gets the same answer",
		sameAnswer(again, paid), markedAsReplay(again),
		took(again.Work, refused("PutItem")), untouched(again.Work),
		s.stage.done(racedOrder, 1))
	return nil
}

func failure(ctx context.Context, s *show) error {
	failed, err := s.send(ctx, "env-6", failedOrder)
	if err != nil {
		return err
	}
	s.promise("an error leaves no record behind",
		answered(failed, http.StatusInternalServerError),
		took(failed.Work, "PutItem", "DeleteItem"),
		s.stage.unrecorded(failedOrder),
		s.stage.done(failedOrder, 0))
	again, err := s.send(ctx, "env-6", failedOrder)
	if err != nil {
		return err
	}
	s.promise("so the retry runs at once",
		answered(again, http.StatusCreated),
		took(again.Work, "PutItem", "UpdateItem"),
		s.stage.done(failedOrder, 1))
	return nil
}

func timeout(ctx context.Context, s *show) error {
	again, err := killAndRetry(ctx, s, killedOrder, "env-5", "env-1")
	if err != nil {
		return err
	}
	s.promise("after the lease the next try runs; the provider knows the key, so one charge it is",
		answered(again, http.StatusCreated),
		took(again.Work, refused("PutItem"), "UpdateItem", "UpdateItem"),
		s.stage.recorded(killedOrder, persistence.StatusCompleted, 2),
		s.stage.done(killedOrder, 1))
	return nil
}

func limit(ctx context.Context, s *show) error {
	again, err := killAndRetry(ctx, s, chargedTwice, "env-7", "env-8")
	if err != nil {
		return err
	}
	s.promise("the limit, as documented: nobody recognises the second charge, so it is made",
		answered(again, http.StatusCreated),
		s.stage.recorded(chargedTwice, persistence.StatusCompleted, 2),
		s.stage.done(chargedTwice, 2))
	return nil
}

// killAndRetry has an environment killed in mid-run and sends the same order to
// another one until it is served.
func killAndRetry(ctx context.Context, s *show, o Order, dying, next string) (Beat, error) {
	death, err := s.send(ctx, dying, o)
	if err != nil {
		return Beat{}, err
	}
	s.promise("a killed run leaves its record PROCESSING",
		killed(death.Work, death.Answer.Failure),
		took(death.Work, "PutItem"),
		s.stage.recorded(o, persistence.StatusProcessing, 1),
		s.stage.done(o, 1))
	early, err := s.send(ctx, next, o)
	if err != nil {
		return Beat{}, err
	}
	s.promise("until its lease is over a retry is told to wait",
		answered(early, http.StatusConflict), toldToWait(early),
		took(early.Work, refused("PutItem")), untouched(early.Work))
	return s.sendWhenTold(ctx, next, early)
}
