package bench

import (
	"encoding/json"
	"testing"

	"github.com/ikkai-go/idempotency"
)

func TestKeyWorksOnPayloadsOfTheirSize(t *testing.T) {
	for _, work := range keyWorks {
		t.Run(work.expression, func(t *testing.T) {
			expression, err := idempotency.JMESPath(work.expression)
			if err != nil {
				t.Fatal(err)
			}
			for _, size := range payloadSizes {
				payload := work.payload(size)
				if !json.Valid(payload) {
					t.Fatalf("the payload of %d bytes is not JSON", size)
				}
				if len(payload) < size*4/5 || len(payload) > size*4/3 {
					t.Errorf("the payload of %d bytes has %d", size, len(payload))
				}
				if _, err := expression.Key("payment", payload); err != nil {
					t.Errorf("%d bytes: %v", size, err)
				}
				if err := work.byHand(payload); err != nil {
					t.Errorf("%d bytes by hand: %v", size, err)
				}
			}
		})
	}
}

func TestByHandTellsPayloadsApart(t *testing.T) {
	for _, work := range keyWorks {
		digest := func(id string) [32]byte {
			payload := payment(id, 1<<10)
			if work.expression == "powertools_json(body)" {
				payload = httpEvent(payload)
			}
			if err := work.byHand(payload); err != nil {
				t.Fatal(err)
			}
			return sum
		}
		if first, again, other := digest("p-1"), digest("p-1"), digest("p-2"); first != again || first == other {
			t.Errorf("%s by hand does not do the work it is measured for", work.expression)
		}
	}
}
