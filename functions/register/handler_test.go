package main

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ikkai-go/idempotency/internal/lambdatest"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

const (
	aKey       = "9a7f9f0e-7b1a-4b1c-9a55-0f2b8c7d6e51"
	anotherKey = "0d5b2c34-1f6e-4c2a-8e9b-3a4b5c6d7e8f"
)

func TestARegistrationThatArrivesTwiceMakesOneAccount(t *testing.T) {
	db := newDatabase(t)
	first := newEnvironment(t, db, "", "").Respond(event(t, "httpapi-registration"), 201)
	again := newEnvironment(t, db, "", "").Respond(event(t, "httpapi-registration-retry"), 201)
	if again.Body != first.Body || again.Headers["Idempotent-Replayed"] != "true" {
		t.Errorf("first %+v\nretry %+v", first, again)
	}
	var made account
	if err := json.Unmarshal([]byte(first.Body), &made); err != nil {
		t.Fatal(err)
	}
	if made.Email != "Ada@Example.com" || made.Name != "Ada Lovelace" || made.ID == "" || made.CreatedAt.IsZero() {
		t.Errorf("the account is %+v", made)
	}
	wantRows(t, db, 1, 1)
}

func TestAMailboxThatIsTakenIsRefusedWithoutSayingByWhom(t *testing.T) {
	db := newDatabase(t)
	e := newEnvironment(t, db, "", "")
	first := e.Respond(event(t, "httpapi-registration"), 201)
	var made account
	if err := json.Unmarshal([]byte(first.Body), &made); err != nil {
		t.Fatal(err)
	}
	refused := e.Respond(event(t, "httpapi-registration-taken"), 409)
	for _, secret := range []string{made.ID, made.Name, made.Email, made.CreatedAt.Format(time.DateOnly)} {
		if strings.Contains(refused.Body, secret) {
			t.Errorf("the refusal tells %q: %s", secret, refused.Body)
		}
	}
	wantRows(t, db, 1, 1)
	if records := lambdatest.Records(db); records["COMPLETED"] != 1 || len(records) != 1 {
		t.Errorf("the records are %v: a mailbox may be free tomorrow", records)
	}
}

func TestTheAccountOfARequestIsFoundWhenItsRecordIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := newDatabase(t)
		e := newEnvironment(t, db, "", "")
		first := e.Respond(event(t, "httpapi-registration"), 201)
		time.Sleep(25 * time.Hour)
		again := e.Respond(event(t, "httpapi-registration-retry"), 201)
		if again.Body != first.Body || again.Headers["Idempotent-Replayed"] != "" {
			t.Errorf("first %+v\nagain %+v", first, again)
		}
		wantRows(t, db, 1, 1)
	})
}

// The guard forgets what a key stood for when its record expires. The key is then
// that of a new request, which the account of the old one is not for.
func TestAnotherNameUnderAForgottenKeyDoesNotGetTheAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := newDatabase(t)
		e := newEnvironment(t, db, "", "")
		e.Respond(request(t, aKey, `{"email":"ada@example.com","name":"Ada"}`), 201)
		e.Respond(request(t, aKey, `{"email":"ada@example.com","name":"Eve"}`), 422)
		time.Sleep(25 * time.Hour)
		e.Respond(request(t, aKey, `{"email":"ada@example.com","name":"Eve"}`), 409)
		wantRows(t, db, 1, 1)
	})
}

// With no guard at all, the table still holds.
func TestWithTheGuardsOffAMailboxHasOneAccount(t *testing.T) {
	t.Setenv("IDEMPOTENCY_DISABLED", "true")
	db := newDatabase(t)
	e := newEnvironment(t, db, "", "")
	e.Respond(event(t, "httpapi-registration"), 201)
	e.Respond(event(t, "httpapi-registration-retry"), 201)
	wantRows(t, db, 1, 1)
}

// What no record can prevent where the mail service ignores its key; TestTheRegistrationIsProved
// has one that knows keys.
func TestWithoutDownstreamKeysARunThatDiedSendsTwoMails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := newDatabase(t)
		a, b := newEnvironment(t, db, "", "off"), newEnvironment(t, db, "", "off")
		db.Inject(dynamotest.Fault{Operation: "PutItem", Table: usersTable, Nth: 2, Do: dynamotest.After(func(dynamotest.Request) { a.Kill() })})
		a.Invoke(event(t, "httpapi-registration")) // what it answers reaches nobody
		time.Sleep(timeout + 2*time.Second)
		b.Respond(event(t, "httpapi-registration-retry"), 201)
		wantRows(t, db, 1, 2)
	})
}

func TestAMailThatFailsIsSentByTheRetry(t *testing.T) {
	db := newDatabase(t)
	e := newEnvironment(t, db, "flaky", "")
	if _, err := e.Invoke(event(t, "httpapi-registration")); err == nil {
		t.Fatal("the registration has not failed")
	}
	wantRows(t, db, 1, 0)
	e.Respond(event(t, "httpapi-registration-retry"), 201)
	wantRows(t, db, 1, 1)
}

func TestAnAccountNeedsNoMail(t *testing.T) {
	db := newDatabase(t)
	newEnvironment(t, db, "refuse", "").Respond(event(t, "httpapi-registration"), 201)
	wantRows(t, db, 1, 0)
}

func TestKeysThatCouldBeGuessedAreRefused(t *testing.T) {
	db := newDatabase(t)
	e := newEnvironment(t, db, "", "")
	for _, key := range []string{"", "1", "ada@example.com", aKey + "0", strings.ReplaceAll(aKey, "-", "")} {
		e.Respond(request(t, key, `{"email":"ada@example.com","name":"Ada"}`), 400)
	}
	if requests := db.Requests(); len(requests) > 0 {
		t.Errorf("the database was asked: %+v", requests)
	}
	e.Respond(request(t, aKey, `{"email":"ada@example.com","name":"Ada"}`), 201)
}

func TestTheSampleEventsAreAnsweredAsDocumented(t *testing.T) {
	e := newEnvironment(t, newDatabase(t), "", "")
	for _, answer := range lambdatest.Answers(t, "register") {
		t.Log(answer.Event)
		e.Respond(event(t, answer.Event), answer.Status)
	}
}
