package idempotenttest

import "testing"

// FirstStory is what Prove would tell of a function first; empty if it keeps every promise.
func FirstStory(t *testing.T, f Function) string {
	t.Helper()
	p, failed := rehearse(t, f)
	if failed != nil {
		return failed.String()
	}
	for _, kind := range families {
		if found, _ := p.search(t, kind); len(found) > 0 {
			return found[0].String()
		}
	}
	return ""
}
