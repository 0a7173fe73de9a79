package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/ikkai-go/idempotency/idempotent/saga"
	"github.com/ikkai-go/idempotency/internal/lambdatest"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

func TestACheckoutThatArrivesTwiceSellsOnce(t *testing.T) {
	db := newDatabase(t)
	first := newEnvironment(t, db, "", "").Respond(event(t, "httpapi-checkout"), 201)
	again := newEnvironment(t, db, "", "").Respond(event(t, "httpapi-checkout-retry"), 201)
	if first.Body != again.Body || first.Headers["Idempotent-Replayed"] != "" || again.Headers["Idempotent-Replayed"] != "true" {
		t.Errorf("first %+v\nretry %+v", first, again)
	}
	var made sale
	if err := json.Unmarshal([]byte(first.Body), &made); err != nil {
		t.Fatal(err)
	}
	if made.ID == "" || made.ChargeID == "" || made.CreatedAt.IsZero() || made.Amount != 2*4_50+60_00 || len(made.Items) != 2 {
		t.Errorf("the sale is %+v", made)
	}
	wantBooks(t, db, sold)
	wantRecord(t, db, "COMPLETED", "charge", "e-mail", "reserve-stock")
}

// A first run: the record, the sale that may be there, the goods, and then a write for
// each step, which for the reservation is the goods' as well.
var firstRun = []string{"Put", "Get", "Get", "Get", "TransactWriteItems", "Put", "Update", "Put", "Update", "TransactWriteItems"}

// declinedRun is one in which the goods are given back.
var declinedRun = []string{"Put", "Get", "Get", "Get", "TransactWriteItems", "Update", "TransactWriteItems", "Update"}

func TestWhatARunTakes(t *testing.T) {
	for provider, want := range map[string][]string{"": firstRun, "refuse": declinedRun} {
		db := newDatabase(t)
		newEnvironment(t, db, provider, "").Invoke(event(t, "httpapi-checkout"))
		if got := protocol(db.Requests()); !slices.Equal(got, want) {
			t.Errorf("provider %q: %v, want %v", provider, got, want)
		}
	}
}

func TestTheGoodsAreBackWhereTheCardIsDeclined(t *testing.T) {
	db := newDatabase(t)
	first := newEnvironment(t, db, "refuse", "").Respond(event(t, "httpapi-checkout"), 402)
	wantBooks(t, db, unsold)
	wantRecord(t, db, "COMPLETED", ":unwinding", "reserve-stock", "reserve-stock:compensated")
	if !strings.Contains(first.Body, "insufficient funds") {
		t.Errorf("the answer is %s", first.Body)
	}
	again := newEnvironment(t, db, "", "").Respond(event(t, "httpapi-checkout-retry"), 402)
	if again.Body != first.Body || again.Headers["Idempotent-Replayed"] != "true" {
		t.Errorf("first %+v\nagain %+v", first, again)
	}
	wantBooks(t, db, unsold)
}

func TestAFailureOfAServiceIsResumedByTheRetry(t *testing.T) {
	for _, failure := range []struct {
		of, provider, mail string
		meanwhile          books
		done               []string
	}{
		{"the provider", "flaky", "", books{cups: 8, pots: 1}, []string{"reserve-stock"}},
		{"the mail service", "", "flaky", books{cups: 8, pots: 1, charges: 1}, []string{"charge", "reserve-stock"}},
	} {
		t.Run(failure.of, func(t *testing.T) {
			db := newDatabase(t)
			e := newEnvironment(t, db, failure.provider, failure.mail)
			_, err := e.Invoke(event(t, "httpapi-checkout"))
			partial, ok := errors.AsType[*saga.PartialSuccessError](err)
			if !ok || !slices.Equal(slices.Sorted(slices.Values(partial.Done)), failure.done) {
				t.Fatalf("the error is %v", err)
			}
			wantBooks(t, db, failure.meanwhile)
			wantRecord(t, db, "PARTIAL_SUCCESS", failure.done...)

			shelve(t, db, "cup-white", 8, 9_99) // dearer than at the first try
			var made sale
			if err := json.Unmarshal([]byte(e.Respond(event(t, "httpapi-checkout-retry"), 201).Body), &made); err != nil {
				t.Fatal(err)
			}
			if made.Amount != 2*4_50+60_00 {
				t.Errorf("it costs %d, which is not what it cost when it was reserved", made.Amount)
			}
			wantBooks(t, db, sold)
		})
	}
}

func TestASaleNeedsNoMail(t *testing.T) {
	db := newDatabase(t)
	newEnvironment(t, db, "", "refuse").Respond(event(t, "httpapi-checkout"), 201)
	withoutMail := sold
	withoutMail.mails = 0
	wantBooks(t, db, withoutMail)
}

func TestWhatIsSoldOutDoesNotSpendTheKey(t *testing.T) {
	db := newDatabase(t)
	e := newEnvironment(t, db, "", "")
	e.Respond(event(t, "httpapi-checkout-sold-out"), 409)
	wantBooks(t, db, unsold) // nor is half of the order taken
	wantRecord(t, db, "")
	shelve(t, db, "pot-iron", 9, 60_00)
	e.Respond(event(t, "httpapi-checkout-sold-out"), 201)
	wantBooks(t, db, books{cups: 9, charges: 1, mails: 1, sales: 1})
}

func TestAnOrderThatCannotBeSoldDoesNotSpendItsKey(t *testing.T) {
	const customer = `"customer":"c","email":"c@example.com"`
	for name, body := range map[string]string{
		"no such goods":       `{` + customer + `,"items":[{"sku":"tea","quantity":1}]}`,
		"no goods":            `{` + customer + `,"items":[]}`,
		"goods without a SKU": `{` + customer + `,"items":[{"quantity":1}]}`,
		"a quantity of none":  `{` + customer + `,"items":[{"sku":"cup-white","quantity":0}]}`,
		"a negative quantity": `{` + customer + `,"items":[{"sku":"cup-white","quantity":-1}]}`,
		"half a cup":          `{` + customer + `,"items":[{"sku":"cup-white","quantity":0.5}]}`,
		"too much of it":      `{` + customer + `,"items":[{"sku":"cup-white","quantity":1001}]}`,
		"the same goods twice": `{` + customer +
			`,"items":[{"sku":"cup-white","quantity":1},{"sku":"cup-white","quantity":1}]}`,
		"too many goods": `{` + customer + `,"items":[` + strings.TrimSuffix(strings.Repeat(`{"sku":"a","quantity":1},`, 51), ",") + `]}`,
		"no customer":    `{"email":"c@example.com","items":[{"sku":"cup-white","quantity":1}]}`,
		"no address":     `{"customer":"c","items":[{"sku":"cup-white","quantity":1}]}`,
		"no JSON":        `cups, please`,
		"nothing":        ``,
	} {
		t.Run(name, func(t *testing.T) {
			db := newDatabase(t)
			e := newEnvironment(t, db, "", "")
			e.Respond(request(t, "k", body), 422)
			wantBooks(t, db, unsold)
			wantRecord(t, db, "")
			e.Respond(request(t, "k", `{`+customer+`,"items":[{"sku":"cup-white","quantity":2},{"sku":"pot-iron","quantity":1}]}`), 201)
			wantBooks(t, db, sold)
		})
	}
}

func TestTheSameKeyWithAnotherOrderIsRefused(t *testing.T) {
	const other = `{"customer":"cus_8812","email":"ada@example.com","items":[{"sku":"cup-white","quantity":3}]}`
	synctest.Test(t, func(t *testing.T) {
		db := newDatabase(t)
		e := newEnvironment(t, db, "", "")
		first := e.Respond(request(t, "k", `{"customer":"cus_8812","email":"ada@example.com","items":[{"sku":"cup-white","quantity":2},{"sku":"pot-iron","quantity":1}]}`), 201)
		e.Respond(request(t, "k", other), 422)
		time.Sleep(25 * time.Hour) // the record is gone, the sale is not
		e.Respond(request(t, "k", other), 422)
		wantBooks(t, db, sold)
		again := e.Respond(request(t, "k", `{"customer":"cus_8812","email":"ada@example.com","items":[{"sku":"cup-white","quantity":2},{"sku":"pot-iron","quantity":1}]}`), 201)
		if again.Body != first.Body {
			t.Errorf("first %s\nagain %s", first.Body, again.Body)
		}
		wantBooks(t, db, sold)
	})
}

// Somebody else sells between the reading of the stock and the reservation.
func TestAReservationOfWhatHasChangedIsTriedAgain(t *testing.T) {
	for name, c := range map[string]struct {
		times  int // that somebody was faster
		status int
		want   books
	}{
		"once":                 {1, 201, books{cups: 5, pots: 1, charges: 1, mails: 1, sales: 1}},
		"until the goods end":  {3, 409, books{cups: 1, pots: 2}},
		"again and again":      {5, 503, books{cups: 10, pots: 2}},
		"but not at the tries": {4, 201, books{cups: 8, pots: 1, charges: 1, mails: 1, sales: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db := newDatabase(t)
				cups, _ := stockOf(db, "cup-white").Number("quantity")
				db.Inject(dynamotest.Fault{
					Operation: "TransactWriteItems", Times: c.times,
					Do: dynamotest.Before(func(dynamotest.Request) {
						if c.times < 4 {
							cups -= 3
						}
						shelve(t, db, "cup-white", cups, 4_50)
					}),
				})
				newEnvironment(t, db, "", "").Respond(event(t, "httpapi-checkout"), c.status)
				wantBooks(t, db, c.want)
				if c.status != 201 {
					wantRecord(t, db, "")
				}
			})
		})
	}
}

func TestTheLastCupIsSoldToOne(t *testing.T) {
	const customers = 14
	synctest.Test(t, func(t *testing.T) {
		db := newDatabase(t)
		// So that all have read before anybody writes.
		db.Inject(dynamotest.Fault{Operation: "GetItem", Times: dynamotest.Always, Do: dynamotest.DelayAfter(time.Millisecond)})
		answers := make(map[int]int)
		var (
			mu    sync.Mutex
			group sync.WaitGroup
		)
		for customer := range customers {
			e := newEnvironment(t, db, "", "")
			body := fmt.Sprintf(`{"customer":"cus_%d","email":"c@example.com","items":[{"sku":"cup-white","quantity":1}]}`, customer)
			order := request(t, fmt.Sprint("key-", customer), body)
			group.Go(func() {
				status := 503
				for status == 503 { // many buy at the moment
					status = statusOf(t, e, order)
				}
				mu.Lock()
				defer mu.Unlock()
				answers[status]++
			})
		}
		group.Wait()
		if want := map[int]int{201: 10, 409: customers - 10}; !maps.Equal(answers, want) {
			t.Errorf("the answers are %v, want %v", answers, want)
		}
		wantBooks(t, db, books{cups: 0, pots: 2, charges: 10, mails: 10, sales: 10})
	})
}

func statusOf(t *testing.T, e *lambdatest.Environment, event []byte) int {
	answer, err := e.Invoke(event)
	if err != nil {
		t.Error(err)
	}
	var response events.APIGatewayV2HTTPResponse
	if err := json.Unmarshal(answer, &response); err != nil {
		t.Error(err)
	}
	return response.StatusCode
}

// It dies while the goods are being given back, which Prove does not know: its books never go back. Whether the card would be good by then
// matters only as long as the refusal is not recorded.
func TestARunThatDiesWhileUndoingIsResumedAndGivesBackOnce(t *testing.T) {
	const decided = 6 // the request that records the refusal
	for at := 1; at <= len(declinedRun); at++ {
		for _, when := range []string{"before", "after"} {
			for _, later := range []string{"refuse", ""} {
				t.Run(fmt.Sprintf("%s request %d, then provider %q", when, at, later), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						db := newDatabase(t)
						a, b := newEnvironment(t, db, "refuse", ""), newEnvironment(t, db, later, "")
						killAt(db, a, at, when)
						a.Invoke(event(t, "httpapi-checkout"))
						if !a.Killed() {
							t.Fatal("the function did not die")
						}
						time.Sleep(lease)
						if later == "" && (at < decided || at == decided && when == "before") {
							b.Respond(event(t, "httpapi-checkout-retry"), 201)
							wantBooks(t, db, sold)
							return
						}
						first := b.Respond(event(t, "httpapi-checkout-retry"), 402)
						if again := b.Respond(event(t, "httpapi-checkout-retry"), 402); again.Body != first.Body {
							t.Errorf("first %s\nagain %s", first.Body, again.Body)
						}
						wantBooks(t, db, unsold)
						wantRecord(t, db, "COMPLETED", ":unwinding", "reserve-stock", "reserve-stock:compensated")
					})
				})
			}
		}
	}
}

func TestALostReplyChangesNothingOfARefusal(t *testing.T) {
	for lost := 1; lost <= len(declinedRun); lost++ {
		t.Run(fmt.Sprintf("request %d", lost), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db := newDatabase(t)
				db.Inject(dynamotest.Fault{Request: lost, Do: dynamotest.LoseReply()})
				newEnvironment(t, db, "refuse", "").Respond(event(t, "httpapi-checkout"), 402)
				wantBooks(t, db, unsold)
			})
		})
	}
}

// What no record can prevent where a service ignores its key: the run dies after the
// effect and before the step is recorded.
func TestWithoutDownstreamKeysARunThatDiedHasAnEffectTwice(t *testing.T) {
	for name, c := range map[string]struct {
		at   int
		want books
	}{
		"the charge": {6, books{cups: 8, pots: 1, charges: 2, mails: 1, sales: 1}},
		"the mail":   {8, books{cups: 8, pots: 1, charges: 1, mails: 2, sales: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db := newDatabase(t)
				careless := map[string]string{"PROVIDER_IDEMPOTENT": "off", "MAIL_IDEMPOTENT": "off"}
				a, b := start(t, db, careless), start(t, db, careless)
				killAt(db, a, c.at, "after")
				a.Invoke(event(t, "httpapi-checkout"))
				time.Sleep(lease)
				b.Respond(event(t, "httpapi-checkout-retry"), 201)
				wantBooks(t, db, c.want)
			})
		})
	}
}

func TestGoodsThatCannotBeGivenBackYetAreByTheRetry(t *testing.T) {
	db := newDatabase(t)
	db.Inject(dynamotest.Fault{Operation: "TransactWriteItems", Nth: 2, Do: dynamotest.Fail("AccessDeniedException", "no", 400)})
	e := newEnvironment(t, db, "refuse", "")
	_, err := e.Invoke(event(t, "httpapi-checkout"))
	if stuck, ok := errors.AsType[*saga.CompensationError](err); !ok || !slices.Equal(stuck.Left, []string{"reserve-stock"}) {
		t.Fatalf("the error is %v", err)
	}
	wantBooks(t, db, books{cups: 8, pots: 1})
	wantRecord(t, db, "PARTIAL_SUCCESS", ":compensation", ":unwinding", "reserve-stock")
	newEnvironment(t, db, "", "").Respond(event(t, "httpapi-checkout-retry"), 402)
	wantBooks(t, db, unsold)
}

// With the guards off every request runs. The key is still handed on, so that whoever
// knows keys downstream does not carry it out twice.
func TestWithTheGuardsOffOnlyWhoKnowsTheKeyRecognisesARequest(t *testing.T) {
	t.Setenv("IDEMPOTENCY_DISABLED", "true")
	db := newDatabase(t)
	e := newEnvironment(t, db, "", "")
	e.Respond(event(t, "httpapi-checkout"), 201)
	e.Respond(event(t, "httpapi-checkout"), 201)
	wantBooks(t, db, books{cups: 8, pots: 1, charges: 1, mails: 1, sales: 1})
	newEnvironment(t, db, "refuse", "").Respond(event(t, "httpapi-checkout-sold-out"), 409)
	shelve(t, db, "pot-iron", 9, 60_00)
	newEnvironment(t, db, "refuse", "").Respond(event(t, "httpapi-checkout-sold-out"), 402)
	wantBooks(t, db, books{cups: 8, pots: 9, charges: 1, mails: 1, sales: 1})
	wantRecord(t, db, "")
}

func TestTheSampleEventsAreAnsweredAsDocumented(t *testing.T) {
	e := newEnvironment(t, newDatabase(t), "", "")
	for _, answer := range lambdatest.Answers(t, "checkout") {
		t.Log(answer.Event)
		e.Respond(event(t, answer.Event), answer.Status)
	}
}
