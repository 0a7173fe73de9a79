package main

import (
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ikkai-go/idempotency/functions/internal/ledger"
	"github.com/ikkai-go/idempotency/internal/lambdatest"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

func TestARetryGetsTheFirstResponse(t *testing.T) {
	for _, retry := range []string{"httpapi-payment", "httpapi-payment-retry", "httpapi-payment-extras"} {
		t.Run(retry, func(t *testing.T) {
			db := newDatabase(t)
			first := newEnvironment(t, db, "", "").Respond(event(t, "httpapi-payment"), 201)
			again := newEnvironment(t, db, "", "").Respond(event(t, retry), 201)
			if first.Body != again.Body || first.Headers["Content-Type"] != again.Headers["Content-Type"] {
				t.Errorf("first %+v\nretry %+v", first, again)
			}
			if first.Headers["Idempotent-Replayed"] != "" || again.Headers["Idempotent-Replayed"] != "true" {
				t.Errorf("the replay is not told from the first: %v, %v", first.Headers, again.Headers)
			}
			wantRows(t, db, 1, 1)
			wantRecord(t, db, "COMPLETED")
		})
	}
}

func TestAnotherCallersKeyIsAnotherKey(t *testing.T) {
	db := newDatabase(t)
	e := newEnvironment(t, db, "", "")
	first := e.Respond(event(t, "httpapi-payment"), 201)
	other := e.Respond(event(t, "httpapi-payment-other-caller"), 201)
	if first.Body == other.Body {
		t.Errorf("another caller got the payment %s", other.Body)
	}
	wantRows(t, db, 2, 2)
}

func TestWithoutACallerNothingIsPaid(t *testing.T) {
	anonymous := lambdatest.With(t, event(t, "httpapi-payment"), nil, "requestContext", "authorizer")
	db := newDatabase(t)
	newEnvironment(t, db, "", "").Respond(anonymous, 403)
	wantRows(t, db, 0, 0)
	start(t, db, map[string]string{"KEY_SCOPE": "none"}).Respond(anonymous, 201) // as in a demonstration
	wantRows(t, db, 1, 1)
}

func TestTheResponseIsThePayment(t *testing.T) {
	db := newDatabase(t)
	response := newEnvironment(t, db, "", "").Respond(event(t, "httpapi-payment"), 201)
	var paid payment
	if err := json.Unmarshal([]byte(response.Body), &paid); err != nil {
		t.Fatal(err)
	}
	if want := (order{Amount: 4999, Currency: "EUR", Customer: "cus_8812"}); paid.order != want {
		t.Errorf("paid %+v, want %+v", paid.order, want)
	}
	payments, err := ledger.New(db.Client(), paymentsTable)
	if err != nil {
		t.Fatal(err)
	}
	stored, found, err := findPayment(t.Context(), payments, paid.ID)
	if err != nil || !found || stored != paid {
		t.Errorf("stored is %+v (%t, %v), answered was %+v", stored, found, err, paid)
	}
	if paid.ChargeID == "" || paid.CreatedAt.IsZero() {
		t.Errorf("charge or time are missing: %+v", paid)
	}
}

func TestTheKeyMayBeInTheBody(t *testing.T) {
	db := newDatabase(t)
	e := newEnvironment(t, db, "", "")
	first := e.Respond(event(t, "httpapi-payment-body-key"), 201)
	again := e.Respond(event(t, "httpapi-payment-body-key"), 201)
	if first.Body != again.Body {
		t.Errorf("first %s\nagain %s", first.Body, again.Body)
	}
	wantRows(t, db, 1, 1)
}

func TestTheSameKeyWithAnotherOrderIsRefused(t *testing.T) {
	db := newDatabase(t)
	e := newEnvironment(t, db, "", "")
	first := e.Respond(event(t, "httpapi-payment"), 201)
	e.Respond(event(t, "httpapi-payment-other-amount"), 422)
	if again := e.Respond(event(t, "httpapi-payment"), 201); again.Body != first.Body {
		t.Errorf("the refused request changed the record: %s", again.Body)
	}
	wantRows(t, db, 1, 1)
}

func TestARequestWithoutAUsableKeyIsRefusedAndLeavesNoTrace(t *testing.T) {
	payment := event(t, "httpapi-payment")
	for name, request := range map[string][]byte{
		"no key":                event(t, "httpapi-payment-no-key"),
		"an empty key":          lambdatest.With(t, payment, "", "headers", "idempotency-key"),
		"no body, no key":       withBody(t, "httpapi-payment-no-key", ""),
		"base64 that is broken": lambdatest.With(t, payment, true, "isBase64Encoded"),
	} {
		t.Run(name, func(t *testing.T) {
			db := newDatabase(t)
			response := newEnvironment(t, db, "", "").Respond(request, 400)
			if got := response.Headers["Content-Type"]; got != "application/problem+json" {
				t.Errorf("content type %q", got)
			}
			if requests := db.Requests(); len(requests) > 0 {
				t.Errorf("the database was asked: %+v", requests)
			}
		})
	}
}

func TestABodyThatTheTransportHasEncodedIsRead(t *testing.T) {
	db := newDatabase(t)
	e := newEnvironment(t, db, "", "")
	first := e.Respond(event(t, "httpapi-payment-base64"), 201)
	if again := e.Respond(event(t, "httpapi-payment-base64"), 201); again.Body != first.Body {
		t.Errorf("first %s\nagain %s", first.Body, again.Body)
	}
	wantRows(t, db, 1, 1)
}

func TestAnOrderThatCannotBeChargedDoesNotSpendItsKey(t *testing.T) {
	for name, request := range map[string][]byte{
		"a negative amount":     event(t, "httpapi-payment-invalid"),
		"nothing to pay":        withBody(t, "httpapi-payment", `{"amount":0,"currency":"EUR","customer":"c"}`),
		"a fraction of a cent":  withBody(t, "httpapi-payment", `{"amount":10.5,"currency":"EUR","customer":"c"}`),
		"an amount as text":     withBody(t, "httpapi-payment", `{"amount":"10","currency":"EUR","customer":"c"}`),
		"more than there is":    withBody(t, "httpapi-payment", `{"amount":9223372036854775808,"currency":"EUR","customer":"c"}`),
		"a lower-case currency": withBody(t, "httpapi-payment", `{"amount":10,"currency":"eur","customer":"c"}`),
		"no such currency":      withBody(t, "httpapi-payment", `{"amount":10,"currency":"EURO","customer":"c"}`),
		"no customer":           withBody(t, "httpapi-payment", `{"amount":4999,"currency":"EUR"}`),
		"two amounts":           withBody(t, "httpapi-payment", `{"amount":1,"amount":4999,"currency":"EUR","customer":"c"}`),
		"no JSON":               withBody(t, "httpapi-payment", "hello"),
		"nothing":               withBody(t, "httpapi-payment", ""),
	} {
		t.Run(name, func(t *testing.T) {
			db := newDatabase(t)
			e := newEnvironment(t, db, "", "")
			first := e.Respond(request, 422)
			if again := e.Respond(request, 422); again.Body != first.Body {
				t.Errorf("first %s\nagain %s", first.Body, again.Body)
			}
			wantRows(t, db, 0, 0)
			e.Respond(event(t, "httpapi-payment"), 201)
			wantRows(t, db, 1, 1)
		})
	}
}

func TestWhatIsChargedIsWhatTheFingerprintCovers(t *testing.T) {
	db := newDatabase(t)
	request := withBody(t, "httpapi-payment", `{"amount":1,"currency":"EUR","customer":"c","Amount":900,"AMOUNT":900}`)
	response := newEnvironment(t, db, "", "").Respond(request, 201)
	var paid payment
	if err := json.Unmarshal([]byte(response.Body), &struct {
		Amount *int64 `json:"amount"`
	}{&paid.Amount}); err != nil {
		t.Fatal(err)
	}
	if paid.Amount != 1 {
		t.Errorf("charged %d", paid.Amount)
	}
}

func TestAFailureOfTheProviderLeavesTheRequestOpen(t *testing.T) {
	db := newDatabase(t)
	e := newEnvironment(t, db, "flaky", "")
	if _, err := e.Invoke(event(t, "httpapi-payment")); err == nil || err.Error() != "simulated: charge: connection reset" {
		t.Fatalf("the error is %v, want the provider's own", err)
	}
	wantRecord(t, db, "")
	e.Respond(event(t, "httpapi-payment-retry"), 201)
	wantRows(t, db, 1, 1)
}

func TestADeclinedPaymentStaysDeclined(t *testing.T) {
	db := newDatabase(t)
	first := newEnvironment(t, db, "refuse", "").Respond(event(t, "httpapi-payment"), 402)
	wantRecord(t, db, "COMPLETED")
	again := newEnvironment(t, db, "", "").Respond(event(t, "httpapi-payment-retry"), 402)
	if again.Body != first.Body {
		t.Errorf("first %s\nagain %s", first.Body, again.Body)
	}
	wantRows(t, db, 0, 0)
}

// What no record can prevent where the provider ignores its key: the function dies right after
// a request of its was carried out. See TestThePaymentIsProved for providers that know keys.
func TestWithoutDownstreamKeysARunThatDiedChargesTwice(t *testing.T) {
	for _, death := range []struct {
		after   string
		request dynamotest.Fault
		charges int
	}{
		{"the charge", dynamotest.Fault{Operation: "PutItem", Table: paymentsTable}, 2},
		{"the payment", dynamotest.Fault{Operation: "PutItem", Table: paymentsTable, Nth: 2}, 1},
	} {
		t.Run("after "+death.after, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db := newDatabase(t)
				a, b := newEnvironment(t, db, "", "off"), newEnvironment(t, db, "", "off")
				death.request.Do = dynamotest.After(func(dynamotest.Request) { a.Kill() })
				db.Inject(death.request)
				start := time.Now()
				a.Invoke(event(t, "httpapi-payment")) // what it answers reaches nobody
				if !a.Killed() {
					t.Fatal("the function did not die")
				}
				wantRecord(t, db, "PROCESSING")
				b.Respond(event(t, "httpapi-payment-retry"), 409)

				time.Sleep(time.Until(start.Add(timeout + 2*time.Second)))
				first := b.Respond(event(t, "httpapi-payment-retry"), 201)
				wantRecord(t, db, "COMPLETED")
				if again := b.Respond(event(t, "httpapi-payment-retry"), 201); again.Body != first.Body {
					t.Errorf("first %s\nagain %s", first.Body, again.Body)
				}
				wantRows(t, db, death.charges, 1)
			})
		})
	}
}

func TestAPaymentOutlivesTheRecordOfItsRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := newDatabase(t)
		e := newEnvironment(t, db, "", "off")
		first := e.Respond(event(t, "httpapi-payment"), 201)

		time.Sleep(25 * time.Hour)
		e.Respond(event(t, "httpapi-payment-other-amount"), 422)

		time.Sleep(25 * time.Hour)
		if again := e.Respond(event(t, "httpapi-payment"), 201); again.Body != first.Body {
			t.Errorf("first %s\nagain %s", first.Body, again.Body)
		}
		wantRows(t, db, 1, 1)
	})
}

// With the guards off every request runs, and hands the same key on: who knows it
// downstream does not carry it out twice.
func TestWithTheGuardsOffTheKeyIsStillHandedOn(t *testing.T) {
	t.Setenv("IDEMPOTENCY_DISABLED", "true")
	db := newDatabase(t)
	e := newEnvironment(t, db, "", "")
	e.Respond(event(t, "httpapi-payment"), 201)
	e.Respond(event(t, "httpapi-payment"), 201)
	wantRows(t, db, 1, 1)
	wantRecord(t, db, "")
}

// The guard forgets what a key stood for when a run fails; the provider does not.
func TestAKeyWhoseFirstTryWasChargedIsNotGoodForAnotherAmount(t *testing.T) {
	db := newDatabase(t)
	db.Inject(dynamotest.Fault{Table: paymentsTable, Operation: "PutItem", Nth: 2, Do: dynamotest.Fail("AccessDeniedException", "no", 400)})
	e := newEnvironment(t, db, "", "")
	if _, err := e.Invoke(event(t, "httpapi-payment")); err == nil {
		t.Fatal("the payment was recorded")
	}
	e.Respond(event(t, "httpapi-payment-other-amount"), 422)
	e.Respond(event(t, "httpapi-payment"), 201)
	wantRows(t, db, 1, 1)
}

func TestTheSampleEventsAreAnsweredAsDocumented(t *testing.T) {
	e := newEnvironment(t, newDatabase(t), "", "")
	for _, answer := range lambdatest.Answers(t, "payment") {
		t.Log(answer.Event)
		e.Respond(event(t, answer.Event), answer.Status)
	}
}

// Each source has its own form of events, and the business none of them.
func TestTheFunctionServesEveryHTTPSource(t *testing.T) {
	for source, sample := range map[string]string{
		"httpapi":     "httpapi-payment",
		"restapi":     "restapi-payment",
		"alb":         "alb-payment",
		"functionurl": "function-url-payment",
	} {
		t.Run(source, func(t *testing.T) {
			db := newDatabase(t)
			e := start(t, db, map[string]string{"EVENT_SOURCE": source, "KEY_SCOPE": "none"})
			first := e.Respond(event(t, sample), 201)
			again := e.Respond(event(t, sample), 201)
			if again.Body != first.Body || again.Headers["Idempotent-Replayed"] != "true" {
				t.Errorf("first %+v\nagain %+v", first, again)
			}
			e.Respond(withBody(t, sample, `{"amount":5999,"currency":"EUR","customer":"cus_8812"}`), 422)
			wantRows(t, db, 1, 1)
		})
	}
}
