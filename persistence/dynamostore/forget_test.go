package dynamostore_test

import (
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/persistence"
)

// TestWhatOthersHaveWrittenIsForgottenAsItWasSeen, in whatever form they write owners and times.
func TestWhatOthersHaveWrittenIsForgottenAsItWasSeen(t *testing.T) {
	n := func(v string) types.AttributeValue { return &types.AttributeValueMemberN{Value: v} }
	s := func(v string) types.AttributeValue { return &types.AttributeValueMemberS{Value: v} }
	for name, form := range map[string]map[string]types.AttributeValue{
		"no owner":              {"status": s("INPROGRESS"), "lease_until": n("1700000000000")},
		"no owner and no lease": {"status": s("COMPLETED"), "expire_at": n("4102444800")},
		"an empty owner":        {"status": s("PROCESSING"), "owner": s(""), "lease_until": n("1700000000000")},
		"an owner that is none": {"status": s("PROCESSING"), "owner": &types.AttributeValueMemberNULL{Value: true}},
		"a time with fractions": {"status": s("PROCESSING"), "owner": s("o"), "lease_until": n("1700000000000.5")},
		"a time too far away":   {"status": s("PROCESSING"), "owner": s("o"), "lease_until": n("1e30")},
		"a time that is none":   {"status": s("COMPLETED"), "owner": s("o"), "lease_until": s("tomorrow")},
	} {
		t.Run(name, func(t *testing.T) {
			db, store := newStore(t)
			form["idempotency_key"] = s("payment#1")
			db.Seed("idempotency", form)
			seen, found, err := store.Read(t.Context(), "payment#1")
			if err != nil || !found {
				t.Fatal(found, err)
			}
			other := seen
			other.Owner = "another"
			if err := store.Forget(t.Context(), other); !errors.Is(err, persistence.ErrLeaseLost) {
				t.Errorf("of another owner: %v", err)
			}
			if seen.Owner == "" { // nothing else tells two runs of it apart
				other = seen
				other.ExpiresAt = now.Add(time.Hour)
				if err := store.Forget(t.Context(), other); !errors.Is(err, persistence.ErrLeaseLost) {
					t.Errorf("of an earlier run: %v", err)
				}
			}
			if err := store.Forget(t.Context(), seen); err != nil {
				t.Error(err)
			}
			if _, found, err := store.Read(t.Context(), "payment#1"); err != nil || found {
				t.Errorf("it is still there (%v)", err)
			}
		})
	}
}
