package main

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestAHangingProviderHasChargedAndOutlastsTheTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := newDatabase(t)
		a, b := newEnvironment(t, db, "hang", ""), newEnvironment(t, db, "", "")
		returned := make(chan struct{})
		go func() {
			a.invoke(event(t, "httpapi-payment"))
			close(returned)
		}()
		time.Sleep(timeout + time.Millisecond)
		synctest.Wait()         // for whatever it may do at its end
		a.cable.cut.Store(true) // Lambda kills it
		select {
		case <-returned:
			t.Error("the function has returned by its timeout")
		default:
		}
		wantRows(t, db, 1, 0)
		wantRecord(t, db, "PROCESSING")

		b.response(event(t, "httpapi-payment-retry"), 409)
		time.Sleep(2 * time.Second)
		b.response(event(t, "httpapi-payment-retry"), 201)
		wantRows(t, db, 1, 1)

		<-returned // a day later; in Lambda nothing lives that long
		wantRecord(t, db, "COMPLETED")
	})
}

func TestTheSettingsOfTheProvider(t *testing.T) {
	for behaviour, ok := range map[string]bool{
		"": true, "slow": true, "hang": true, "flaky": true, "declined": true,
		"sLow": false, "off": false,
	} {
		if _, err := newSimulatedProvider(nil, behaviour, ""); (err == nil) != ok {
			t.Errorf("%q gives %v", behaviour, err)
		}
	}
}
