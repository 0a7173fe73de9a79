package eventguard

import (
	"errors"
	"fmt"

	"github.com/ikkai-go/idempotency/internal/relay"
)

// contain runs fn so that neither its panic nor the end of its goroutine takes the
// other records of the batch along. What it returns can be looked at without harm: an
// error whose methods panic is a panic, too.
func contain(fn func() error) error {
	var err error
	ended := relay.Run(func() {
		err = fn()
		probe(err)
	})
	if !ended.Returned() {
		return &PanicError{Value: presentable(ended.Value), Stack: ended.Stack}
	}
	return err
}

// probe calls what others will call of an error.
func probe(err error) {
	if err == nil {
		return
	}
	_ = err.Error()
	_ = errors.Is(err, ErrPanic)
	_, _ = errors.AsType[*PanicError](err)
}

// presentable returns what a panic was about, without errors whose methods panic.
func presentable(thrown any) (value any) {
	err, ok := thrown.(error)
	if !ok {
		return thrown
	}
	defer func() {
		if recover() != nil {
			value = fmt.Sprintf("a %T whose methods panic", err)
		}
	}()
	err = finite(err)
	probe(err)
	return err
}

// mostCauses is more than an error of every item of a batch has.
const mostCauses = 1 << 16

// finite returns the error, or another one in its place where there is no end to its
// causes: who looks for one, as everybody does, would look past the deadline.
func finite(err error) error {
	left := []error{err}
	for seen := 0; len(left) > 0; seen++ {
		if seen+len(left) > mostCauses {
			return fmt.Errorf("eventguard: an error without an end of causes (%T)", err)
		}
		last := len(left) - 1
		cause := left[last]
		left = left[:last]
		switch wrapping := cause.(type) { //nolint:errorlint // this is the walk
		case interface{ Unwrap() error }:
			left = append(left, wrapping.Unwrap())
		case interface{ Unwrap() []error }:
			left = append(left, wrapping.Unwrap()...)
		}
	}
	return err
}
