package demo

import (
	"context"

	"github.com/ikkai-go/idempotency/persistence"
)

// The scenes of functions/orders, a queue's consumer.

var (
	firstParcel  = Parcel{ID: "parcel-1"}
	secondParcel = Parcel{ID: "parcel-2"}
	thirdParcel  = Parcel{ID: "parcel-3"}
	killedParcel = Parcel{ID: "parcel-4"}
)

// noOrder is a message that can never be handled.
const noOrder = "tea, please"

func sendTwice(ctx context.Context, s *show) error {
	s.post(firstParcel.letter())
	first, err := s.deliver(ctx, "env-11")
	if err != nil {
		return err
	}
	s.promise("an order is shipped, and its message deleted",
		delivered(first, "m1"), comesBack(first), took(first.Work, "PutItem", "UpdateItem"),
		s.stage.done(firstParcel, 1), s.stage.queued(0))
	s.post(firstParcel.letter())
	again, err := s.deliver(ctx, "env-12")
	if err != nil {
		return err
	}
	s.promise("in another message it is the same order: done, for one write that fails",
		delivered(again, "m2"), comesBack(again), took(again.Work, refused("PutItem")), untouched(again.Work),
		s.stage.recorded(firstParcel, persistence.StatusCompleted, 1),
		s.stage.done(firstParcel, 1), s.stage.queued(0))
	return nil
}

func poison(ctx context.Context, s *show) error {
	s.post(secondParcel.letter())
	s.post(noOrder)
	s.post(thirdParcel.letter())
	batch, err := s.deliver(ctx, "env-11")
	if err != nil {
		return err
	}
	s.promise("it fails alone, without a request; the orders beside it are shipped",
		delivered(batch, "m3", "m4", "m5"), comesBack(batch, "m4"),
		tookInAnyOrder(batch.Work, "PutItem", "PutItem", "UpdateItem", "UpdateItem"),
		s.stage.done(secondParcel, 1), s.stage.done(thirdParcel, 1), s.stage.queued(1))
	return nil
}

func killInHand(ctx context.Context, s *show) error {
	s.post(killedParcel.letter())
	death, err := s.deliver(ctx, "env-13")
	if err != nil {
		return err
	}
	s.promise("its message is not lost, and its record says PROCESSING",
		delivered(death, "m6"), killed(death.Work, death.Failure), took(death.Work, "PutItem"),
		s.stage.recorded(killedParcel, persistence.StatusProcessing, 1),
		s.stage.done(killedParcel, 1), s.stage.queued(2))
	if err := s.untilVisible(ctx, death); err != nil {
		return err
	}
	again, err := s.deliver(ctx, "env-12")
	if err != nil {
		return err
	}
	s.promise("it comes back after the lease, and runs; the warehouse knows the key, so one shipment it is",
		delivered(again, "m4", "m6"), comesBack(again, "m4"),
		took(again.Work, refused("PutItem"), "UpdateItem", "UpdateItem"),
		s.stage.recorded(killedParcel, persistence.StatusCompleted, 2),
		s.stage.done(killedParcel, 1), s.stage.queued(1))
	return s.untilVisible(ctx, again)
}

func tooOften(ctx context.Context, s *show) error {
	last, err := s.deliver(ctx, "env-11")
	if err != nil {
		return err
	}
	s.promise("the message that has failed twice is in the dead-letter queue, and it alone",
		delivered(last), s.stage.dead(noOrder), s.stage.queued(0))
	return nil
}
