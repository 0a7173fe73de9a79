package eventguard

import (
	"errors"
	"log/slog"

	"github.com/ikkai-go/idempotency/idempotent"
)

// The codes of this package's own verdicts, beside those of package idempotent.
const (
	// CodePayloadUnusable says that the record does not hold what it should, and that fn
	// did not run ([PayloadError]).
	CodePayloadUnusable idempotent.Code = "payload_unusable"
	// CodePanicked says that a function of the user has panicked, or has ended its
	// goroutine ([PanicError]).
	CodePanicked idempotent.Code = "panicked"
	// CodeHeldBack says that the record did not run because one before it in its group,
	// partition or shard has failed ([ErrHeldBack]).
	CodeHeldBack idempotent.Code = "held_back"
)

// verdictOf is [idempotent.VerdictOf] for the errors of records.
func verdictOf(err error) idempotent.Verdict {
	switch err.(type) { //nolint:errorlint // an error that wraps another is judged by the outermost
	case *PayloadError:
		return idempotent.Verdict{Done: idempotent.DoneNothing, Code: CodePayloadUnusable}
	case *PanicError:
		return idempotent.Verdict{Done: idempotent.DoneMaybe, Retry: true, Code: CodePanicked}
	}
	if errors.Is(err, ErrHeldBack) {
		return idempotent.Verdict{Done: idempotent.DoneNothing, Retry: true, Code: CodeHeldBack}
	}
	return idempotent.VerdictOf(err)
}

// acknowledges decides, in this one place, which outcomes count as done, so that the
// source need not deliver the record again. Everything else comes back: what is not
// known to be recorded may be another's to finish.
func (p processor) acknowledges(v idempotent.Verdict, last idempotent.EventKind) bool {
	switch v.Code {
	case idempotent.CodeCompleted, idempotent.CodeResultNotStored, idempotent.CodeSkipped:
		return true
	case idempotent.CodeFailed:
		return p.config.OnPermanent == AcknowledgePermanent && final(last)
	default:
		return false
	}
}

// final tells whether nothing but what is recorded can become of a call that has failed
// for good, by its last event; or whether there is to be no record. The error itself is
// the function's, whatever has become of its record.
func final(last idempotent.EventKind) bool {
	return last == idempotent.EventExecuted || last == idempotent.EventReplayed || last == idempotent.EventUnprotected
}

// level is how loud it is logged that a record failed.
func level(v idempotent.Verdict) slog.Level {
	switch v.Code {
	case CodeHeldBack:
		return slog.LevelDebug
	case idempotent.CodeInProgress, idempotent.CodeNotStarted:
		return slog.LevelWarn
	default:
		return slog.LevelError
	}
}
