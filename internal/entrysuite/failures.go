package entrysuite

import (
	"bytes"
	"context"
	"log/slog"
	"regexp"
	"strings"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/saga"
)

func storeDown(l *lab) {
	a := l.send(l.openOn(new(unreachable), idempotent.Config{}, receipt), order)
	l.wantTold(a, idempotent.CodeStoreFailed, idempotent.DoneNothing, true, "the store is down")
	l.wantRuns(0, "the store is down")
}

func failure(l *lab) {
	fail := true
	d := l.open(idempotent.Config{}, func(context.Context, Request) (string, error) {
		if fail {
			return "", errBroken
		}
		return "receipt", nil
	})
	l.wantFailed(l.send(d, order), "a failure")
	l.wantSettled("a failure")
	fail = false
	l.wantDone(l.send(d, order), "receipt", "the retry")
}

func permanent(l *lab) {
	d := l.open(idempotent.Config{}, func(context.Context, Request) (string, error) {
		return "", idempotent.Permanent(errBroken)
	})
	for range 2 {
		l.wantFailed(l.send(d, order), "a failure for good")
	}
	l.wantRuns(1, "a failure for good")
}

func nested(l *lab) {
	inner, err := idempotent.New(&environment{l.memory}, idempotent.Config{Operation: "inner", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		l.Fatal(err)
	}
	d := l.open(idempotent.Config{}, func(ctx context.Context, _ Request) (string, error) {
		return idempotent.Do(ctx, inner, "", func(context.Context) (string, error) { return "", nil })
	})
	a := l.send(d, order)
	l.wantFailed(a, "an error of a guarded call inside")
	if !l.entry.Mute && a.Verdict.Done != idempotent.DoneMaybe {
		l.fault("an error of a guarded call inside: told that the request did %v", a.Verdict.Done)
	}
}

// Steps of these rules.
var (
	reserving = saga.NewStep(saga.Spec[string]{Name: "reserve"})
	renamed   = saga.NewStep(saga.Spec[string]{Name: "renamed"})
)

// halfway is a function of two steps whose second fails.
func halfway(ctx context.Context, _ Request) (string, error) {
	_, err := reserving.Run(ctx, func(context.Context, saga.Call) (string, error) { return "box", nil })
	if err != nil {
		return "", err
	}
	return "", errBroken
}

func partial(l *lab) {
	c := idempotent.Config{Steps: saga.Steps(reserving)}
	a := l.send(l.open(c, halfway), order)
	l.wantFailed(a, "a failure after a step")
	if !l.entry.Own {
		l.wantTold(a, idempotent.CodePartialSuccess, idempotent.DoneSomething, true, "a failure after a step")
	}
	l.wantDone(l.send(l.open(c, receipt), order), "receipt", "the retry")
	if resumed, taken := l.seen(idempotent.EventResumed), l.seen(idempotent.EventTakenOver); len(resumed) != 1 || len(taken) != 0 {
		l.fault("the retry: %d resumed, %d taken over", len(resumed), len(taken))
	}
}

var stuckLine = regexp.MustCompile(`level=ERROR .*event=stuck .*step=reserve .*code=stuck`)

func stuck(l *lab) {
	l.send(l.open(idempotent.Config{Steps: saga.Steps(reserving)}, halfway), order)
	var log bytes.Buffer
	c := idempotent.Config{Steps: saga.Steps(renamed), Logger: slog.New(slog.NewTextHandler(&log, nil))}
	for range 2 {
		a := l.send(l.open(c, receipt), order)
		l.wantTold(a, idempotent.CodeStuck, idempotent.DoneMaybe, false, "a renamed step")
		if text := log.String(); !stuckLine.MatchString(text) {
			l.fault("a renamed step: logged %s", text)
		}
		log.Reset()
	}
	l.wantRuns(1, "a renamed step")
}

func panicked(l *lab) {
	d := l.open(idempotent.Config{}, func(context.Context, Request) (string, error) { panic(errBroken) })
	func() {
		defer func() {
			if value := recover(); (value == nil) != l.entry.Contains {
				l.fault("a panic: %v went on", value)
			}
		}()
		l.wantFailed(l.send(d, order), "a panic")
	}()
	if records := l.memory.Records(); len(records) > 0 && !l.entry.Durable {
		l.fault("a panic: left %+v", records)
	}
}

func logger(l *lab) {
	l.send(l.open(idempotent.Config{Steps: saga.Steps(reserving)}, halfway), order)
	before := slog.Default()
	defer slog.SetDefault(before)
	var log bytes.Buffer
	c := idempotent.Config{Steps: saga.Steps(renamed), Logger: defaultLogger}
	d := l.open(c, receipt)
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	l.send(d, order)
	if !strings.Contains(log.String(), "event=stuck") {
		l.fault("the logger that main has set got %q", log.String())
	}
}
