package idempotenttest

import (
	"fmt"
	"log"
	"log/slog"
	"testing"
	"testing/synctest"
)

// Prove plays a function through everything that the toolkit promises to withstand, in
// virtual time, and compares its answers with its books: see the package documentation for
// the cases and the promises. Each kind of cases is a subtest. One that fails tells the
// simplest case that breaks a promise as a story, and how many there are.
//
// What is logged by [slog.Default] and package log is dropped meanwhile: there would be
// thousands of lines, of what is meant to go wrong.
func Prove(t *testing.T, f Function) {
	t.Helper()
	silence(t)
	p, failed := rehearse(t, f)
	if failed != nil {
		t.Fatal(failed)
	}
	told := make(map[promise]bool)
	for _, kind := range families {
		t.Run(kind.name, func(t *testing.T) {
			found, cases := p.search(t, kind)
			if len(found) == 0 {
				t.Logf("%d cases", cases)
				return
			}
			smallest := found[0]
			if told[smallest.breach.promise] {
				t.Errorf("%d of %d cases break a promise, the first of them where %s: %v", len(found), cases, smallest.name, smallest.breach.text)
				return
			}
			told[smallest.breach.promise] = true
			t.Errorf("%d of %d cases break a promise. The first:\n%v", len(found), cases, smallest)
		})
	}
}

// silence drops what is logged until the test is over.
func silence(t *testing.T) {
	t.Helper()
	logger, output, flags := slog.Default(), log.Writer(), log.Flags()
	slog.SetDefault(slog.New(slog.DiscardHandler))
	t.Cleanup(func() {
		slog.SetDefault(logger)
		log.SetOutput(output) // SetDefault has redirected both
		log.SetFlags(flags)
	})
}

// failure is a case that breaks a promise.
type failure struct {
	name   string
	breach *breach
	story  string
}

// String tells it as a story.
func (f *failure) String() string {
	text := fmt.Sprintf("\nBroken: %s.\nWhere:  %s.\nSeen:   %s.\n", f.breach.promise, f.name, f.breach.text)
	if f.breach.hint != "" {
		text += fmt.Sprintf("Hint:   %s.\n", f.breach.hint)
	}
	return text + "\n" + f.story
}

// rehearse runs the function without any fault, to learn what it does.
func rehearse(t *testing.T, f Function) (p *plan, failed *failure) {
	t.Helper()
	f, err := f.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	p = &plan{function: f}
	failed = p.play(t, scenario{"nothing goes wrong", func(d *director) {
		e := d.Start()
		a := d.begin(e).Wait()
		p.once = d.Books().since(d.before)
		p.crossings = e.current().seen
		switch {
		case !f.Settled(a):
			d.fail(notLocked, "nothing goes wrong, and the request is not done")
			d.breach.hint = "see Function.Settled for what counts as done"
		case len(p.once) == 0:
			d.fail(noClaim, "the request is done, and nothing has changed in the books")
			d.breach.hint = "see Function.Books for what counts as an effect"
		case len(d.db.Items(f.Records.Table)) == 0:
			d.fail(guarded, "there is no record in the table %s", f.Records.Table)
			d.breach.hint = "see Function.Records for the table"
		}
	}})
	if failed == nil && f.Other != nil {
		failed = p.alone(t)
	}
	return p, failed
}

// alone runs the other request on its own: what it does then is what it has to do.
func (p *plan) alone(t *testing.T) *failure {
	t.Helper()
	return p.play(t, scenario{"another request comes alone", func(d *director) {
		a := d.Start().begin("another request", d.function.Other).Wait()
		if p.other = d.Books().since(d.before); !d.function.Settled(a) || len(p.other) == 0 {
			d.fail(notTaken, "the other request is not done, or has changed nothing in the books")
		}
	}})
}

// search plays the cases of a kind and returns those that break a promise.
func (p *plan) search(t *testing.T, kind family) (found []*failure, cases int) {
	t.Helper()
	all := kind.cases(p)
	for _, s := range all {
		if failed := p.play(t, s); failed != nil {
			found = append(found, failed)
		}
	}
	return found, len(all)
}

// play plays a case in a world of its own. One that breaks a promise is played again
// with less around it, for a shorter story.
func (p *plan) play(t *testing.T, s scenario) *failure {
	t.Helper()
	failed := p.stage(t, s, false)
	if failed == nil {
		return nil
	}
	if shorter := p.stage(t, s, true); shorter != nil && shorter.breach.promise == failed.breach.promise {
		return shorter
	}
	return failed
}

func (p *plan) stage(t *testing.T, s scenario, short bool) (failed *failure) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, p.function)
		defer w.end()
		d := newDirector(w, p.once)
		d.short = short
		if s.play(d); d.breach != nil {
			failed = &failure{name: s.name, breach: d.breach, story: w.Told()}
		}
	})
	return failed
}
