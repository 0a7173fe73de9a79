package main

import (
	"errors"
	"regexp"

	"github.com/ikkai-go/idempotency/functions/internal/httpevent"
	"github.com/ikkai-go/idempotency/functions/internal/metrics"
	"github.com/ikkai-go/idempotency/functions/internal/wiring"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/httpguard"
)

// operation is part of every key that this function has stored.
const operation = "register"

// newFunction returns what Lambda runs: the handler, guarded.
func newFunction(p wiring.Parts) (function any, err error) {
	users, err := p.Ledger("USERS_TABLE")
	if err != nil {
		return nil, err
	}
	mail, err := p.Service(users, "mail", "MAIL")
	if err != nil {
		return nil, err
	}
	guard, err := idempotent.New(p.Store, metrics.Watch(idempotent.Config{Operation: operation}))
	if err != nil {
		return nil, err
	}
	api, err := httpguard.New(guard, httpguard.Config{
		// Whoever registers is nobody yet. So keys must be such that nobody guesses
		// another's; and besides the key it takes the same e-mail and name to get
		// the same answer.
		Scope:    httpguard.Unscoped(),
		CheckKey: isUUID,
	})
	if err != nil {
		return nil, err
	}
	h := &handler{users: users, mail: mail}
	return httpevent.Guard(api, p.Setting("EVENT_SOURCE"), h.create)
}

var uuid = regexp.MustCompile(`^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$`)

func isUUID(key string) error {
	if !uuid.MatchString(key) {
		return errors.New("it must be a UUID")
	}
	return nil
}
