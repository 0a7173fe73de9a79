// Package entrysuite holds the rules that every way into a guard must keep, in a form that
// can be run: which request it is, how long its function may take, what its caller is told,
// and what becomes of its record. An entry point is one row of a table, a rule one column;
// a new entry point gets all rules by adding its row.
//
// The suite is itself tested against entry points that are broken on purpose.
package entrysuite

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/persistence"
)

// Request is a request in no entry point's terms.
type Request struct {
	Key     string
	Content string // that must not differ between the tries of a key
	// Raw, if set, is the JSON payload in place of one of Key and Content, for entry points
	// that select from one.
	Raw string
}

// Function is the guarded function, the same behind every entry point.
type Function func(ctx context.Context, r Request) (string, error)

// Answer is what came of a request, in no entry point's terms.
type Answer struct {
	// Result of the function, or of its replay; empty where the entry point gives none.
	Result string
	// Failed says that the sender is told of a failure, or is to send the request again.
	Failed bool
	// Verdict is what the sender is told, where it is told more than that.
	Verdict idempotent.Verdict
}

// DoneOf reads what a sender is told in a word. A word that is none says the least.
func DoneOf(word string) idempotent.Done {
	for _, done := range []idempotent.Done{idempotent.DoneNothing, idempotent.DoneSomething, idempotent.DoneAll} {
		if done.String() == word {
			return done
		}
	}
	return idempotent.DoneMaybe
}

// Door takes requests through an entry point.
type Door func(ctx context.Context, r Request) Answer

// Entry is an entry point.
type Entry struct {
	Name string
	// Open guards the function. Config has Operation, Key and Fingerprint where the entry
	// point takes them.
	Open func(t testing.TB, store persistence.Store, c idempotent.Config, fn Function) Door
	// Keyless says that the entry point makes its own keys, and refuses a guard with one.
	Keyless bool
	// Selects says that the key is selected from a JSON payload.
	Selects bool
	// Silent says that senders get no results.
	Silent bool
	// Mute says that senders are told only that a request has failed, and nothing else.
	Mute bool
	// Own says that a failure of the function is answered by the function itself.
	Own bool
	// Contains says that a panic of the function is this request's failure only.
	Contains bool
	// Durable says that a request is an execution of a durable function, which goes on after
	// a panic under its own record.
	Durable bool
	// Stepless says that the function can't have steps.
	Stepless bool
}

// Rule is something that every entry point has to do.
type Rule struct {
	Name  string
	holds func(*lab)
	// applies tells whether it is a rule for this entry point; nil is for all.
	applies func(Entry) bool
}

// Check runs all rules on an entry point, and reports each that is broken.
func Check(t *testing.T, e Entry) {
	t.Helper()
	for _, rule := range Rules() {
		t.Run(rule.Name, func(t *testing.T) {
			for _, problem := range Broken(t, rule, e) {
				t.Error(problem)
			}
		})
	}
}

// Broken says how an entry point breaks a rule, if it does, and if it is one for it.
func Broken(t *testing.T, rule Rule, e Entry) (problems []string) {
	t.Helper()
	if rule.applies != nil && !rule.applies(e) {
		return nil
	}
	t.Setenv("IDEMPOTENCY_DISABLED", "")
	synctest.Test(t, func(t *testing.T) {
		l := &lab{T: t, entry: e, memory: persistence.NewMemory()}
		rule.holds(l)
		problems = l.problems
	})
	return problems
}

// lab is where a rule is tried out: a table, and the function's books.
type lab struct {
	*testing.T
	entry  Entry
	memory *persistence.Memory

	mu       sync.Mutex
	problems []string
	events   []idempotent.Event
	runs     int
}

func (l *lab) fault(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.problems = append(l.problems, fmt.Sprintf(format, args...))
}

// open opens the entry point on the lab's table, as another environment each time.
func (l *lab) open(c idempotent.Config, fn Function) Door {
	return l.openOn(&environment{Memory: l.memory}, c, fn)
}

// defaultLogger stands for none: the one that main has set.
var defaultLogger = slog.New(slog.DiscardHandler)

// environment is the table as one environment has it.
type environment struct{ *persistence.Memory }

func (l *lab) openOn(store persistence.Store, c idempotent.Config, fn Function) Door {
	l.Helper()
	c.Operation = "order"
	switch c.Logger {
	case nil:
		c.Logger = slog.New(slog.DiscardHandler)
	case defaultLogger:
		c.Logger = nil
	}
	if !l.entry.Keyless {
		c.Key = byID
	}
	c.Observe = func(_ context.Context, e idempotent.Event) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.events = append(l.events, e)
	}
	return l.entry.Open(l.T, store, c, func(ctx context.Context, r Request) (string, error) {
		l.mu.Lock()
		l.runs++
		l.mu.Unlock()
		return fn(ctx, r)
	})
}

// seen returns the events of a kind.
func (l *lab) seen(kind idempotent.EventKind) (events []idempotent.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.events {
		if e.Kind == kind {
			events = append(events, e)
		}
	}
	return events
}

// wantRuns says if the function has run any other number of times.
func (l *lab) wantRuns(want int, when string) {
	l.mu.Lock()
	runs := l.runs
	l.mu.Unlock()
	if runs != want {
		l.fault("%s: the function has run %d times, want %d", when, runs, want)
	}
}

// wantSettled says if a record is still PROCESSING.
func (l *lab) wantSettled(when string) {
	for _, r := range l.memory.Records() {
		if r.Status == persistence.StatusProcessing {
			l.fault("%s: the record of %s is %s", when, r.Key, r.Status)
		}
	}
}

// wantDone says if a request was not answered with a result.
func (l *lab) wantDone(a Answer, result, when string) {
	if a.Failed || !l.entry.Silent && a.Result != result {
		l.fault("%s: answered %+v, want %q", when, a, result)
	}
}

// wantFailed says if a request was not answered with a failure.
func (l *lab) wantFailed(a Answer, when string) {
	if !a.Failed {
		l.fault("%s: answered %+v, want a failure", when, a)
	}
}

// wantTold says if the sender was not told this verdict, where it is told any.
func (l *lab) wantTold(a Answer, code idempotent.Code, done idempotent.Done, retry bool, when string) {
	l.wantFailed(a, when)
	if v := a.Verdict; !l.entry.Mute && (v.Code != code || v.Done != done || v.Retry != retry) {
		l.fault("%s: told %s, done %v, retry %v; want %s, done %v, retry %v", when, v.Code, v.Done, v.Retry, code, done, retry)
	}
}
