package idempotent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/internal/lab"
	"github.com/ikkai-go/idempotency/idempotent/saga"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/cached"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

func TestEnlistedWritesCommitWithTheResult(t *testing.T) {
	for name, short := range lab.Modes {
		t.Run(name, func(t *testing.T) {
			s := lab.NewShop(t, 10)
			guard := lab.NewKeylessGuard(t, s.Store, idempotent.Config{OnlyEnlists: short})
			for round := range 3 { // in the short form the function runs for duplicates too
				out, err := idempotent.Do(t.Context(), guard, "k", func(ctx context.Context) (string, error) {
					if err := lab.Take(ctx, 3, lab.ErrOutOfStock); err != nil {
						return "", err
					}
					if round == 0 && s.Left() != 10 {
						t.Error("it is taken before the call is completed")
					}
					return "taken", nil
				})
				if err != nil || out != "taken" {
					t.Fatalf("got %q, %v", out, err)
				}
				if left := s.Left(); left != 7 {
					t.Errorf("%d left", left)
				}
			}
		})
	}
}

func TestNothingIsWrittenForAFunctionThatFails(t *testing.T) {
	for name, short := range lab.Modes {
		for _, failure := range []error{errBroken, idempotent.Permanent(errBroken)} {
			t.Run(fmt.Sprintf("%s, %T", name, failure), func(t *testing.T) {
				s := lab.NewShop(t, 10)
				guard := lab.NewKeylessGuard(t, s.Store, idempotent.Config{OnlyEnlists: short})
				_, err := idempotent.Do(t.Context(), guard, "k", func(ctx context.Context) (string, error) {
					return "", errors.Join(lab.Take(ctx, 3, lab.ErrOutOfStock), failure)
				})
				if !errors.Is(err, errBroken) || s.Left() != 10 {
					t.Errorf("%d left, %v", s.Left(), err)
				}
			})
		}
	}
}

// A write that is refused means that the function has had no effect: it has failed
// with the write's own error.
func TestARefusedWriteFailsTheFunction(t *testing.T) {
	for name, short := range lab.Modes {
		t.Run(name, func(t *testing.T) {
			s := lab.NewShop(t, 2)
			events := new(lab.EventLog)
			guard := lab.NewKeylessGuard(t, s.Store, idempotent.Config{OnlyEnlists: short, Observe: events.Observe})
			refusal := lab.ErrOutOfStock
			call := func() error {
				out, err := idempotent.Do(t.Context(), guard, "k", func(ctx context.Context) (string, error) {
					return "taken", lab.Take(ctx, 3, refusal)
				})
				if out != "" {
					t.Errorf("got %q with %v", out, err)
				}
				return err
			}
			if err := call(); err != lab.ErrOutOfStock { //nolint:errorlint // unchanged
				t.Fatal(err)
			}
			wantKinds(t, events, idempotent.EventReleased)
			refusal = idempotent.Permanent(lab.ErrOutOfStock)
			if err := call(); err != refusal { //nolint:errorlint // unchanged
				t.Fatal(err)
			}
			wantKinds(t, events, idempotent.EventExecuted)
			s.Stock(10)
			if err := call(); !errors.Is(err, idempotent.ErrPermanent) || err.Error() != "out of stock" {
				t.Fatal(err)
			}
			wantKinds(t, events, idempotent.EventReplayed)
			if s.Left() != 10 {
				t.Errorf("%d left", s.Left())
			}
		})
	}
}

// The process is frozen after it has enlisted and before it commits; meanwhile
// somebody else has taken over and completed.
func TestAZombieCommitsNothing(t *testing.T) {
	s := lab.NewShop(t, 10)
	guard := lab.NewKeylessGuard(t, s.Store, idempotent.Config{})
	_, err := idempotent.Do(t.Context(), guard, "k", func(ctx context.Context) (string, error) {
		if err := lab.Take(ctx, 3, lab.ErrOutOfStock); err != nil {
			return "", err
		}
		call, _ := idempotent.CallFrom(ctx)
		if _, err := s.DB.Client().UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName: aws.String(table), Key: map[string]types.AttributeValue{"idempotency_key": &types.AttributeValueMemberS{Value: call.Key}},
			UpdateExpression:          aws.String("SET #o = :o"),
			ExpressionAttributeNames:  map[string]string{"#o": "owner"},
			ExpressionAttributeValues: map[string]types.AttributeValue{":o": &types.AttributeValueMemberS{Value: "another"}},
		}); err != nil {
			return "", err
		}
		return "taken", nil
	})
	if !errors.Is(err, idempotent.ErrLeaseLost) || s.Left() != 10 {
		t.Errorf("%d left, %v", s.Left(), err)
	}
}

func TestOfManyCallersInTheShortFormOneCommits(t *testing.T) {
	s := lab.NewShop(t, 100)
	const callers = 50
	var runs diary
	results := make([]string, callers)
	var group sync.WaitGroup
	for i := range callers {
		guard := lab.NewKeylessGuard(t, lab.NewStoreOn(t, s.DB), idempotent.Config{OnlyEnlists: true})
		group.Go(func() {
			out, err := idempotent.Do(t.Context(), guard, "k", func(ctx context.Context) (string, error) {
				runs.note("")
				return fmt.Sprint("caller ", i), lab.Take(ctx, 3, lab.ErrOutOfStock)
			})
			if err != nil {
				t.Error(err)
			}
			results[i] = out
		})
	}
	group.Wait()
	if all := slices.Compact(results); len(all) != 1 || s.Left() != 97 {
		t.Errorf("%d left, results %q of %d runs", s.Left(), all, len(runs.entries))
	}
}

// In the short form a duplicate runs, and what it then sees may be what the first run
// has done: that the stock is empty. It is answered with the first run's result all
// the same, also where its process remembers an outcome that has expired.
func TestInTheShortFormADuplicateIsAnsweredAlsoWhereItsOwnRunFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := lab.NewShop(t, 3)
		config := idempotent.Config{OnlyEnlists: true, TTL: 10 * time.Second}
		remembers := lab.NewKeylessGuard(t, cached.New(s.Store, cached.Limits{}), config)
		another := lab.NewKeylessGuard(t, lab.NewStoreOn(t, s.DB), config)
		buy := func(g *idempotent.Guard, name string) (string, error) {
			return idempotent.Do(t.Context(), g, "k", func(ctx context.Context) (string, error) {
				if s.Left() < 3 {
					return "", lab.ErrOutOfStock
				}
				return name, lab.Take(ctx, 3, lab.ErrOutOfStock)
			})
		}
		mustGet := func(g *idempotent.Guard, name, want string) {
			t.Helper()
			if got, err := buy(g, name); err != nil || got != want {
				t.Errorf("%s gets %q, %v; want %q", name, got, err, want)
			}
		}
		mustGet(remembers, "first", "first")
		mustGet(another, "duplicate", "first")

		time.Sleep(12 * time.Second)
		if _, err := buy(another, "without stock"); !errors.Is(err, lab.ErrOutOfStock) {
			t.Errorf("after the expiry: %v", err)
		}
		s.Stock(3)
		mustGet(another, "second", "second")
		mustGet(remembers, "duplicate", "second")
	})
}

// The environment is frozen while the short form looks for a record first.
func TestTheShortFormDoesNotStartTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := lab.NewShop(t, 3)
		s.DB.Inject(dynamotest.Fault{Operation: "GetItem", Do: dynamotest.After(func(dynamotest.Request) { time.Sleep(time.Hour) })})
		guard := lab.NewKeylessGuard(t, s.Store, idempotent.Config{OnlyEnlists: true, ReadFirst: true, Lease: time.Minute})
		_, err := idempotent.Do(context.Background(), guard, "k", func(context.Context) (string, error) {
			t.Error("ran")
			return "", nil
		})
		if !errors.Is(err, idempotent.ErrNotStarted) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want ErrNotStarted", err)
		}
	})
}

func TestTheShortFormLeavesUnfinishedRecordsToTheLongOne(t *testing.T) {
	s := lab.NewShop(t, 10)
	short := lab.NewKeylessGuard(t, s.Store, idempotent.Config{OnlyEnlists: true})
	long := lab.NewKeylessGuard(t, lab.NewStoreOn(t, s.DB), idempotent.Config{})
	_, err := idempotent.Do(t.Context(), long, "k", func(ctx context.Context) (string, error) {
		_, err := idempotent.Do(ctx, short, "k", func(ctx context.Context) (string, error) { return "short", lab.Take(ctx, 1, nil) })
		if !errors.Is(err, idempotent.ErrInProgress) {
			t.Errorf("beside the other form: %v", err)
		}
		return "long", nil
	})
	if err != nil {
		t.Fatal(err)
	}
	out, err := idempotent.Do(t.Context(), short, "k", func(ctx context.Context) (string, error) { return "short", lab.Take(ctx, 1, nil) })
	if err != nil || out != "long" || s.Left() != 10 {
		t.Errorf("got %q, %v, %d left", out, err, s.Left())
	}
}

func TestTheShortFormComparesFingerprints(t *testing.T) {
	s := lab.NewShop(t, 10)
	guard := lab.NewKeylessGuard(t, s.Store, idempotent.Config{OnlyEnlists: true})
	for _, round := range []struct {
		fingerprint string
		want        error
	}{{"a", nil}, {"b", idempotent.ErrMismatch}, {"a", nil}} {
		_, err := idempotent.DoAs(t.Context(), guard, guard.Identity("k", round.fingerprint), func(ctx context.Context) (string, error) {
			return "", lab.Take(ctx, 1, nil)
		})
		if !errors.Is(err, round.want) || s.Left() != 9 {
			t.Errorf("%s: %d left, %v", round.fingerprint, s.Left(), err)
		}
	}
}

// What a step enlists commits with its checkpoint, what its compensation enlists with
// the mark that it is undone.
func TestEnlistedWritesOfStepsCommitWithTheSteps(t *testing.T) {
	s := lab.NewShop(t, 10)
	down := true
	var chargeFails error
	reserveStep := saga.NewStep(saga.Spec[int]{
		Name: "reserve",
		Compensate: func(ctx context.Context, _ saga.Call, boxes int) error {
			if err := lab.Take(ctx, -boxes, nil); err != nil {
				return err
			}
			if down {
				return errBroken // and nothing is given back
			}
			return nil
		},
	})
	guard := lab.NewKeylessGuard(t, s.Store, idempotent.Config{Steps: saga.Steps(reserveStep, lab.Named[string]("charge"))})
	call := func() error {
		_, err := idempotent.Do(t.Context(), guard, "k", func(ctx context.Context) (string, error) {
			_, err := reserveStep.Run(ctx, func(ctx context.Context, _ saga.Call) (int, error) { return 3, lab.Take(ctx, 3, lab.ErrOutOfStock) })
			if err != nil {
				return "", err
			}
			return "", chargeFails
		})
		return err
	}
	for _, round := range []struct {
		fails error
		down  bool
		want  error
		left  int
	}{
		{errBroken, true, saga.ErrPartialSuccess, 7},
		{idempotent.Permanent(errBroken), true, saga.ErrCompensation, 7},
		{errBroken, false, idempotent.ErrPermanent, 10},
		{nil, false, idempotent.ErrPermanent, 10},
	} {
		chargeFails, down = round.fails, round.down
		if err := call(); !errors.Is(err, round.want) || s.Left() != round.left {
			t.Fatalf("%+v: %v, %d left", round, err, s.Left())
		}
	}
}

func TestARefusedWriteOfAStepIsItsError(t *testing.T) {
	s := lab.NewShop(t, 2)
	guard := lab.NewKeylessGuard(t, s.Store, idempotent.Config{Steps: saga.Steps(lab.Named[string]("reserve"))})
	tries := 0
	_, err := idempotent.Do(t.Context(), guard, "k", func(ctx context.Context) (string, error) {
		for {
			_, err := lab.Named[string]("reserve").Run(ctx, func(ctx context.Context, _ saga.Call) (string, error) { return "", lab.Take(ctx, 3, lab.ErrOutOfStock) })
			if err != lab.ErrOutOfStock { //nolint:errorlint // unchanged
				return "", err
			}
			tries++
			s.Stock(10) // and the step may be tried again
		}
	})
	if err != nil || tries != 1 || s.Left() != 7 {
		t.Errorf("%v after %d tries, %d left", err, tries, s.Left())
	}
}

func TestWhatIsEnlistedWithNobodyIsRefused(t *testing.T) {
	s := lab.NewShop(t, 10)
	guard := lab.NewKeylessGuard(t, s.Store, idempotent.Config{})
	memory := lab.NewKeylessGuard(t, persistence.NewMemory(), idempotent.Config{})
	var late context.Context
	_, err := idempotent.Do(t.Context(), guard, "k", func(ctx context.Context) (string, error) {
		late = ctx //nolint:fatcontext // that is the point
		_, err := idempotent.Do(ctx, memory, "k", func(ctx context.Context) (string, error) { return "", lab.Take(ctx, 1, nil) })
		if !errors.Is(err, persistence.ErrNotEnlisted) {
			t.Errorf("in a call whose store has no transactions: %v", err)
		}
		return "", nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, ctx := range map[string]context.Context{"outside": t.Context(), "after the call": late} {
		if err := lab.Take(ctx, 1, nil); !errors.Is(err, persistence.ErrNotEnlisted) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if s.Left() != 10 {
		t.Errorf("%d left", s.Left())
	}
}

func TestUnprotectedWritesCommit(t *testing.T) {
	t.Setenv("IDEMPOTENCY_DISABLED", "1")
	s := lab.NewShop(t, 10)
	for name, config := range map[string]idempotent.Config{
		"long":  {},
		"short": {OnlyEnlists: true},
		"step":  {Steps: saga.Steps(lab.Named[string]("take"))},
	} {
		before := s.Left()
		config.Operation = name
		guard := lab.NewKeylessGuard(t, s.Store, config)
		call := func(boxes int) error {
			_, err := idempotent.Do(t.Context(), guard, "k", func(ctx context.Context) (string, error) {
				if config.Steps == nil {
					return "", lab.Take(ctx, boxes, lab.ErrOutOfStock)
				}
				return lab.Named[string]("take").Run(ctx, func(ctx context.Context, _ saga.Call) (string, error) {
					return "", lab.Take(ctx, boxes, lab.ErrOutOfStock)
				})
			})
			return err
		}
		if err := call(1); err != nil || s.Left() != before-1 {
			t.Errorf("%s: %v, %d left", name, err, s.Left())
		}
		if err := call(100); !errors.Is(err, lab.ErrOutOfStock) || s.Left() != before-1 {
			t.Errorf("%s, refused: %v, %d left", name, err, s.Left())
		}
	}
}

// A reply that is lost, once or for good: the writes are applied once, and whoever is
// told of success is told the truth.
func TestALostReplyDoesNotRepeatEnlistedWrites(t *testing.T) {
	for name, short := range lab.Modes {
		for _, lost := range []int{1, 2, 100} {
			t.Run(fmt.Sprintf("%s, %d lost", name, lost), lab.Bubbled(func(t *testing.T) {
				s := lab.NewShop(t, 10)
				guard := lab.NewKeylessGuard(t, s.Store, idempotent.Config{OnlyEnlists: short})
				call := func() (string, error) {
					return idempotent.Do(t.Context(), guard, "k", func(ctx context.Context) (string, error) {
						return "taken", lab.Take(ctx, 3, lab.ErrOutOfStock)
					})
				}
				s.DB.Inject(dynamotest.Fault{Operation: "TransactWriteItems", Times: lost, Do: dynamotest.LoseReply()})
				_, err := call()
				if failed := err != nil; failed != (lost == 100) || failed && !errors.Is(err, idempotent.ErrStore) {
					t.Fatal(err)
				}
				s.DB.ClearFaults()
				out, err := call()
				if err != nil || out != "taken" || s.Left() != 7 {
					t.Errorf("got %q, %v, %d left", out, err, s.Left())
				}
			}))
		}
	}
}

// Of a transaction without an answer nobody knows whether it was carried out. That a part
// is done is said only where the record has a finished step.
func TestWhatIsSaidOfATransactionWithoutAnAnswer(t *testing.T) {
	for name, test := range map[string]struct {
		steps bool
		want  idempotent.Done
	}{
		"no step was run":    {false, idempotent.DoneMaybe},
		"a step is finished": {true, idempotent.DoneSomething},
	} {
		t.Run(name, lab.Bubbled(func(t *testing.T) {
			shop := lab.NewShop(t, 5)
			guard := lab.NewKeylessGuard(t, shop.Store, idempotent.Config{Steps: saga.Steps(lab.Named[int]("reserve"))})
			_, err := idempotent.Do(within(t, 10*time.Second), guard, "k", func(ctx context.Context) (string, error) {
				if test.steps {
					if _, err := lab.Named[int]("reserve").Run(ctx, func(context.Context, saga.Call) (int, error) { return 1, nil }); err != nil {
						return "", err
					}
				}
				shop.DB.Inject(dynamotest.Fault{Operation: "TransactWriteItems", Times: dynamotest.Always, Do: dynamotest.LoseRequest()})
				return "taken", lab.Take(ctx, 1, lab.ErrOutOfStock)
			})
			if v := idempotent.VerdictOf(err); v.Done != test.want || !v.Retry || v.Code != idempotent.CodeNotStored {
				t.Errorf("%v is judged as %+v, want %v, to be repeated", err, v, test.want)
			}
		}))
	}
}
