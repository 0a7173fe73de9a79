package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/ikkai-go/idempotency/functions/internal/downstream"
	"github.com/ikkai-go/idempotency/functions/internal/httpevent"
	"github.com/ikkai-go/idempotency/functions/internal/ledger"
	"github.com/ikkai-go/idempotency/functions/internal/simulated"
	"github.com/ikkai-go/idempotency/idempotent"
)

// handler registers users.
type handler struct {
	users *ledger.Ledger
	mail  *simulated.Service
}

// errTaken says that the mailbox has an account that another request has made.
var errTaken = errors.New("there is an account with this e-mail address already")

// create answers POST /users. That an address is taken may change, so the 409 is not
// recorded, and it tells nothing of the account that is there.
func (h *handler) create(ctx context.Context, body []byte) (httpevent.Answer, error) {
	a, err := h.take(ctx, body)
	invalid, isInvalid := errors.AsType[*registrationError](err)
	switch {
	case isInvalid:
		return httpevent.Problem(http.StatusUnprocessableEntity, invalid.reason)
	case errors.Is(err, errTaken):
		return httpevent.Problem(http.StatusConflict, errTaken.Error())
	case err != nil:
		return httpevent.Answer{}, err
	}
	return httpevent.JSON(http.StatusCreated, a)
}

func (h *handler) take(ctx context.Context, body []byte) (account, error) {
	r, err := parseRegistration(body)
	if err != nil {
		return account{}, err
	}
	return h.register(ctx, r)
}

// register makes the account and welcomes its user. The account's ID is made from
// the request, and is the same in all its tries: an account that has this ID was made
// by an earlier one, and is the answer, also where the record of that try is gone.
func (h *handler) register(ctx context.Context, r registration) (account, error) {
	id := "usr_" + downstream.ID(idempotent.DownstreamKey(ctx), r.Email, r.Name)
	a, err := addAccount(ctx, h.users, account{ID: id, registration: r, CreatedAt: time.Now().UTC()})
	switch {
	case err != nil:
		return account{}, err
	case a.ID != id:
		return account{}, errTaken
	}
	return a, h.welcome(ctx, a)
}

// welcome sends the mail, under a key of the account's, so that a second try sends no
// second one. Where it can't be delivered the account is there all the same.
func (h *handler) welcome(ctx context.Context, a account) error {
	_, err := h.mail.Do(ctx, a.ID, ledger.Row{"to": ledger.Text(a.Email), "subject": ledger.Text("Welcome, " + a.Name)})
	if errors.Is(err, simulated.ErrRefused) {
		slog.WarnContext(ctx, "register: the welcome mail was refused", "account", a.ID)
		return nil
	}
	return err
}
