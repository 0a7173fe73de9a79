package origin_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/ikkai-go/idempotency/idempotent/internal/origin"
)

type mark = origin.Mark

type busyError struct {
	mark

	key string
}

var errBusy = errors.New("busy")

func (e *busyError) Error() string { return "busy: " + e.key }

func (e *busyError) Is(target error) bool { return target == errBusy || e.mark.Is(target) }

// A user's error that has one of ours inside.
type userError struct{ *busyError }

// Another has it as a part of itself, and more besides.
type largerError struct {
	busyError

	Once sync.Once
}

func TestWhatIsPassedOnIsACopyThatSaysSo(t *testing.T) {
	shared := &busyError{key: "a"}
	passed := origin.PassOn(shared, "k")
	again := origin.PassOn(passed, "k2")
	if !origin.IsOwn(shared) || origin.IsOwn(passed) || origin.IsOwn(again) {
		t.Errorf("own: the original %v, passed on %v, passed on again %v", origin.IsOwn(shared), origin.IsOwn(passed), origin.IsOwn(again))
	}
	for _, err := range []error{passed, again} {
		if own, same := err.(*busyError); !same || own.key != "a" { //nolint:errorlint // as it is
			t.Errorf("passed on as a %T, %v", err, err)
		}
		if !errors.Is(err, errBusy) {
			t.Errorf("%v is no %v", err, errBusy)
		}
	}
	for _, err := range []error{passed, again, origin.PassOn(again, "k3")} {
		if !errors.Is(err, shared) || !errors.Is(err, passed) {
			t.Errorf("%v is not what it was, however many calls have passed it on", err)
		}
	}
}

type stepError struct {
	mark

	key string
}

func (e *stepError) Error() string { return "step: " + e.key }

func (e *stepError) OfCall(key string) bool { return e.key == key }

func TestWhatACallHasMadeForItsFunctionIsItsOwn(t *testing.T) {
	made := &stepError{key: "k"}
	if got := origin.PassOn(made, "k"); got != error(made) || !origin.IsOwn(got) {
		t.Error("the call's own error is taken for another's")
	}
	if origin.IsOwn(origin.PassOn(made, "other")) {
		t.Error("another call's error is taken for its own")
	}
}

func TestOtherErrorsStayAsTheyAre(t *testing.T) {
	var none *busyError
	for name, err := range map[string]error{
		"none":      nil,
		"a plain":   errBusy,
		"a wrapped": fmt.Errorf("pay: %w", &busyError{}),
		"a user's":  userError{&busyError{}},
		"a larger":  new(largerError),
		"a nil":     none,
	} {
		if got := origin.PassOn(err, "k"); got != err || origin.IsOwn(got) { //nolint:errorlint // as it is
			t.Errorf("%s: %v, own %v", name, got, origin.IsOwn(got))
		}
	}
}
