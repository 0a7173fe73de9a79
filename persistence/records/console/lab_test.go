package console_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/records"
	"github.com/ikkai-go/idempotency/persistence/records/console"
)

// lab is a console over a store in memory, with what an operator finds there.
type lab struct {
	*testing.T
	store   persistence.Store
	desk    *records.Desk
	handler http.Handler
	log     bytes.Buffer
}

func newLab(t *testing.T, config console.Config) *lab {
	t.Helper()
	l := &lab{T: t, store: persistence.NewMemory()}
	var err error
	if l.desk, err = records.New(l.store, records.Config{}); err != nil {
		t.Fatal(err)
	}
	config.Logger = slog.New(slog.NewJSONHandler(&l.log, nil))
	if l.handler, err = console.New(l.desk, config); err != nil {
		t.Fatal(err)
	}
	return l
}

func everybodyWrites(*http.Request) console.Access { return console.ReadWrite }

// acquire begins a run, that long ago, with a lease of a minute.
func (l *lab) acquire(key string, ago time.Duration) persistence.Lease {
	l.Helper()
	at := time.Now().Add(-ago)
	record, err := l.store.Acquire(l.Context(), persistence.Claim{
		Key: key, Owner: "owner of " + key, Now: at, LeaseUntil: at.Add(time.Minute).Truncate(time.Millisecond), ExpiresAt: at.Add(48 * time.Hour).Truncate(time.Second),
		Run: persistence.Run{StartedAt: at, Function: "payment:7", RequestID: "request of " + key},
	})
	if err != nil {
		l.Fatal(err)
	}
	return record.Lease()
}

func (l *lab) complete(key string, ago time.Duration, result string) {
	l.Helper()
	outcome := persistence.Outcome{Status: persistence.StatusCompleted, Result: []byte(result), ExpiresAt: time.Now().Add(24 * time.Hour).Truncate(time.Second)}
	if err := l.store.Complete(l.Context(), l.acquire(key, ago), outcome); err != nil {
		l.Fatal(err)
	}
}

// ask sends a request as the page would; a body makes it a POST. It returns status and answer.
func (l *lab) ask(path string, body any, change ...func(*http.Request)) (int, map[string]any) {
	l.Helper()
	method, content := http.MethodGet, []byte(nil)
	if body != nil {
		method = http.MethodPost
		content, _ = json.Marshal(body)
	}
	r := httptest.NewRequestWithContext(l.Context(), method, path, bytes.NewReader(content))
	r.Header.Set("Content-Type", "application/json")
	for _, change := range change {
		change(r)
	}
	w := httptest.NewRecorder()
	l.handler.ServeHTTP(w, r)
	answer := make(map[string]any)
	if strings.HasPrefix(w.Header().Get("Content-Type"), "application/json") {
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
			l.Fatalf("%s: %v", path, err)
		}
	}
	return w.Code, answer
}

// must is ask for a request that succeeds.
func (l *lab) must(path string, body any) map[string]any {
	l.Helper()
	status, answer := l.ask(path, body)
	if status != http.StatusOK {
		l.Fatalf("%s answers %d %v", path, status, answer)
	}
	return answer
}

// shown is a record as the page names it.
func (l *lab) shown(key string) map[string]any {
	l.Helper()
	record := l.must("/api/record?key="+url.QueryEscape(key), nil)
	return map[string]any{"key": key, "version": record["version"]}
}

func with(shown map[string]any, name string, value any) map[string]any {
	out := map[string]any{name: value}
	maps.Copy(out, shown)
	return out
}

func keysOf(answer map[string]any) (keys []string) {
	for _, record := range answer["records"].([]any) {
		keys = append(keys, fmt.Sprint(record.(map[string]any)["key"]))
	}
	return keys
}
