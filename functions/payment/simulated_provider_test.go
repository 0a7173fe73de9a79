package main

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestAProviderThatHangsHasChargedAndIsChargedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := newDatabase(t)
		a, b := newEnvironment(t, db, "hang", ""), newEnvironment(t, db, "", "")
		returned := make(chan struct{})
		go func() {
			a.Invoke(event(t, "httpapi-payment"))
			close(returned)
		}()
		time.Sleep(timeout + time.Millisecond)
		synctest.Wait() // for whatever it may do at its end
		a.Kill()        // as Lambda does
		select {
		case <-returned:
			t.Error("the function has returned by its timeout")
		default:
		}
		wantRows(t, db, 1, 0)
		wantRecord(t, db, "PROCESSING")

		b.Respond(event(t, "httpapi-payment-retry"), 409)
		time.Sleep(2 * time.Second)
		b.Respond(event(t, "httpapi-payment-retry"), 201)
		wantRows(t, db, 1, 1)

		<-returned // a day later; in Lambda nothing lives that long
		wantRecord(t, db, "COMPLETED")
	})
}
