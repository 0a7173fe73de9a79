package client_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/dunglas/httpsfv"

	"github.com/ikkai-go/idempotency/idempotent/client"
)

// Every key that can be sent is read back by another implementation of RFC 9651 as
// it was given.
func FuzzKeysAreWrittenAsOthersReadThem(f *testing.F) {
	for _, key := range []string{"8e03978e-40d5-43e8-bc93-6894a57f9324", `a"b\c`, "", " ", "~", "\x7f", "é", "a\nb"} {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, key string) {
		value, _, err := sentAs(t, newRequest(client.WithKey(t.Context(), key), http.MethodPost, ""))
		if err != nil {
			if _, err := httpsfv.Marshal(httpsfv.NewItem(key)); err == nil && key != "" {
				t.Errorf("%q is refused", key)
			}
			return
		}
		if item, err := httpsfv.UnmarshalItem([]string{value}); err != nil || item.Value != key {
			t.Errorf("%q is sent as %s and read as %v, %v", key, value, item.Value, err)
		}
	})
}

// Every header that the caller writes is sent as it is or refused. What starts with a
// quote is read as another implementation of RFC 9651 reads it; the draft has no
// parameters and no use for the empty string.
func FuzzHeadersAreReadAsOthersReadThem(f *testing.F) {
	for _, value := range []string{`"a"`, `"a\"b\\c"`, `"a`, `a`, ``, ` "a" `, "\t\"a\"", `"a";v=1`, `"a" "b"`, `a"b"`,
		`"a\b"`, "\u00e9", "\"\x00\"", `""`} {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		r := newRequest(t.Context(), http.MethodPost, "")
		r.Header.Set("Idempotency-Key", value)
		sent, key, err := sentAs(t, r)
		if err == nil && sent != value {
			t.Errorf("%q is changed to %q", value, sent)
		}
		received := strings.Trim(value, " \t") // as every server does with a header
		if !strings.HasPrefix(received, `"`) {
			if err == nil && key != received {
				t.Errorf("%q is read as %q", value, key)
			}
			return
		}
		item, othersErr := httpsfv.UnmarshalItem([]string{received})
		usable := othersErr == nil && item.Value != "" && len(item.Params.Names()) == 0
		if usable != (err == nil) || usable && key != item.Value {
			t.Errorf("%q is read as %q, %v; others read %v, %v", value, key, err, item.Value, othersErr)
		}
	})
}

// sentAs sends the request and returns the value of its header and its key.
func sentAs(t *testing.T, r *http.Request) (value, key string, err error) {
	t.Helper()
	w := &wire{script: []answer{{status: http.StatusCreated}}}
	resp, err := newTransport(t, client.Config{Transport: w}).RoundTrip(r)
	if err != nil {
		if !errors.Is(err, client.ErrKey) || len(w.sent) != 0 {
			t.Errorf("%v, %d requests sent", err, len(w.sent))
		}
		return "", "", err
	}
	key, _ = client.KeyFrom(resp.Request.Context())
	return w.keys()[0], key, nil
}
