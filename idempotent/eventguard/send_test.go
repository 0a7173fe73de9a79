package eventguard_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent/eventguard"
)

func TestIdsForSendingAreAcceptedAndDistinct(t *testing.T) {
	accepted := regexp.MustCompile("^[a-zA-Z0-9!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~]{1,128}$")
	keys := []string{
		"o-1", "o-2", "O-1", " o-1", "o 1", "o\n1", "注文", "\x00", "a#b", `!"#$%&'()*+,-./:;<=>?@[\]^_` + "`{|}~",
		strings.Repeat("x", 116), strings.Repeat("x", 122), strings.Repeat("x", 128), strings.Repeat("x", 129), strings.Repeat("x", 130),
	}
	seen := make(map[string]string)
	see := func(t *testing.T, what, id string, err error) {
		t.Helper()
		if err != nil || !accepted.MatchString(id) {
			t.Errorf("%q: %q, %v, which SQS refuses", what, id, err)
		}
		if other, known := seen[id]; known && other != what {
			t.Errorf("%q and %q are both %q", what, other, id)
		}
		seen[id] = what
	}
	for _, operation := range []string{"order", "cancel", "sha256-", "注文"} {
		for _, key := range keys {
			id, err := eventguard.DeduplicationID(operation, key)
			see(t, operation+"#"+key, id, err)
		}
	}
	clear(seen)
	for _, key := range keys {
		id, err := eventguard.GroupID(key)
		see(t, key, id, err)
		again, err := eventguard.GroupID(id) // nobody can choose the digest of another's name
		if strings.HasPrefix(id, "sha256-") {
			see(t, id, again, err)
		} else if id != key {
			t.Errorf("%q became %q without need", key, id)
		}
	}
}

func TestIdsForSendingNeedAKey(t *testing.T) {
	if id, err := eventguard.DeduplicationID("order", ""); !errors.Is(err, idempotency.ErrMissing) {
		t.Errorf("%q, %v, want ErrMissing", id, err)
	}
	if id, err := eventguard.GroupID(""); !errors.Is(err, idempotency.ErrMissing) {
		t.Errorf("%q, %v, want ErrMissing", id, err)
	}
	if id, err := eventguard.DeduplicationID("my order", "o-1"); !errors.Is(err, idempotency.ErrOperation) {
		t.Errorf("%q, %v, want ErrOperation", id, err)
	}
	if id, err := eventguard.DeduplicationID("order", "\xff"); !errors.Is(err, idempotency.ErrPayload) {
		t.Errorf("%q, %v, want ErrPayload", id, err)
	}
}
