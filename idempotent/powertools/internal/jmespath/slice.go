package jmespath

import "github.com/ikkai-go/idempotency/idempotent/powertools/internal/value"

func at(v value.Value, at int) value.Value {
	a, ok := v.(*value.Array)
	if !ok {
		return nil
	}
	if at < 0 {
		at += len(a.Items)
	}
	if at < 0 || at >= len(a.Items) {
		return nil
	}
	if _, undefined := a.Items[at].(value.Undefined); undefined {
		return nil
	}
	return a.Items[at]
}

func (in *interpreter) slice(b bounds, v value.Value) (value.Value, error) {
	step := 1
	if b.step != nil {
		step = *b.step
	}
	a, ok := v.(*value.Array)
	switch {
	case step == 0 && (ok || in.language == value.JavaScript):
		return nil, errSwallowed
	case !ok:
		return nil, nil
	}
	n := len(a.Items)
	first, last := 0, n
	if step < 0 {
		first, last = n-1, -1
	}
	from, to := bound(b.start, first, n, step), bound(b.stop, last, n, step)
	result := new(value.Array)
	for i := from; step > 0 && i < to || step < 0 && i > to; i += step {
		result.Items = append(result.Items, a.Items[i])
	}
	return result, in.budget.Steps(len(result.Items))
}

// bound returns the index that a bound of a slice means in a list of n elements.
func bound(given *int, otherwise, n, step int) int {
	if given == nil {
		return otherwise
	}
	at, low, high := *given, 0, n
	if step < 0 {
		low, high = -1, n-1
	}
	if at < 0 {
		at += n
	}
	return max(low, min(at, high))
}
