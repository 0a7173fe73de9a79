package idempotent_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/internal/lab"
	"github.com/ikkai-go/idempotency/idempotent/saga"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

// DynamoDB has said that nothing was written. The record stays locked all the same,
// and the caller is told that the function's effect has happened.
func TestATransactionThatIsKnownNotToBeAppliedReleasesItsRecord(t *testing.T) {
	onMissing := func(ctx context.Context) error {
		return dynamostore.Enlist(ctx, dynamostore.Write{Put: &types.Put{TableName: aws.String("no-such-table"), Item: map[string]types.AttributeValue{
			"id": &types.AttributeValueMemberS{Value: "x"},
		}}})
	}
	for name, test := range map[string]struct {
		enlist func(context.Context) error
		fault  *dynamotest.Fault
	}{
		"conflicts":     {func(ctx context.Context) error { return lab.Take(ctx, 1, lab.ErrOutOfStock) }, &dynamotest.Fault{Operation: "TransactWriteItems", Times: dynamotest.Always, Do: dynamotest.Cancel("None", "TransactionConflict")}},
		"missing table": {onMissing, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := lab.NewShop(t, 10)
			g := lab.NewKeylessGuard(t, s.Store, idempotent.Config{StoreTimeout: 300 * time.Millisecond})
			if test.fault != nil {
				s.DB.Inject(*test.fault)
			}
			_, err := idempotent.Do(t.Context(), g, "k", func(ctx context.Context) (string, error) { return "", test.enlist(ctx) })
			if failed, ok := errors.AsType[*idempotent.StoreError](err); ok && failed.Executed {
				t.Errorf("nothing was written, and the error says executed: %v", err)
			}
			s.DB.ClearFaults()
			if _, err := idempotent.Do(t.Context(), g, "k", func(context.Context) (string, error) { return "again", nil }); err != nil {
				t.Errorf("the next arrival: %v", err)
			}
		})
	}
}

// The loser of a race in the short form has run, too. It gets the winner's result, and
// nothing of its own.
func TestALoserOfTheShortFormGetsTheWinnersResultOnly(t *testing.T) {
	type result struct {
		Winner string         `json:"winner,omitempty"`
		Loser  string         `json:"loser,omitempty"`
		Lines  map[string]int `json:"lines"`
	}
	s := lab.NewShop(t, 10)
	g := lab.NewKeylessGuard(t, s.Store, idempotent.Config{OnlyEnlists: true})
	other := lab.NewKeylessGuard(t, lab.NewStoreOn(t, s.DB), idempotent.Config{OnlyEnlists: true})
	got, err := idempotent.Do(t.Context(), g, "k", func(ctx context.Context) (result, error) {
		_, err := idempotent.Do(t.Context(), other, "k", func(ctx context.Context) (result, error) {
			return result{Winner: "w", Lines: map[string]int{"w": 1}}, lab.Take(ctx, 1, lab.ErrOutOfStock)
		})
		if err != nil {
			t.Fatal(err)
		}
		return result{Loser: "l", Lines: map[string]int{"l": 1}}, lab.Take(ctx, 1, lab.ErrOutOfStock)
	})
	if err != nil || got.Loser != "" || len(got.Lines) != 1 || s.Left() != 9 {
		t.Errorf("got %+v, %v, %d left", got, err, s.Left())
	}
}

// A zombie of the short form, frozen until the record of the run that replaced it has
// expired, writes a second time. One of the long form does not.
func TestAZombieOfTheShortFormCommitsNothing(t *testing.T) {
	for name, short := range lab.Modes {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := lab.NewShop(t, 10)
				config := idempotent.Config{OnlyEnlists: short, TTL: time.Hour, LeaseWholeRuns: true, Lease: time.Minute}
				g := lab.NewKeylessGuard(t, s.Store, config)
				other := lab.NewKeylessGuard(t, lab.NewStoreOn(t, s.DB), config)
				_, err := idempotent.Do(t.Context(), g, "k", func(ctx context.Context) (string, error) {
					if err := lab.Take(ctx, 1, lab.ErrOutOfStock); err != nil {
						return "", err
					}
					time.Sleep(2 * time.Minute)
					if _, err := idempotent.Do(context.Background(), other, "k", func(ctx context.Context) (string, error) { return "", lab.Take(ctx, 1, lab.ErrOutOfStock) }); err != nil {
						t.Fatal(err)
					}
					time.Sleep(2 * time.Hour) // virtual
					return "", nil
				})
				if s.Left() != 9 {
					t.Errorf("%d left: %v", s.Left(), err)
				}
			})
		})
	}
}

// The transaction of a step was applied and its replies are lost; the function then
// fails for good. The record has the step as finished and compensable.
func TestAStepWhoseTransactionsReplyIsLostIsUndone(t *testing.T) {
	s := lab.NewShop(t, 10)
	undone := 0
	takeStep := saga.NewStep(saga.Spec[string]{Name: "take", Compensate: func(ctx context.Context, _ saga.Call, _ string) error {
		undone++
		return lab.Take(ctx, -1, lab.ErrOutOfStock)
	}})
	g := lab.NewKeylessGuard(t, s.Store, idempotent.Config{Steps: saga.Steps(takeStep), StoreTimeout: 300 * time.Millisecond})
	_, err := idempotent.Do(t.Context(), g, "k", func(ctx context.Context) (string, error) {
		s.DB.Inject(dynamotest.Fault{Operation: "TransactWriteItems", Times: dynamotest.Always, Do: dynamotest.LoseReply()})
		_, err := takeStep.Run(ctx, func(ctx context.Context, _ saga.Call) (string, error) { return "", lab.Take(ctx, 1, lab.ErrOutOfStock) })
		s.DB.ClearFaults()
		return "", idempotent.Permanent(err)
	})
	if !errors.Is(err, saga.ErrCompensation) && s.Left() != 10 {
		t.Errorf("failed for good (%.60v…), undone %d times, %d of 10 left", err, undone, s.Left())
	}
}

// The step was applied, and its replies are lost. That another try of it is refused as a
// whole says nothing of the first.
func TestARefusalOfALaterTryDoesNotMakeAStepUnhappened(t *testing.T) {
	s := lab.NewShop(t, 10)
	runs := 0
	taking := saga.NewStep(saga.Spec[string]{
		Name:       "take",
		Compensate: func(ctx context.Context, _ saga.Call, _ string) error { return lab.Take(ctx, -1, lab.ErrOutOfStock) },
	})
	g := lab.NewKeylessGuard(t, s.Store, idempotent.Config{Steps: saga.Steps(taking), StoreTimeout: 300 * time.Millisecond})
	_, err := idempotent.Do(t.Context(), g, "k", func(ctx context.Context) (string, error) {
		step := func(effect dynamotest.Effect) error {
			s.DB.Inject(dynamotest.Fault{Operation: "TransactWriteItems", Times: dynamotest.Always, Do: effect})
			defer s.DB.ClearFaults()
			_, err := taking.Run(ctx, func(ctx context.Context, _ saga.Call) (string, error) {
				runs++
				return "", lab.Take(ctx, 1, lab.ErrOutOfStock)
			})
			return err
		}
		first := step(dynamotest.LoseReply())
		second := step(dynamotest.Fail("AccessDeniedException", "not any more", 400))
		if !errors.Is(first, idempotent.ErrStore) || !errors.Is(second, idempotent.ErrStore) {
			t.Errorf("%v, then %v", first, second)
		}
		return "", idempotent.Permanent(second)
	})
	if errors.Is(err, saga.ErrCompensation) || s.Left() != 10 || runs != 1 {
		t.Errorf("failed for good (%v) after %d runs, %d of 10 left", err, runs, s.Left())
	}
}
