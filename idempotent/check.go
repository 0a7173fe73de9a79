package idempotent

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// ConfigError is one fault of a [Config]; [New] joins all it finds.
type ConfigError struct {
	mark

	// Field of the Config; or what else is at fault, with a name before it: "Batch.ID" of a
	// batch.Batch, "httpguard.Config.Scope", "New.store" and "Each.fn" of arguments.
	Field   string
	Problem string
	Err     error // the cause, if there is one

	stuck bool // a record can't be gone on with until it is mended
}

func (e *ConfigError) Error() string {
	field := e.Field
	if !strings.Contains(field, ".") {
		field = "Config." + field
	}
	return fmt.Sprintf("idempotent: %s %s", field, e.Problem)
}

// Is reports whether target is [ErrConfig].
func (e *ConfigError) Is(target error) bool { return target == ErrConfig || e.mark.Is(target) }

// Unwrap returns the cause.
func (e *ConfigError) Unwrap() error { return e.Err }

// check returns all that is wrong with a config whose defaults are filled in.
func (c Config) check(store persistence.Store) error {
	var faults []error
	fault := func(field, format string, args ...any) {
		faults = append(faults, &ConfigError{Field: field, Problem: fmt.Sprintf(format, args...)})
	}
	if err := idempotency.CheckOperation(c.Operation); err != nil {
		faults = append(faults, &ConfigError{Field: "Operation", Problem: "can't be used: " + err.Error(), Err: err})
	}
	if c.Dialect != nil && (c.Key != nil || c.Fingerprint != nil) {
		fault("Dialect", "excludes Key and Fingerprint: it has its own")
	}
	for field, value := range map[string]any{"Dialect": c.Dialect, "Steps": c.Steps} {
		if value != nil && isNil(value) {
			fault(field, "is a nil %T", value)
		}
	}
	if c.TTL < time.Second {
		fault("TTL", "is %v, and must be at least a second", c.TTL)
	}
	// A field that is wrong by itself makes no other one wrong.
	if c.Lease < 0 || c.TTL >= time.Second && c.Lease > c.TTL {
		fault("Lease", "is %v, and must be between 0 and the TTL of %v", c.Lease, c.TTL)
	}
	if c.MinLease < 0 || c.TTL >= time.Second && c.MinLease > c.TTL {
		fault("MinLease", "is %v, and must be between 0 and the TTL of %v", c.MinLease, c.TTL)
	}
	if c.ExecutionTimeout < 0 || c.ExecutionTimeout > longestExecution {
		fault("ExecutionTimeout", "is %v, and must be between 0 and the %v that Lambda takes at most", c.ExecutionTimeout, longestExecution)
	}
	if c.ClockSkew < 0 || c.Lease > 0 && c.ClockSkew >= c.Lease {
		fault("ClockSkew", "is %v, and must be between 0 and the Lease of %v", c.ClockSkew, c.Lease)
	}
	if c.Wait < 0 {
		fault("Wait", "is %v, and must not be negative", c.Wait)
	}
	if c.Reserve < 0 {
		fault("Reserve", "is %v, and must not be negative", c.Reserve)
	}
	if c.StoreTimeout < 0 {
		fault("StoreTimeout", "is %v, and must not be negative", c.StoreTimeout)
	}
	if _, reads := storekit.Able[persistence.Reader](store); c.ReadFirst && !reads {
		fault("ReadFirst", "needs a store that is a persistence.Reader, and %T is none", store)
	}
	if _, keeps := storekit.Able[persistence.Checkpointer](store); c.Steps != nil && (!keeps || !storekit.HoldsEnvelopes(store)) {
		fault("Steps", "need a store that is a persistence.Checkpointer with a format of its own, and %T is none: whoever shares its table forgets them", store)
	}
	if _, commits := storekit.Able[storekit.Transactor](store); c.OnlyEnlists && !commits {
		fault("OnlyEnlists", "needs a store that is a storekit.Transactor, and %T is none", store)
	}
	if _, reads := storekit.Able[persistence.Reader](store); c.OnlyEnlists && !reads {
		fault("OnlyEnlists", "needs a store that is a persistence.Reader, and %T is none", store)
	}
	if c.OnReplay != nil && c.OnlyLock {
		fault("OnReplay", "is never called beside OnlyLock: there is no result to answer with")
	}
	if c.OnlyEnlists && c.Steps != nil {
		fault("OnlyEnlists", "excludes Steps: there is no record to keep them in")
	}
	if c.KeepEvent && c.OnlyEnlists {
		fault("KeepEvent", "excludes OnlyEnlists: there is no record until the call is finished")
	}
	if c.KeepEvent && !storekit.HoldsEnvelopes(store) {
		fault("KeepEvent", "needs a store with a format of its own, and that of %T has no place for events", store)
	}
	return errors.Join(faults...)
}

// isNil tells whether an interface that is not nil holds nothing: a nil pointer, map or
// function, which has methods that nobody can call.
func isNil(value any) bool {
	switch v := reflect.ValueOf(value); v.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Func, reflect.Slice, reflect.Chan, reflect.Interface, reflect.UnsafePointer:
		return v.IsNil()
	default:
		return !v.IsValid()
	}
}
