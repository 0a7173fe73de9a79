package main

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

func TestAnOrderIsShippedOnce(t *testing.T) {
	for name, again := range map[string]string{
		"delivered twice":           "sqs-orders-redelivery",
		"sent twice":                "sqs-orders-resent",
		"delivered with other ones": "sqs-orders",
	} {
		t.Run(name, func(t *testing.T) {
			db := newDatabase(t)
			wantFailed(t, newEnvironment(t, db, "", ""), event(t, "sqs-orders"))
			wantRows(t, db, 2, 2)
			wantFailed(t, newEnvironment(t, db, "", ""), event(t, again))
			wantRows(t, db, 2, 2)
			wantRecords(t, db, 2, 0)
		})
	}
}

func TestWhatCannotBePlacedComesBackAlone(t *testing.T) {
	db := newDatabase(t)
	e := newEnvironment(t, db, "", "")
	wantFailed(t, e, event(t, "sqs-orders-mixed"), invalid, garbage)
	wantRows(t, db, 2, 2)
	wantRecords(t, db, 2, 1)

	// Again and again, until it is in the dead-letter queue; and nothing runs.
	requests := len(db.Requests())
	wantFailed(t, e, event(t, "sqs-orders-mixed"), invalid, garbage)
	wantRows(t, db, 2, 2)
	if got := len(db.Requests()) - requests; got != 3 {
		t.Errorf("%d requests, want one for each order", got)
	}
}

func TestAnOrderThatCanNeverBePlacedIsNotTriedAgain(t *testing.T) {
	for name, body := range map[string]string{
		"no quantity":         `{"order_id":"1","customer":"c","items":[{"sku":"s"}]}`,
		"a negative quantity": `{"order_id":"1","customer":"c","items":[{"sku":"t","quantity":1},{"sku":"s","quantity":-1}]}`,
		"no goods":            `{"order_id":"1","customer":"c","items":[{"quantity":1}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			db := newDatabase(t)
			wantFailed(t, newEnvironment(t, db, "", ""), message(t, "m", body), "m")
			wantRows(t, db, 0, 0)
			wantRecords(t, db, 0, 1)
		})
	}
}

func TestACorrectedOrderNeedsAnIdOfItsOwn(t *testing.T) {
	db := newDatabase(t)
	e := newEnvironment(t, db, "", "")
	wantFailed(t, e, message(t, "m1", `{"order_id":"1","customer":"c","items":[{"sku":"s","quantity":-1}]}`), "m1")
	wantFailed(t, e, message(t, "m2", `{"order_id":"1","customer":"c","items":[{"sku":"s","quantity":1}]}`), "m2")
	wantFailed(t, e, message(t, "m3", `{"order_id":"2","customer":"c","items":[{"sku":"s","quantity":1}]}`))
	wantRows(t, db, 1, 1)
}

func TestWithoutGuardsWhatIsNoOrderIsNotPlacedEither(t *testing.T) {
	t.Setenv("IDEMPOTENCY_DISABLED", "1")
	for name, body := range map[string]string{
		"no id":       `{"customer":"c","items":[{"sku":"s","quantity":1}]}`,
		"no customer": `{"order_id":"1","items":[{"sku":"s","quantity":1}]}`,
		"no items":    `{"order_id":"1","customer":"c","items":[]}`,
		"nothing":     `null`,
	} {
		t.Run(name, func(t *testing.T) {
			db := newDatabase(t)
			wantFailed(t, newEnvironment(t, db, "", ""), message(t, "m", body), "m")
			wantRows(t, db, 0, 0)
		})
	}
}

func TestAMessageThatIsNoOrderLeavesNoTrace(t *testing.T) {
	for name, body := range map[string]string{
		"nothing":             ``,
		"no id":               `{"customer":"c","items":[{"sku":"s","quantity":1}]}`,
		"no customer":         `{"order_id":"1","items":[{"sku":"s","quantity":1}]}`,
		"no items":            `{"order_id":"1","customer":"c","items":[]}`,
		"two ids":             `{"order_id":"1","order_id":"2","customer":"c","items":[{"sku":"s","quantity":1}]}`,
		"an id as number":     `{"order_id":1,"customer":"c","items":[{"sku":"s","quantity":1}]}`,
		"a fraction of an it": `{"order_id":"1","customer":"c","items":[{"sku":"s","quantity":1.5}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			db := newDatabase(t)
			wantFailed(t, newEnvironment(t, db, "", ""), message(t, "m", body), "m")
			wantRows(t, db, 0, 0)
			wantRecords(t, db, 0, 0)
		})
	}
}

func TestWhatIsShippedIsWhatTheKeyIsMadeOf(t *testing.T) {
	db := newDatabase(t)
	wantFailed(t, newEnvironment(t, db, "", ""), message(t, "m", `{"order_id":"1","Order_ID":"2","customer":"c","items":[{"sku":"s","quantity":1}]}`), "m")
	wantFailed(t, newEnvironment(t, db, "", ""), message(t, "n", `{"order_id":"2","customer":"c","items":[{"sku":"s","quantity":1}]}`))
	wantRows(t, db, 1, 1)
}

func TestAnotherOrderUnderTheSameIdIsRefused(t *testing.T) {
	const (
		one   = `{"order_id":"1","customer":"c","items":[{"sku":"s","quantity":1}]}`
		other = `{"order_id":"1","customer":"c","items":[{"sku":"s","quantity":2}]}`
	)
	synctest.Test(t, func(t *testing.T) {
		db := newDatabase(t)
		e := newEnvironment(t, db, "", "")
		wantFailed(t, e, message(t, "m", one))
		wantFailed(t, e, message(t, "n", other), "n")
		time.Sleep(remembered + time.Hour) // the record is gone, the order is not
		wantFailed(t, e, message(t, "n", other), "n")
		wantFailed(t, e, message(t, "m", one))
		wantRows(t, db, 1, 1)
	})
}

func TestAFailureOfTheWarehouseFailsItsOrderOnly(t *testing.T) {
	db := newDatabase(t)
	e := newEnvironment(t, db, "flaky", "")
	batch := event(t, "sqs-orders")
	answer, err := e.Invoke(batch)
	if err != nil {
		t.Fatal(err)
	}
	wantRows(t, db, 1, 1)
	// Which of the two came first is up to them.
	if one, two := items(first), items(second); string(answer) != one && string(answer) != two {
		t.Errorf("the answer is %s, want %s or %s", answer, one, two)
	}
	wantFailed(t, e, event(t, "sqs-orders-redelivery"))
	wantRows(t, db, 2, 2)
}

func items(id string) string {
	return fmt.Sprintf(`{"batchItemFailures":[{"itemIdentifier":%q}]}`, id)
}

func TestASoldOutOrderWaitsForNewGoods(t *testing.T) {
	db := newDatabase(t)
	wantFailed(t, newEnvironment(t, db, "refuse", ""), event(t, "sqs-orders"), first, second)
	wantRows(t, db, 0, 0)
	wantRecords(t, db, 0, 0)
	wantFailed(t, newEnvironment(t, db, "", ""), event(t, "sqs-orders-redelivery"))
	wantRows(t, db, 2, 2)
}

func TestAnOrderThatRunsElsewhereComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := newDatabase(t)
		a, b := newEnvironment(t, db, "slow", ""), newEnvironment(t, db, "", "")
		answered := make(chan []byte)
		go func() {
			answer, _ := a.Invoke(event(t, "sqs-orders"))
			answered <- answer
		}()
		synctest.Wait() // for the warehouse
		wantFailed(t, b, event(t, "sqs-orders-redelivery"), first, second)
		if answer := <-answered; string(answer) != `{"batchItemFailures":[]}` {
			t.Errorf("the answer is %s", answer)
		}
		wantFailed(t, b, event(t, "sqs-orders-redelivery"))
		wantRows(t, db, 2, 2)
	})
}

// The function dies right after one of its requests was carried out. The queue
// delivers the message again when the visibility timeout is over, long after the
// dead run's lease.
// What no record can prevent where the warehouse ignores its key; TestTheOrdersAreProved has
// those that know keys.
func TestWithoutDownstreamKeysARunThatDiedShipsTwice(t *testing.T) {
	for _, death := range []struct {
		after     string
		request   dynamotest.Fault
		shipments int
	}{
		{"the shipment", dynamotest.Fault{Operation: "PutItem", Table: ordersTable}, 2},
		{"the order", dynamotest.Fault{Operation: "PutItem", Table: ordersTable, Nth: 2}, 1},
	} {
		t.Run("after "+death.after, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db := newDatabase(t)
				a, b := newEnvironment(t, db, "", "off"), newEnvironment(t, db, "", "off")
				death.request.Do = dynamotest.After(func(dynamotest.Request) { a.Kill() })
				db.Inject(death.request)
				start := time.Now()
				a.Invoke(event(t, "sqs-orders-resent")) // what it answers reaches nobody
				if !a.Killed() {
					t.Fatal("the function did not die")
				}
				time.Sleep(time.Until(start.Add(6 * timeout)))
				wantFailed(t, b, event(t, "sqs-orders-resent"))
				wantFailed(t, b, event(t, "sqs-orders-resent"))
				wantRows(t, db, death.shipments, 1)
			})
		})
	}
}

// A hanging warehouse has shipped and never answers: Lambda kills the environment.
func TestAWarehouseThatHangsHasShippedAndShipsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := newDatabase(t)
		a, b := newEnvironment(t, db, "hang", ""), newEnvironment(t, db, "", "")
		returned := make(chan struct{})
		go func() {
			a.Invoke(event(t, "sqs-orders"))
			close(returned)
		}()
		time.Sleep(timeout + time.Millisecond)
		synctest.Wait() // for whatever it may do at its end
		a.Kill()        // as Lambda does
		wantRows(t, db, 2, 0)
		time.Sleep(5 * timeout)
		wantFailed(t, b, event(t, "sqs-orders-redelivery"))
		wantRows(t, db, 2, 2)
		<-returned // a day later; in Lambda nothing lives that long
	})
}
