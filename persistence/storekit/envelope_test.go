package storekit_test

import (
	"testing"
	"unicode/utf8"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

func TestAnEnvelopeGivesBackWhatWasPutIn(t *testing.T) {
	for _, content := range []string{"", "paid", "\n", "\n\n", "\xffikkai:sealed/1\nwithin"} {
		envelope := storekit.Envelope("sealed/1", []byte(content))
		form, got, ok := storekit.OpenEnvelope(envelope)
		if !ok || form != "sealed/1" || string(got) != content {
			t.Errorf("%q: got %q in the form %q, %t", content, got, form, ok)
		}
		if utf8.Valid(envelope) {
			t.Errorf("%q could be JSON", envelope)
		}
	}
}

func TestOtherValuesAreNoEnvelopes(t *testing.T) {
	for _, value := range []string{"", "paid", `{"a":"\n"}`, "\xff", "\xffikkai:", "\xffikkai:sealed/1", "\xff\n", "ikkai:sealed/1\n"} {
		if form, content, ok := storekit.OpenEnvelope([]byte(value)); ok {
			t.Errorf("%q: took it for %q in the form %q", value, content, form)
		}
	}
}

// literal is a store that says whether it holds envelopes.
type literal struct {
	persistence.Store
	holds bool
}

func (l literal) HoldsEnvelopes() bool { return l.holds }

func TestAStoreInFrontHoldsEnvelopesAsTheOneBehindDoes(t *testing.T) {
	memory := persistence.NewMemory()
	for _, tt := range []struct {
		behind persistence.Store
		want   bool
	}{
		{memory, true},
		{literal{memory, true}, true},
		{literal{memory, false}, false},
	} {
		for _, store := range []persistence.Store{tt.behind, storekit.NewFront(tt.behind), storekit.NewFront(storekit.NewFront(tt.behind))} {
			if got := storekit.HoldsEnvelopes(store); got != tt.want {
				t.Errorf("%T before %T: got %t, want %t", store, tt.behind, got, tt.want)
			}
		}
	}
}
