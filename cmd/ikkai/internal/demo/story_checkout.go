package demo

import (
	"context"
	"net/http"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

// The scenes of functions/checkout, a saga of three steps.

var (
	declinedBasket = Basket{Key: "basket-1", Quantity: 3}
	killedBasket   = Basket{Key: "basket-2", Quantity: 2}
)

func declined(ctx context.Context, s *show) error {
	first, err := s.send(ctx, "env-14", declinedBasket)
	if err != nil {
		return err
	}
	s.look(s.stage.lookAt(declinedBasket))
	s.promise("the goods leave the stock with the step's record, and come back with the record of that",
		answered(first, http.StatusPaymentRequired), ownAnswer(first),
		took(first.Work, "PutItem", "TransactWriteItems", "UpdateItem", "TransactWriteItems", "UpdateItem"),
		s.stage.finished(declinedBasket, "reserve-stock", ":unwinding", "reserve-stock:compensated"),
		s.stage.recorded(declinedBasket, persistence.StatusCompleted, 1),
		s.stage.inStock(inStock), s.stage.done(declinedBasket, 0))
	again, err := s.send(ctx, "env-15", declinedBasket)
	if err != nil {
		return err
	}
	s.promise("the refusal is the answer from now on, though the card would be good by now",
		sameAnswer(again, first), markedAsReplay(again),
		took(again.Work, refused("PutItem")), untouched(again.Work),
		s.stage.inStock(inStock), s.stage.done(declinedBasket, 0))
	return nil
}

func killedBetween(ctx context.Context, s *show) error {
	s.crashAt(ctx, "env-16", dynamotest.Fault{Table: idempotencyTable, Operation: "UpdateItem"})
	death, err := s.send(ctx, "env-16", killedBasket)
	if err != nil {
		return err
	}
	s.look(s.stage.lookAt(killedBasket))
	s.promise("the record knows what is done: the goods are taken, the card is charged, no mail is sent",
		crashed(death.Work, death.Answer.Failure),
		took(death.Work, "PutItem", "TransactWriteItems", "UpdateItem"),
		s.stage.finished(killedBasket, "reserve-stock", "charge"),
		s.stage.recorded(killedBasket, persistence.StatusProcessing, 1),
		s.stage.inStock(inStock-killedBasket.Quantity))
	if err := s.untilUnlocked(ctx); err != nil {
		return err
	}
	again, err := s.send(ctx, "env-15", killedBasket)
	if err != nil {
		return err
	}
	s.look(s.stage.lookAt(killedBasket))
	s.promise("after the lease the next try goes on there: one charge, one e-mail, and the goods are taken once",
		answered(again, http.StatusCreated),
		took(again.Work, refused("PutItem"), "UpdateItem", "UpdateItem", "TransactWriteItems"),
		s.stage.finished(killedBasket, "reserve-stock", "charge", "e-mail"),
		s.stage.recorded(killedBasket, persistence.StatusCompleted, 2),
		s.stage.inStock(inStock-killedBasket.Quantity), s.stage.done(killedBasket, 1))
	return nil
}
