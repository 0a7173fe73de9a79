package main

import (
	"errors"
	"fmt"
	"regexp"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/ikkai-go/idempotency/functions/internal/httpevent"
	"github.com/ikkai-go/idempotency/functions/internal/ledger"
	"github.com/ikkai-go/idempotency/functions/internal/simulated"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/httpguard"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
)

// operation is part of every key that this function has stored.
const operation = "register"

// settings are the function's environment variables.
type settings struct {
	eventSource      string
	idempotencyTable string
	usersTable       string
	simulatedMail    string
	mailIdempotent   string
}

// newFunction returns what Lambda runs: the handler, guarded.
func newFunction(client *dynamodb.Client, s settings) (function any, err error) {
	store, err := dynamostore.New(client, dynamostore.Config{Table: s.idempotencyTable})
	if err != nil {
		return nil, fmt.Errorf("IDEMPOTENCY_TABLE: %w", err)
	}
	users, err := ledger.New(client, s.usersTable)
	if err != nil {
		return nil, fmt.Errorf("USERS_TABLE: %w", err)
	}
	mail, err := simulated.New(users, "mail", s.simulatedMail, s.mailIdempotent)
	if err != nil {
		return nil, fmt.Errorf("SIMULATED_MAIL: %w", err)
	}
	guard, err := idempotent.New(store, idempotent.Config{Operation: operation})
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
	return httpevent.Guard(api, s.eventSource, h.create)
}

var uuid = regexp.MustCompile(`^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$`)

func isUUID(key string) error {
	if !uuid.MatchString(key) {
		return errors.New("it must be a UUID")
	}
	return nil
}
