package sealed_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/sealed"
)

var here = sealed.Place{Key: "payment#1", Owner: "owner", Status: persistence.StatusCompleted}

func sealers(t *testing.T) map[string]sealed.Sealer {
	return map[string]sealed.Sealer{"AES": aes(t, key("a")), "data keys": sealed.NewEnvelope(newService())}
}

func TestWhatIsSealedOpensInItsPlace(t *testing.T) {
	for name, sealer := range sealers(t) {
		for _, plaintext := range []string{"", "paid", "\x00\xff", strings.Repeat("paid", 1<<18)} {
			value, err := sealer.Seal(t.Context(), []byte(plaintext), here)
			ok(t, err)
			if got, err := sealer.Open(t.Context(), value, here); err != nil || string(got) != plaintext {
				t.Errorf("%s: want %d bytes, got %d, %v", name, len(plaintext), len(got), err)
			}
			if plaintext != "" && bytes.Contains(value, []byte(plaintext)) {
				t.Errorf("%s: the plaintext shows", name)
			}
			if more := len(value) - len(plaintext); more > sealer.Overhead() {
				t.Errorf("%s: want at most %d bytes more, got %d", name, sealer.Overhead(), more)
			}
			if again, err := sealer.Seal(t.Context(), []byte(plaintext), here); err != nil || bytes.Equal(again, value) {
				t.Errorf("%s: the same text is sealed the same twice, %v", name, err)
			}
		}
	}
}

func TestNoChangedValueOpens(t *testing.T) {
	for name, sealer := range sealers(t) {
		value, err := sealer.Seal(t.Context(), []byte("paid"), here)
		ok(t, err)
		refused := func(what string, changed []byte) {
			t.Helper()
			got, err := sealer.Open(t.Context(), changed, here)
			if !errors.Is(err, sealed.ErrForged) && !errors.Is(err, sealed.ErrUnknownKey) {
				t.Errorf("%s: %s: want ErrForged or ErrUnknownKey, got %q, %v", name, what, got, err)
			}
		}
		for i := range value {
			for bit := range 8 {
				changed := bytes.Clone(value)
				changed[i] ^= 1 << bit
				refused(fmt.Sprintf("bit %d of byte %d", bit, i), changed)
			}
			refused(fmt.Sprintf("cut to %d bytes", i), value[:i])
		}
		refused("a byte more", append(bytes.Clone(value), 0))
	}
}

func TestNoTwoPlacesAreTheSame(t *testing.T) {
	seen := make(map[string]sealed.Place)
	for _, p := range []sealed.Place{
		{},
		{Key: "a"}, {Owner: "a"}, {Status: "a"}, {Step: "a"},
		{Key: "a", Owner: "b"}, {Key: "ab"}, {Key: "a", Step: "b"}, {Owner: "ab"},
		{Key: "a\x01b"}, {Key: "a\x00\x00\x01b"}, {Key: strings.Repeat("a", 128)}, {Key: strings.Repeat("a", 129)},
	} {
		if other, taken := seen[string(p.Bytes())]; taken {
			t.Errorf("%+v and %+v have the same associated data", p, other)
		}
		seen[string(p.Bytes())] = p
	}
}

// The format is pinned: values that were sealed by an earlier version must open.
func TestAssociatedDataIsPinned(t *testing.T) {
	p := sealed.Place{Key: "payment#1", Owner: "o", Status: persistence.StatusFailed, Step: "s"}
	if got, want := string(p.Bytes()), "ikkai sealed/1\x09payment#1\x01o\x06FAILED\x01s"; got != want {
		t.Errorf("want %q, got %q", want, got)
	}
}

func TestKeysAreRotated(t *testing.T) {
	old, both, renewed := aes(t, key("a")), aes(t, key("b"), key("a")), aes(t, key("b"))
	value, err := old.Seal(t.Context(), []byte("paid"), here)
	ok(t, err)
	if got, err := both.Open(t.Context(), value, here); err != nil || string(got) != "paid" {
		t.Errorf("want the value of the old key, got %q, %v", got, err)
	}
	if _, err := renewed.Open(t.Context(), value, here); !errors.Is(err, sealed.ErrUnknownKey) {
		t.Errorf("want ErrUnknownKey, got %v", err)
	}
	value, err = both.Seal(t.Context(), []byte("paid"), here)
	ok(t, err)
	if got, err := renewed.Open(t.Context(), value, here); err != nil || string(got) != "paid" {
		t.Errorf("want the value of the new key, got %q, %v", got, err)
	}
	imposter := aes(t, sealed.Key{ID: "b", Secret: bytes.Repeat([]byte{7}, 32)})
	if _, err := imposter.Open(t.Context(), value, here); !errors.Is(err, sealed.ErrForged) {
		t.Errorf("another key of the same name: want ErrForged, got %v", err)
	}
}

func TestKeysAreCheckedAndKeptSecret(t *testing.T) {
	secret := []byte("0123456789abcdef0123456789abcdef")
	for _, tt := range []struct {
		name string
		keys []sealed.Key
	}{
		{"too short", []sealed.Key{{ID: "a", Secret: secret[:31]}}},
		{"AES-128", []sealed.Key{{ID: "a", Secret: secret[:16]}}},
		{"none", []sealed.Key{{ID: "a"}}},
		{"long ID", []sealed.Key{{ID: strings.Repeat("a", 256), Secret: secret}}},
		{"ID twice", []sealed.Key{{ID: "a", Secret: secret}, {ID: "a", Secret: secret}}},
	} {
		_, err := sealed.NewAES(tt.keys[0], tt.keys[1:]...)
		if !errors.Is(err, sealed.ErrConfig) || strings.Contains(fmt.Sprint(err), "0123") {
			t.Errorf("%s: want ErrConfig without the secret, got %v", tt.name, err)
		}
	}
	if shown := fmt.Sprintf("%v %s %+v", key("a"), key("a"), []sealed.Key{key("a")}); strings.Contains(shown, "aaaa") || strings.Contains(shown, "97 97") {
		t.Errorf("the secret shows: %s", shown)
	}
}

// A data key that was wrapped for one place does not unwrap for another one.
func TestADataKeyBelongsToItsRecord(t *testing.T) {
	sealer := sealed.NewEnvelope(newService())
	value, err := sealer.Seal(t.Context(), []byte("paid"), here)
	ok(t, err)
	for _, p := range []sealed.Place{
		{Key: "payment#2", Owner: here.Owner, Status: here.Status},
		{Key: here.Key, Owner: "other", Status: here.Status},
		{Key: here.Key, Step: "step"},
	} {
		if got, err := sealer.Open(t.Context(), value, p); !errors.Is(err, sealed.ErrForged) {
			t.Errorf("%+v: want ErrForged, got %q, %v", p, got, err)
		}
	}
}
