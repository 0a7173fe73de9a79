package journal

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
)

// Frame is a call as its context knows it.
type Frame interface {
	// Journal returns the call's journal; nil where its guard declares no steps.
	Journal() Journal
}

type frameKey struct{}

// Within returns the context of what happens in a call.
func Within(ctx context.Context, f Frame) context.Context {
	return context.WithValue(ctx, frameKey{}, f)
}

// FrameFrom returns the call that a context belongs to; nil where there is none.
func FrameFrom(ctx context.Context) Frame {
	f, _ := ctx.Value(frameKey{}).(Frame)
	return f
}

// From returns the journal of the call that a context belongs to; nil where there is none.
func From(ctx context.Context) Journal {
	if f := FrameFrom(ctx); f != nil {
		return f.Journal()
	}
	return nil
}

// Step is the step, or the compensation, that a context belongs to.
type Step struct {
	Name  string
	Token string
}

type stepKey struct{}

// stepOf is a step with the journal of its call.
type stepOf struct {
	journal Journal
	step    Step
}

// WithStep returns the context of a step of the journal's call.
func WithStep(ctx context.Context, j Journal, s Step) context.Context {
	return context.WithValue(ctx, stepKey{}, stepOf{j, s})
}

// StepFrom returns the step that a context belongs to. There is none outside of one, nor in
// a guarded call that a step makes.
func StepFrom(ctx context.Context) (Step, bool) {
	s, ok := ctx.Value(stepKey{}).(stepOf)
	if !ok || s.journal != From(ctx) {
		return Step{}, false
	}
	return s.step, true
}

// Token derives a token from parts, injectively: 32 hexadecimal digits.
func Token(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		var length [8]byte
		binary.BigEndian.PutUint64(length[:], uint64(len(part)))
		h.Write(length[:])
		h.Write([]byte(part))
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
