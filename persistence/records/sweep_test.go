package records_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/records"
)

// swept is what a sweep tells of its cases, shortly.
func swept(t *testing.T, store persistence.Store, s records.Sweep) (cases []string, sum records.Swept, err error) {
	t.Helper()
	desk := newDesk(t, store, records.Config{Now: time.Now})
	s.Observe = func(_ context.Context, c records.Case) {
		cases = append(cases, strings.TrimSpace(string(c.Fate)+" "+c.Why))
	}
	if s.Abandon == nil {
		s.Abandon = func(context.Context, records.Case) error { return nil }
	}
	sum, err = desk.Sweep(t.Context(), s)
	return cases, sum, err
}

const theEvent = `{"id":"o-1"}`

// TestASweepResumesWhatMayBeResumed looks at a request in every state that it may be stuck in, and
// at what keeps one from being sent.
func TestASweepResumesWhatMayBeResumed(t *testing.T) {
	failing := errors.New("the provider is down")
	for name, c := range map[string]struct {
		first  func(c *checkout)    // how the first run ends
		quiet  time.Duration        // since then; 20 minutes by default
		then   func(c *checkout)    // what has changed since
		sweep  func(*records.Sweep) // set otherwise
		want   string
		did    []string // in all
		events int      // that were sent
	}{
		"a step that may have happened, sent all the same": {
			first: func(c *checkout) { c.charging = func() error { return failing } },
			then:  func(c *checkout) { c.charging = func() error { return nil } },
			sweep: func(s *records.Sweep) { s.SendUnknown = true },
			want:  "left", did: []string{"reserved"}, events: 1, // the step refuses to run
		},
		"a step that may have happened": {
			first: func(c *checkout) { c.charging = func() error { return failing } },
			want:  "abandoned unknown", did: []string{"reserved"},
		},
		"failed behind its steps": {
			first: func(c *checkout) { c.after = failing },
			then:  func(c *checkout) { c.after = nil },
			want:  "ended", did: []string{"reserved", "charged"}, events: 1,
		},
		"still failing": {
			first: func(c *checkout) { c.after = failing },
			want:  "left", did: []string{"reserved", "charged"}, events: 1,
		},
		"failed for good now": {
			first: func(c *checkout) { c.after = failing },
			then:  func(c *checkout) { c.after = idempotent.Permanent(failing) },
			want:  "ended", did: []string{"reserved", "charged", "put back"}, events: 1,
		},
		"its client may come back": {
			first: func(c *checkout) { c.after = failing }, quiet: 16 * time.Minute,
			sweep: func(s *records.Sweep) { s.After = time.Hour },
			want:  "left", did: []string{"reserved", "charged"},
		},
		"not stuck yet": {
			first: func(c *checkout) { c.after = failing }, quiet: 10 * time.Minute,
			did: []string{"reserved", "charged"},
		},
		"run too often": {
			first: func(c *checkout) { c.after = failing },
			sweep: func(s *records.Sweep) { s.MaxAttempts = 1 },
			want:  "abandoned attempts", did: []string{"reserved", "charged"},
		},
		"too old": {
			first: func(c *checkout) { c.after = failing },
			sweep: func(s *records.Sweep) { s.MaxAge = 19 * time.Minute },
			want:  "abandoned age", did: []string{"reserved", "charged"},
		},
		"about to expire": {
			first: func(c *checkout) { c.after = failing }, quiet: 24*time.Hour - 5*time.Minute,
			want: "abandoned expires", did: []string{"reserved", "charged"},
		},
		"expired": {
			first: func(c *checkout) { c.after = failing }, quiet: 25 * time.Hour,
			did: []string{"reserved", "charged"},
		},
		"no function": {
			first: func(c *checkout) { c.after = failing },
			sweep: func(s *records.Sweep) {
				s.Send = func(context.Context, records.Record, []byte) error { return records.ErrNoFunction }
			},
			want: "abandoned no_function", did: []string{"reserved", "charged"},
		},
		"not reached": {
			first: func(c *checkout) { c.after = failing },
			sweep: func(s *records.Sweep) {
				s.Send = func(context.Context, records.Record, []byte) error { return errors.New("throttled") }
			},
			want: "left", did: []string{"reserved", "charged"},
		},
		"another key by now": {
			first: func(c *checkout) { c.after = failing },
			sweep: func(s *records.Sweep) {
				s.Send = func(context.Context, records.Record, []byte) error {
					return fmt.Errorf("%w: KeyError", records.ErrFunctionFailed)
				}
			},
			want: "abandoned refused", did: []string{"reserved", "charged"},
		},
		"answered, and not touched": {
			first: func(c *checkout) { c.after = failing },
			sweep: func(s *records.Sweep) {
				s.Send = func(context.Context, records.Record, []byte) error { return nil }
			},
			want: "abandoned refused", did: []string{"reserved", "charged"},
		},
		"another operation's": {
			first: func(c *checkout) { c.after = failing },
			sweep: func(s *records.Sweep) { s.Operation = "order" },
			did:   []string{"reserved", "charged"},
		},
		"in another part": {
			first: func(c *checkout) { c.after = failing },
			sweep: func(s *records.Sweep) { s.Part, s.Parts = 1, 2 },
			did:   []string{"reserved", "charged"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := persistence.NewMemory()
				first := newCheckout(t, store)
				c.first(first)
				_ = first.invoke(t.Context(), []byte(theEvent))
				if c.quiet == 0 {
					c.quiet = 20 * time.Minute
				}
				time.Sleep(c.quiet)
				if c.then != nil {
					c.then(first)
				}
				sent := 0
				s := records.Sweep{Send: func(ctx context.Context, r records.Record, event []byte) error {
					sent++
					if r.Key == "" || string(event) != theEvent {
						t.Errorf("%q is sent for %+v", event, r)
					}
					if err := first.invoke(ctx, event); err != nil {
						return fmt.Errorf("%w: %w", records.ErrFunctionFailed, err)
					}
					return nil
				}}
				if c.sweep != nil {
					c.sweep(&s)
				}
				cases, sum, err := swept(t, store, s)
				if got := strings.Join(cases, ", "); err != nil || got != c.want || sent != c.events {
					t.Errorf("it comes to %q (%v) after %d events, want %q after %d; %+v", got, err, sent, c.want, c.events, sum)
				}
				if !slices.Equal(first.did, c.did) {
					t.Errorf("it has %q, want %q", first.did, c.did)
				}
			})
		})
	}
}

// TestASweepKeepsToItsLimits has ten requests that died, and none of them ever ends.
func TestASweepKeepsToItsLimits(t *testing.T) {
	for name, c := range map[string]struct {
		sweep  records.Sweep
		time   time.Duration // of the context; none by default
		sent   int
		partly bool
	}{
		"all":             {sweep: records.Sweep{}, sent: 10},
		"three events":    {sweep: records.Sweep{Limit: 3}, sent: 3, partly: true},
		"a slow function": {sweep: records.Sweep{Pause: time.Minute, Slowest: 10 * time.Second}, time: 5 * time.Minute, sent: 5, partly: true},
		"no time at all":  {sweep: records.Sweep{}, time: 10 * time.Second, sent: 0, partly: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := persistence.NewMemory()
				for n := range 10 {
					claimed := claim(fmt.Sprintf("payment#%d", n), "owner", time.Now())
					claimed.Event = []byte(theEvent)
					if _, err := store.Acquire(t.Context(), claimed); err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(20 * time.Minute)
				desk := newDesk(t, store, records.Config{Now: time.Now})
				ctx := t.Context()
				if c.time > 0 {
					limited, cancel := context.WithTimeout(ctx, c.time)
					defer cancel()
					ctx = limited
				}
				var last time.Time
				sent := 0
				c.sweep.Send = func(context.Context, records.Record, []byte) error {
					if pause := max(c.sweep.Pause, time.Second); sent > 0 && time.Since(last) < pause {
						t.Errorf("it has sent two within %v", time.Since(last))
					}
					sent, last = sent+1, time.Now()
					return errors.New("not reached")
				}
				c.sweep.Abandon = func(context.Context, records.Case) error { return nil }
				sum, err := desk.Sweep(ctx, c.sweep)
				if err != nil || sent != c.sent || sum.Sent != sent || sum.Partly != c.partly {
					t.Errorf("%d events were sent, want %d: %+v, %v", sent, c.sent, sum, err)
				}
			})
		})
	}
}

// TestASweepWithoutEventsReports tells of each request once a sweep, and fails where it can't.
func TestASweepWithoutEventsReports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := persistence.NewMemory()
		for _, key := range []string{"payment#1", "payment#2"} {
			if _, err := store.Acquire(t.Context(), claim(key, "owner", time.Now())); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(20 * time.Minute)
		down := errors.New("the queue is down")
		var told []string
		cases, sum, err := swept(t, store, records.Sweep{
			Send: func(context.Context, records.Record, []byte) error { t.Error("something is sent"); return nil },
			Abandon: func(_ context.Context, c records.Case) error {
				told = append(told, c.Record.Key+" "+c.Why)
				return down
			},
		})
		slices.Sort(told)
		if want := []string{"payment#1 no_event", "payment#2 no_event"}; !slices.Equal(told, want) || len(cases) != 2 || sum.Abandoned != 2 {
			t.Errorf("it tells of %q (%+v)", told, sum)
		}
		if !errors.Is(err, down) || strings.Count(err.Error(), "payment#") != 2 {
			t.Errorf("it ends with %v", err)
		}
	})
}

func TestASweepThatCanNotBeIsRefused(t *testing.T) {
	desk := newDesk(t, persistence.NewMemory(), records.Config{})
	send := func(context.Context, records.Record, []byte) error { return nil }
	abandon := func(context.Context, records.Case) error { return nil }
	for name, s := range map[string]records.Sweep{
		"no Send":           {Abandon: abandon},
		"no Abandon":        {Send: send},
		"a negative limit":  {Send: send, Abandon: abandon, Limit: -1},
		"a negative pause":  {Send: send, Abandon: abandon, Pause: -1},
		"no such part":      {Send: send, Abandon: abandon, Part: 2, Parts: 2},
		"a negative budget": {Send: send, Abandon: abandon, MaxUnits: -1},
	} {
		if _, err := desk.Sweep(t.Context(), s); !errors.Is(err, records.ErrConfig) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAFunctionWithAnotherKeyRefusesWhatIsToBeResumed: it would do again what is done.
func TestAFunctionWithAnotherKeyRefusesWhatIsToBeResumed(t *testing.T) {
	for name, c := range map[string]struct {
		now  idempotent.Config // of the function, when it is resumed
		runs bool
	}{
		"as it was":         {idempotent.Config{Operation: "payment", Key: idempotency.MustJMESPath("id"), KeepEvent: true}, true},
		"another Key":       {idempotent.Config{Operation: "payment", Key: idempotency.MustJMESPath("number"), KeepEvent: true}, false},
		"no events kept":    {idempotent.Config{Operation: "payment", Key: idempotency.MustJMESPath("number")}, false},
		"another Operation": {idempotent.Config{Operation: "charge", Key: idempotency.MustJMESPath("id"), KeepEvent: true}, false},
		"a Key that fails":  {idempotent.Config{Operation: "payment", Key: idempotency.MustJMESPath("missing"), RunWithoutKey: true}, false},
	} {
		key, err := idempotency.MustJMESPath("id").Key("payment", []byte(`{"id":"o-1","number":7}`))
		if err != nil {
			t.Fatal(err)
		}
		guard, err := idempotent.New(persistence.NewMemory(), c.now)
		if err != nil {
			t.Fatal(err)
		}
		inner, err := idempotent.New(persistence.NewMemory(), idempotent.Config{Operation: "inner"})
		if err != nil {
			t.Fatal(err)
		}
		ran := false
		handler := guard.Handler(func(ctx context.Context) error {
			ran = true
			return inner.Do(ctx, "a call of another operation", func(context.Context) error { return nil })
		})
		ctx := lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{ClientContext: clientContext(t, records.ClientContext(key))})
		_, err = handler.Invoke(ctx, []byte(`{"id":"o-1","number":7}`))
		if ran != c.runs || (err == nil) != c.runs || !c.runs && !errors.Is(err, idempotent.ErrKey) {
			t.Errorf("%s: it has run: %t, and ends with %v", name, ran, err)
		}
	}
}

// clientContext reads a header as the runtime does.
func clientContext(t *testing.T, header string) (c lambdacontext.ClientContext) {
	t.Helper()
	content, err := base64.StdEncoding.DecodeString(header)
	if err == nil {
		err = json.Unmarshal(content, &c)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// What to invoke a function with, so that it resumes this record or nothing.
func ExampleClientContext() {
	header := records.ClientContext("payment#00d5c8b7")
	content, err := base64.StdEncoding.DecodeString(header)
	fmt.Println("X-Amz-Client-Context:", header)
	fmt.Println(string(content), err)
	// Output:
	// X-Amz-Client-Context: eyJjdXN0b20iOnsiaWRlbXBvdGVuY3ktcmVjb3JkLWtleSI6InBheW1lbnQjMDBkNWM4YjcifX0=
	// {"custom":{"idempotency-record-key":"payment#00d5c8b7"}} <nil>
}
