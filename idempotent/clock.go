package idempotent

import "time"

// wallClock is the time without Go's monotonic reading. That one stands still
// while an environment is frozen, and the deadlines it is compared with have
// none.
func wallClock() time.Time { return time.Now().Round(0) }

// expiry is when a record written at now expires.
func (g *Guard) expiry(now time.Time) time.Time {
	if g.config.Dialect != nil {
		return g.config.Dialect.Expiry(now.Add(g.config.TTL))
	}
	return ceil(now.Add(g.config.TTL), time.Second)
}

func ceil(t time.Time, unit time.Duration) time.Time {
	if whole := t.Truncate(unit); whole.Before(t) {
		return whole.Add(unit)
	}
	return t
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
