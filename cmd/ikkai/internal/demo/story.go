package demo

import (
	"context"
	"net/http"

	"github.com/ikkai-go/idempotency/persistence"
)

// scene is a chapter of the story.
type scene struct {
	title string
	play  func(context.Context, *show) error
}

// story is what the demo tells.
var story = []scene{
	{"A first payment, its answer lost on the way, and the client's retry", retry},
	{"The same key with another amount", otherAmount},
	{"Two environments get the same request at once", race},
	{"The provider fails, and the client tries again", failure},
	{"The function is killed by its time-out in mid-run, after the charge", timeout},
	{"The limit: killed like that, with a provider that knows no idempotency keys", limit},
}

var (
	firstOrder   = Order{Key: "order-1", Amount: 12_50}
	racedOrder   = Order{Key: "order-2", Amount: 80_00}
	failedOrder  = Order{Key: "order-3", Amount: 7_20}
	killedOrder  = Order{Key: "order-4", Amount: 310_00}
	chargedTwice = Order{Key: "order-5", Amount: 19_99}
)

// wholeStory are the orders, with how often each is charged.
var wholeStory = []struct {
	Order
	charges int
}{{firstOrder, 1}, {racedOrder, 1}, {failedOrder, 1}, {killedOrder, 1}, {chargedTwice, 2}}

func retry(ctx context.Context, s *show) error {
	first, err := s.send(ctx, "env-1", firstOrder)
	if err != nil {
		return err
	}
	s.promise("a first run takes two writes, and is charged once",
		answered(first, http.StatusCreated),
		took(first, "PutItem", "UpdateItem"),
		s.stage.recorded(firstOrder, persistence.StatusCompleted, 1),
		s.stage.charged(firstOrder, 1))
	again, err := s.send(ctx, "env-2", firstOrder)
	if err != nil {
		return err
	}
	s.promise("a retry gets the first answer byte for byte, for one write that fails",
		sameBytes(again, first),
		took(again, refused("PutItem")), untouched(again),
		s.stage.charged(firstOrder, 1))
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
		took(other, refused("PutItem")), untouched(other),
		s.stage.unchanged(firstOrder, was),
		s.stage.charged(firstOrder, 1))
	return nil
}

func race(ctx context.Context, s *show) error {
	paid, other, err := s.sendBoth(ctx, [2]string{"env-3", "env-4"}, racedOrder)
	if err != nil {
		return err
	}
	s.promise("of two at once one runs, and the other is told to wait",
		answered(paid, http.StatusCreated), took(paid, "PutItem", "UpdateItem"),
		answered(other, http.StatusConflict), toldToWait(other),
		took(other, refused("PutItem")), untouched(other),
		s.stage.charged(racedOrder, 1))
	again, err := s.sendWhenTold(ctx, other.Environment, other)
	if err != nil {
		return err
	}
	s.promise("and then gets the same answer",
		sameBytes(again, paid),
		took(again, refused("PutItem")), untouched(again),
		s.stage.charged(racedOrder, 1))
	return nil
}

func failure(ctx context.Context, s *show) error {
	failed, err := s.send(ctx, "env-6", failedOrder)
	if err != nil {
		return err
	}
	s.promise("an error leaves no record behind",
		answered(failed, http.StatusInternalServerError),
		took(failed, "PutItem", "DeleteItem"),
		s.stage.unrecorded(failedOrder),
		s.stage.charged(failedOrder, 0))
	again, err := s.send(ctx, "env-6", failedOrder)
	if err != nil {
		return err
	}
	s.promise("so the retry runs at once",
		answered(again, http.StatusCreated),
		took(again, "PutItem", "UpdateItem"),
		s.stage.charged(failedOrder, 1))
	return nil
}

func timeout(ctx context.Context, s *show) error {
	again, err := killAndRetry(ctx, s, killedOrder, "env-5", "env-1")
	if err != nil {
		return err
	}
	s.promise("after the lease the next try runs; the provider knows the key, so one charge it is",
		answered(again, http.StatusCreated),
		took(again, refused("PutItem"), "UpdateItem", "UpdateItem"),
		s.stage.recorded(killedOrder, persistence.StatusCompleted, 2),
		s.stage.charged(killedOrder, 1))
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
		s.stage.charged(chargedTwice, 2))
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
		killed(death),
		took(death, "PutItem"),
		s.stage.recorded(o, persistence.StatusProcessing, 1),
		s.stage.charged(o, 1))
	early, err := s.send(ctx, next, o)
	if err != nil {
		return Beat{}, err
	}
	s.promise("until its lease is over a retry is told to wait",
		answered(early, http.StatusConflict), toldToWait(early),
		took(early, refused("PutItem")), untouched(early))
	return s.sendWhenTold(ctx, next, early)
}
