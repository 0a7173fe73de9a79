package saga_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
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
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

func TestTokensOfUnprotectedRequestsDiffer(t *testing.T) {
	tokenOf := func(g *idempotent.Guard, key string) (token string) {
		_, err := idempotent.Do(t.Context(), g, key, func(ctx context.Context) (string, error) {
			return lab.Named[string]("charge").Run(ctx, func(ctx context.Context, _ saga.Call) (string, error) {
				call, _ := saga.CallFrom(ctx)
				token = call.Token
				return "", nil
			})
		})
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	t.Run("FailOpen", func(t *testing.T) {
		g := lab.NewKeylessGuard(t, lab.Down(errBroken), idempotent.Config{Steps: saga.Steps(lab.Named[string]("charge")), FailOpen: true})
		other := lab.NewKeylessGuard(t, lab.Down(errBroken), idempotent.Config{Operation: "refund", Steps: saga.Steps(lab.Named[string]("charge")), FailOpen: true})
		up := lab.NewKeylessGuard(t, persistence.NewMemory(), idempotent.Config{Steps: saga.Steps(lab.Named[string]("charge"))})
		ann, bob := tokenOf(g, "ann"), tokenOf(g, "bob")
		if ann == bob {
			t.Errorf("two customers have the token %q", ann)
		}
		if bob == tokenOf(other, "bob") {
			t.Errorf("two operations have the token %q", bob)
		}
		if ann != tokenOf(up, "ann") {
			t.Error("not the same in every attempt")
		}
	})
	t.Run("missing key", func(t *testing.T) {
		g := lab.NewKeylessGuard(t, persistence.NewMemory(), idempotent.Config{Steps: saga.Steps(lab.Named[string]("charge")), RunWithoutKey: true})
		if a, b := tokenOf(g, ""), tokenOf(g, ""); a == b {
			t.Errorf("two requests have the token %q", a)
		}
	})
}

func TestANameOfAFamilyThatTheRecordCannotHold(t *testing.T) {
	for _, name := range []string{"mail/arn:aws:s3:::b", "mail/1:started", "mail/" + strings.Repeat("x", 300), "mail/\xff", "mail/\n"} {
		t.Run(fmt.Sprintf("%.12q", name), func(t *testing.T) {
			lab.OnEveryStore(t, func(t *testing.T, store persistence.Store) {
				g := lab.NewKeylessGuard(t, store, idempotent.Config{Steps: saga.Steps(lab.FamilyNamed[string]("mail/"))})
				call := func() error {
					_, err := idempotent.Do(t.Context(), g, "k", func(ctx context.Context) (string, error) {
						if _, err := lab.Named[string](name).Run(ctx, func(context.Context, saga.Call) (string, error) { return "sent", nil }); err != nil {
							return "", err
						}
						return "", errBroken
					})
					return err
				}
				if err := call(); errors.Is(err, saga.ErrStepMisuse) {
					return // refused before it runs
				}
				t.Error("a step whose name is not allowed has run")
				if err := call(); !errors.Is(err, errBroken) {
					t.Errorf("and the record is now: %v", err)
				}
			})
		})
	}
}

// A name that is the mark of another step: the other step is never undone.
func TestANameThatMarksAnotherStepAsUndone(t *testing.T) {
	store := persistence.NewMemory()
	undone := 0
	payments := saga.NewFamily(saga.Spec[string]{Name: "pay/", Compensate: func(context.Context, saga.Call, string) error { undone++; return nil }})
	g := lab.NewKeylessGuard(t, store, idempotent.Config{Steps: saga.Steps(payments, lab.Named[string]("next"))})
	call := func(failure error) error {
		_, err := idempotent.Do(t.Context(), g, "k", func(ctx context.Context) (string, error) {
			_, err := payments.Step("1").Run(ctx, func(context.Context, saga.Call) (string, error) { return "", nil })
			if err != nil {
				return "", err
			}
			_, err = payments.Step("1:compensated").Run(ctx, func(context.Context, saga.Call) (string, error) { return "", nil })
			return "", errors.Join(err, failure)
		})
		return err
	}
	_ = call(errBroken)
	err := call(idempotent.Permanent(errBroken))
	if undone != 1 {
		t.Errorf("undone %d times: %v; record %v", undone, err, store.Records())
	}
}

func TestTwoSagasAtOnceUndoOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		undone := map[string]int{}
		steps := make(map[string]*saga.Step[string])
		for _, name := range []string{"a", "b"} {
			steps[name] = saga.NewStep(saga.Spec[string]{Name: name, Compensate: func(context.Context, saga.Call, string) error {
				mu.Lock()
				undone[name]++
				mu.Unlock()
				time.Sleep(time.Second)
				return nil
			}})
		}
		g := lab.NewKeylessGuard(t, persistence.NewMemory(), idempotent.Config{Steps: saga.Steps(steps["a"], steps["b"])})
		_, err := idempotent.Do(t.Context(), g, "k", func(ctx context.Context) (string, error) {
			undo := func(name string) error {
				_, err := saga.Run(ctx, func(ctx context.Context) (string, error) {
					_, err := steps[name].Run(ctx, func(context.Context, saga.Call) (string, error) { return "", nil })
					if err != nil {
						return "", err
					}
					time.Sleep(100 * time.Millisecond)
					return "", idempotent.Permanent(errors.New(name))
				})
				return err
			}
			errs := make([]error, 2)
			var group sync.WaitGroup
			group.Go(func() { errs[0] = undo("a") })
			group.Go(func() { time.Sleep(50 * time.Millisecond); errs[1] = undo("b") })
			group.Wait()
			return "", errors.Join(errs...)
		})
		if undone["a"] != 1 || undone["b"] != 1 {
			t.Errorf("undone %v: %v", undone, err)
		}
	})
}

// It is known that the step has not happened: its function said so. The next attempt
// does not know it any more.
func TestADeclinedAtMostOnceStepDoesNotBlockUndoing(t *testing.T) {
	lab.OnEveryStore(t, func(t *testing.T, store persistence.Store) {
		var did diary
		down := true
		reserveStep := saga.NewStep(saga.Spec[string]{Name: "reserve", Compensate: func(context.Context, saga.Call, string) error {
			did.note("undo reserve")
			if down {
				return errBroken
			}
			return nil
		}})
		chargeStep := saga.NewStep(saga.Spec[string]{Name: "charge", AtMostOnce: true, Compensate: func(context.Context, saga.Call, string) error {
			did.note("undo charge")
			return nil
		}})
		g := lab.NewKeylessGuard(t, store, idempotent.Config{Steps: saga.Steps(reserveStep, chargeStep)})
		call := func() error {
			_, err := idempotent.Do(t.Context(), g, "k", func(ctx context.Context) (string, error) {
				if _, err := reserveStep.Run(ctx, func(context.Context, saga.Call) (string, error) { did.note("reserve"); return "", nil }); err != nil {
					return "", err
				}
				return chargeStep.Run(ctx, func(context.Context, saga.Call) (string, error) {
					return "", idempotent.Permanent(errors.New("declined"))
				})
			})
			return err
		}
		if err := call(); !errors.Is(err, saga.ErrCompensation) {
			t.Fatal(err)
		}
		did.wants(t, "reserve", "undo reserve")
		down = false
		err := call()
		if errors.Is(err, saga.ErrCompensation) {
			t.Errorf("stuck for ever: %v", err)
		}
		did.wants(t, "undo reserve")
	})
}

// The decision to go backward could not be recorded, and the function answers all the
// same: the call is completed and nothing is ever undone.
func TestASwallowedCompensationErrorDoesNotComplete(t *testing.T) {
	db, store := lab.NewDynamo(t)
	undone := 0
	reserveStep := saga.NewStep(saga.Spec[string]{Name: "reserve", Compensate: func(context.Context, saga.Call, string) error { undone++; return nil }})
	g := lab.NewKeylessGuard(t, store, idempotent.Config{Steps: saga.Steps(reserveStep), StoreTimeout: 200 * time.Millisecond})
	call := func(drop dynamotest.Effect) (string, error) {
		return idempotent.Do(t.Context(), g, "k", func(ctx context.Context) (string, error) {
			_, err := saga.Run(ctx, func(ctx context.Context) (string, error) {
				_, err := reserveStep.Run(ctx, func(context.Context, saga.Call) (string, error) { return "", nil })
				if err != nil {
					return "", err
				}
				db.Inject(dynamotest.Fault{Operation: "UpdateItem", Times: dynamotest.Always, Do: drop})
				return "", idempotent.Permanent(errBroken)
			})
			db.ClearFaults()
			if errors.Is(err, idempotent.ErrPermanent) {
				return "402", nil // forgot to ask for ErrCompensation first
			}
			return "", err
		})
	}
	out, err := call(dynamotest.LoseRequest())
	if err == nil && undone == 0 {
		r, _, _ := store.Read(t.Context(), "payment#"+strings.Repeat("", 0))
		t.Errorf("completed with %q, undone %d times %v", out, undone, r.Status)
	}
}

func TestUnprotectedCallEndsTheContextOfItsSteps(t *testing.T) {
	t.Setenv("IDEMPOTENCY_DISABLED", "1")
	g := lab.NewKeylessGuard(t, persistence.NewMemory(), idempotent.Config{Steps: saga.Steps(lab.Named[string]("a"), lab.Named[string]("b"))})
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	_, err := idempotent.Do(ctx, g, "k", func(ctx context.Context) (string, error) {
		running := make(chan struct{})
		go func() {
			_, _ = lab.Named[string]("b").Run(ctx, func(ctx context.Context, _ saga.Call) (string, error) {
				close(running)
				<-ctx.Done()
				return "", ctx.Err()
			})
		}()
		<-running
		return "", errBroken
	})
	if ctx.Err() != nil {
		t.Errorf("the call has hung until its deadline: %v", err)
	}
}

func TestSagaEndsTheContextOfItsSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		undone := 0
		aStep := saga.NewStep(saga.Spec[string]{Name: "a", Compensate: func(context.Context, saga.Call, string) error { undone++; return nil }})
		g := lab.NewKeylessGuard(t, persistence.NewMemory(), idempotent.Config{Steps: saga.Steps(aStep, lab.Named[string]("b")), Lease: time.Minute})
		_, err := idempotent.Do(t.Context(), g, "k", func(ctx context.Context) (string, error) {
			return saga.Run(ctx, func(ctx context.Context) (string, error) {
				_, _ = aStep.Run(ctx, func(context.Context, saga.Call) (string, error) { return "", nil })
				go func() {
					_, _ = lab.Named[string]("b").Run(ctx, func(ctx context.Context, _ saga.Call) (string, error) { <-ctx.Done(); return "", ctx.Err() })
				}()
				synctest.Wait()
				return "", idempotent.Permanent(errBroken)
			})
		})
		if undone != 1 {
			t.Errorf("undone %d times after %v: %v", undone, time.Since(start), err)
		}
	})
}

// A step with writes whose reply is lost for good is tried again by the function. What
// it returns must be what was committed.
func TestATriedAgainStepReturnsWhatWasCommitted(t *testing.T) {
	s := lab.NewShop(t, 10)
	g := lab.NewKeylessGuard(t, s.Store, idempotent.Config{Steps: saga.Steps(lab.Named[string]("reserve")), StoreTimeout: 300 * time.Millisecond})
	tries := 0
	out, err := idempotent.Do(t.Context(), g, "k", func(ctx context.Context) (string, error) {
		reserve := func() (string, error) {
			return lab.Named[string]("reserve").Run(ctx, func(ctx context.Context, _ saga.Call) (string, error) {
				tries++
				id := fmt.Sprint("reservation-", tries)
				return id, dynamostore.Enlist(ctx, dynamostore.Write{Put: &types.Put{TableName: aws.String("stock"), Item: map[string]types.AttributeValue{
					"id": &types.AttributeValueMemberS{Value: id},
				}}})
			})
		}
		s.DB.Inject(dynamotest.Fault{Operation: "TransactWriteItems", Times: dynamotest.Always, Do: dynamotest.LoseReply()})
		_, err := reserve()
		s.DB.ClearFaults()
		if err == nil {
			t.Fatal("no error")
		}
		return reserve()
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.DB.Client().GetItem(t.Context(), getStock(out))
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Item) == 0 {
		t.Errorf("the call has completed with %q, and no such row was committed", out)
	}
}

// Reconcile is asked for an output that could not be stored: with what token?
func TestReconcileOfAnOmittedOutputHasAToken(t *testing.T) {
	var tokens []string
	chargeStep := saga.NewStep(saga.Spec[any]{Name: "charge", Reconcile: func(_ context.Context, call saga.Call) (any, bool, error) {
		tokens = append(tokens, call.Token)
		return "found", true, nil
	}})
	g := lab.NewKeylessGuard(t, persistence.NewMemory(), idempotent.Config{Steps: saga.Steps(chargeStep)})
	call := func() error {
		_, err := idempotent.Do(t.Context(), g, "k", func(ctx context.Context) (string, error) {
			if _, err := chargeStep.Run(ctx, func(ctx context.Context, _ saga.Call) (any, error) {
				call, _ := saga.CallFrom(ctx)
				tokens = append(tokens, call.Token)
				return func() {}, nil // can't be stored
			}); err != nil {
				return "", err
			}
			return "", errBroken
		})
		return err
	}
	_ = call()
	_ = call()
	if len(tokens) != 2 || tokens[0] != tokens[1] {
		t.Errorf("tokens %q", tokens)
	}
}

func TestAPanicInOnRefusedReleasesTheRecord(t *testing.T) {
	s := lab.NewShop(t, 0)
	g := lab.NewKeylessGuard(t, s.Store, idempotent.Config{})
	times := 0
	func() {
		defer func() { t.Logf("panicked with %v after %d calls of OnRefused", recover(), times) }()
		_, _ = idempotent.Do(t.Context(), g, "k", func(ctx context.Context) (string, error) {
			return "", dynamostore.Enlist(ctx, dynamostore.Write{
				Update: &types.Update{
					TableName:                 aws.String("stock"),
					Key:                       map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: "box"}},
					UpdateExpression:          aws.String("SET #l = #l - :n"),
					ConditionExpression:       aws.String("#l >= :n"),
					ExpressionAttributeNames:  map[string]string{"#l": "left"},
					ExpressionAttributeValues: map[string]types.AttributeValue{":n": &types.AttributeValueMemberN{Value: "1"}},
				},
				OnRefused: func(map[string]types.AttributeValue) error { times++; panic("in OnRefused") },
			})
		})
	}()
	_, err := idempotent.Do(t.Context(), g, "k", func(context.Context) (string, error) { return "again", nil })
	if err != nil || times != 1 {
		t.Errorf("the next arrival: %v; OnRefused called %d times", err, times)
	}
}

func TestOutputsThatAreDeep(t *testing.T) {
	deep := func(n int) any {
		var v any
		for range n {
			v = []any{v}
		}
		return v
	}
	for _, n := range []int{9998, 9999, 10000, 10001, 20000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			g := lab.NewKeylessGuard(t, persistence.NewMemory(), idempotent.Config{Steps: saga.Steps(lab.Named[any]("a"))})
			ran := 0
			call := func() (err error) {
				defer func() {
					if p := recover(); p != nil {
						err = fmt.Errorf("panic: %.80v", p)
					}
				}()
				_, err = idempotent.Do(t.Context(), g, "k", func(ctx context.Context) (string, error) {
					if _, err := lab.Named[any]("a").Run(ctx, func(context.Context, saga.Call) (any, error) { ran++; return deep(n), nil }); err != nil {
						return "", err
					}
					return "", errBroken
				})
				return err
			}
			first := call()
			second := call()
			if ran != 1 || !errors.Is(first, errBroken) || !errors.Is(second, errBroken) && !errors.Is(second, idempotent.ErrResultNotStored) {
				t.Errorf("ran %d times: %.100v, then %.100v", ran, first, second)
			}
		})
	}
}

func TestAnEnlistmentThatIsOverRefuses(t *testing.T) {
	s := lab.NewShop(t, 10)
	g := lab.NewKeylessGuard(t, s.Store, idempotent.Config{Steps: saga.Steps(lab.Named[string]("a"))})
	var late, lateCall context.Context
	_, _ = idempotent.Do(t.Context(), g, "k", func(ctx context.Context) (string, error) {
		lateCall = ctx //nolint:fatcontext // that is the point
		_, err := lab.Named[string]("a").Run(ctx, func(ctx context.Context, _ saga.Call) (string, error) {
			late = ctx //nolint:fatcontext // that is the point
			return "", errBroken
		})
		if err := lab.Take(late, 1, lab.ErrOutOfStock); !errors.Is(err, persistence.ErrNotEnlisted) {
			t.Errorf("with a step that has failed: %v", err)
		}
		return "", err
	})
	if err := lab.Take(lateCall, 1, lab.ErrOutOfStock); !errors.Is(err, persistence.ErrNotEnlisted) {
		t.Errorf("with a call that has failed: %v", err)
	}
}

// The step's own write was refused for good: it has not happened, and that is known.
func TestARefusedAtMostOnceStepIsNoUnknown(t *testing.T) {
	s := lab.NewShop(t, 0)
	undone := 0
	reserveStep := saga.NewStep(saga.Spec[string]{Name: "reserve", Compensate: func(context.Context, saga.Call, string) error { undone++; return nil }})
	takeStep := saga.NewStep(saga.Spec[string]{Name: "take", AtMostOnce: true, Compensate: func(context.Context, saga.Call, string) error { return nil }})
	g := lab.NewKeylessGuard(t, s.Store, idempotent.Config{Steps: saga.Steps(reserveStep, takeStep)})
	_, err := idempotent.Do(t.Context(), g, "k", func(ctx context.Context) (string, error) {
		if _, err := reserveStep.Run(ctx, func(context.Context, saga.Call) (string, error) { return "", nil }); err != nil {
			return "", err
		}
		return takeStep.Run(ctx, func(ctx context.Context, _ saga.Call) (string, error) {
			return "", lab.Take(ctx, 1, idempotent.Permanent(lab.ErrOutOfStock))
		})
	})
	if errors.Is(err, saga.ErrCompensation) || undone != 1 {
		t.Errorf("undone %d times: %v", undone, err)
	}
}

// fullStore has no room for steps, and can't say so beforehand.
type fullStore struct {
	*persistence.Memory
	full *bool
}

func (s fullStore) Checkpoint(ctx context.Context, l persistence.Lease, step string, output []byte) error {
	if *s.full && !strings.HasPrefix(step, ":") {
		return persistence.ErrTooLarge
	}
	return s.Memory.Checkpoint(ctx, l, step, output)
}

func TestAStepThatDoesNotFitIsStillUndone(t *testing.T) {
	full := false
	var did diary
	step := func(name string) *saga.Step[string] {
		return saga.NewStep(saga.Spec[string]{Name: name, Compensate: func(context.Context, saga.Call, string) error { did.note("undo %s", name); return nil }})
	}
	a, b := step("a"), step("b")
	g := lab.NewKeylessGuard(t, &fullStore{persistence.NewMemory(), &full}, idempotent.Config{Steps: saga.Steps(a, b)})
	_, err := idempotent.Do(t.Context(), g, "k", func(ctx context.Context) (string, error) {
		_, _ = a.Run(ctx, func(context.Context, saga.Call) (string, error) { did.note("a"); return "", nil })
		full = true
		_, err := b.Run(ctx, func(context.Context, saga.Call) (string, error) { did.note("b"); return "", nil })
		if failed, ok := errors.AsType[*saga.StepError](err); !ok || !failed.Executed {
			t.Errorf("error %v", err)
		}
		full = false
		return "", idempotent.Permanent(errBroken)
	})
	if errors.Is(err, saga.ErrCompensation) {
		return // visible at least
	}
	t.Log(err)
	did.wants(t, "a", "b", "undo b", "undo a")
}

// In unwinding, the function calls another guarded operation outside of a step, whose
// own saga is stuck.
func TestAForeignCompensationErrorDoesNotStopUndoing(t *testing.T) {
	undone, down := 0, true
	foreign := &saga.CompensationError{Key: "another#1", Left: []string{"x"}, Err: idempotent.Permanent(errSoldOut), Compensation: errBroken}
	aStep := saga.NewStep(saga.Spec[string]{Name: "a", Compensate: func(context.Context, saga.Call, string) error {
		if down {
			return errBroken
		}
		undone++
		return nil
	}})
	g := lab.NewKeylessGuard(t, persistence.NewMemory(), idempotent.Config{Steps: saga.Steps(aStep)})
	call := func() error {
		_, err := idempotent.Do(t.Context(), g, "k", func(ctx context.Context) (string, error) {
			_, err := aStep.Run(ctx, func(context.Context, saga.Call) (string, error) { return "", nil })
			if err != nil {
				return "", err
			}
			if down {
				return "", idempotent.Permanent(errBroken)
			}
			return "", foreign // what an inner guarded call has returned
		})
		return err
	}
	_ = call()
	down = false
	err := call()
	if undone != 1 {
		t.Errorf("undone %d times: %v", undone, err)
	}
}

// Unprotected, the writes of a call that has failed for good and was undone.
func TestUnprotectedWritesOfAnUndoneCallAreNotCommitted(t *testing.T) {
	t.Setenv("IDEMPOTENCY_DISABLED", "1")
	s := lab.NewShop(t, 10)
	fails := true
	aStep := saga.NewStep(saga.Spec[string]{Name: "a", Compensate: func(context.Context, saga.Call, string) error {
		if fails {
			fails = false
			return errBroken
		}
		return nil
	}})
	g := lab.NewKeylessGuard(t, s.Store, idempotent.Config{Steps: saga.Steps(aStep)})
	_, err := idempotent.Do(t.Context(), g, "k", func(ctx context.Context) (string, error) {
		if err := lab.Take(ctx, 1, lab.ErrOutOfStock); err != nil {
			return "", err
		}
		_, err := saga.Run(ctx, func(ctx context.Context) (string, error) {
			_, err := aStep.Run(ctx, func(context.Context, saga.Call) (string, error) { return "", nil })
			return "", errors.Join(err, idempotent.Permanent(errSoldOut))
		})
		if errors.Is(err, idempotent.ErrPermanent) {
			return "402", nil
		}
		return "", err
	})
	if err != nil && s.Left() != 10 {
		t.Errorf("the call has failed (%v), and its writes are there: %d left", err, s.Left())
	}
}

// marshalPanics is an output whose encoding panics.
type marshalPanics struct{ A int }

func (marshalPanics) MarshalJSON() ([]byte, error) { panic("in MarshalJSON") }

// As for results: what comes after the effect must not make it run again.
func TestAnOutputWhoseEncodingPanicsDoesNotRepeatItsStep(t *testing.T) {
	g := lab.NewKeylessGuard(t, persistence.NewMemory(), idempotent.Config{Steps: saga.Steps(lab.Named[marshalPanics]("a"))})
	ran := 0
	for range 2 {
		func() {
			defer func() { _ = recover() }()
			_, _ = idempotent.Do(t.Context(), g, "k", func(ctx context.Context) (string, error) {
				_, err := lab.Named[marshalPanics]("a").Run(ctx, func(context.Context, saga.Call) (marshalPanics, error) { ran++; return marshalPanics{1}, nil })
				return "", err
			})
		}()
	}
	if ran != 1 {
		t.Errorf("ran %d times", ran)
	}
}

// With a store that is down, FailOpen gives the result in the long form.
func TestTheShortFormFailsOpenAsTheLongOne(t *testing.T) {
	for name, short := range lab.Modes {
		t.Run(name, func(t *testing.T) {
			s := lab.NewShop(t, 10)
			g := lab.NewKeylessGuard(t, s.Store, idempotent.Config{OnlyEnlists: short, FailOpen: true, StoreTimeout: 200 * time.Millisecond})
			s.DB.Inject(dynamotest.Fault{Operation: "PutItem", Times: dynamotest.Always, Do: dynamotest.LoseRequest()})
			ran := 0
			out, err := idempotent.Do(t.Context(), g, "k", func(context.Context) (string, error) { ran++; return "answer", nil })
			if err != nil || out != "answer" {
				t.Errorf("ran %d times, %q, %v", ran, out, err)
			}
		})
	}
}

// The input of a step has changed when the call is undone: what was done for the other one
// is undone all the same.
func TestAStepIsUndoneWhateverInputTheNextAttemptHas(t *testing.T) {
	n, undone := 0, 0
	step := saga.NewStep(saga.Spec[string]{Name: "a", Compensate: func(context.Context, saga.Call, string) error {
		if undone++; undone == 1 {
			return errBroken
		}
		return nil
	}})
	g := lab.NewKeylessGuard(t, persistence.NewMemory(), idempotent.Config{Steps: saga.Steps(step)})
	var err error
	for range 2 {
		_, err = idempotent.Do(t.Context(), g, "k", func(ctx context.Context) (string, error) {
			n++
			_, err := step.RunFor(ctx, n, func(context.Context, saga.Call) (string, error) { return "", nil })
			return "", errors.Join(err, idempotent.Permanent(errSoldOut))
		})
	}
	if errors.Is(err, saga.ErrCompensation) || !errors.Is(err, idempotent.ErrPermanent) || undone != 2 {
		t.Errorf("error %v, undone %d times", err, undone)
	}
}

// A branch of the function goes on calling steps while the call is being undone. They
// are refused, and must not take the process down ("concurrent map iteration and map
// write" is fatal).
func TestStepsBesideUndoingAreRefusedQuietly(t *testing.T) {
	parts := saga.NewFamily(saga.Spec[int]{Name: "part/", Compensate: func(context.Context, saga.Call, int) error {
		runtime.Gosched()
		return nil
	}})
	g := lab.NewKeylessGuard(t, persistence.NewMemory(), idempotent.Config{Steps: saga.Steps(parts)})
	stop := make(chan struct{})
	over := make(chan struct{})
	_, err := idempotent.Do(t.Context(), g, "k", func(ctx context.Context) (string, error) {
		part := func(ctx context.Context, i int) error {
			_, err := parts.Step(fmt.Sprint(i)).Run(ctx, func(context.Context, saga.Call) (int, error) { return i, nil })
			return err
		}
		for i := range 200 {
			if err := part(ctx, i); err != nil {
				return "", err
			}
		}
		go func() {
			defer close(over)
			for i := 200; ; i++ {
				select {
				case <-stop:
					return
				default:
					_ = part(ctx, 1000+i)
				}
			}
		}()
		return "", idempotent.Permanent(errBroken)
	})
	close(stop)
	<-over
	if !errors.Is(err, errBroken) || errors.Is(err, saga.ErrCompensation) {
		t.Error(err)
	}
}

// A deployment adds a Compensate to a step that open calls have finished.
func TestACompensationThatWasAddedByADeploymentRuns(t *testing.T) {
	store := persistence.NewMemory()
	var did diary
	for i, compensate := range []func(context.Context, saga.Call, string) error{nil, func(context.Context, saga.Call, string) error { did.note("undo a"); return nil }} {
		aStep := saga.NewStep(saga.Spec[string]{Name: "a", Compensate: compensate})
		g := lab.NewKeylessGuard(t, elsewhere(store), idempotent.Config{Steps: saga.Steps(aStep)})
		_, err := idempotent.Do(t.Context(), g, "k", func(ctx context.Context) (string, error) {
			_, err := aStep.Run(ctx, func(context.Context, saga.Call) (string, error) { did.note("a"); return "", nil })
			if i == 0 {
				return "", errBroken
			}
			return "", errors.Join(err, idempotent.Permanent(errSoldOut))
		})
		t.Log(err)
	}
	did.wants(t, "a", "undo a")
}

// The guarded call ends while a saga in another goroutine is undoing: the guard undoes
// the same step beside it.
func TestTheCallWaitsForSagasUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var did diary
		aStep := saga.NewStep(saga.Spec[string]{Name: "a", Compensate: func(context.Context, saga.Call, string) error {
			did.note("undo a")
			time.Sleep(time.Second)
			return nil
		}})
		g := lab.NewKeylessGuard(t, persistence.NewMemory(), idempotent.Config{Steps: saga.Steps(aStep)})
		_, err := idempotent.Do(t.Context(), g, "k", func(ctx context.Context) (string, error) {
			go func() {
				_, _ = saga.Run(ctx, func(ctx context.Context) (string, error) {
					_, err := aStep.Run(ctx, func(context.Context, saga.Call) (string, error) { return "", nil })
					return "", errors.Join(err, idempotent.Permanent(errSoldOut))
				})
			}()
			synctest.Wait() // it is undoing
			return "", errBroken
		})
		t.Log(err)
		time.Sleep(time.Minute)
		did.wants(t, "undo a")
	})
}

func getStock(id string) *dynamodb.GetItemInput {
	return &dynamodb.GetItemInput{TableName: aws.String("stock"), Key: map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: id}}}
}
