package console_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/records"
	"github.com/ikkai-go/idempotency/persistence/records/console"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

func TestWhoMayDoWhat(t *testing.T) {
	reads := []string{"/", "/app.js", "/style.css", "/api/about", "/api/overview", "/api/records", "/api/record?key=payment%231"}
	writes := []string{"/api/plan", "/api/do", "/api/bulk/plan", "/api/bulk/do"}
	for access, may := range map[console.Access]struct{ read, write bool }{
		console.Forbidden: {},
		console.ReadOnly:  {read: true},
		console.ReadWrite: {true, true},
		console.Access(7): {},
	} {
		l := newLab(t, console.Config{Access: func(*http.Request) console.Access { return access }})
		l.complete("payment#1", time.Hour, `"paid"`)
		for _, path := range reads {
			if status, _ := l.ask(path, nil); (status == http.StatusOK) != may.read {
				t.Errorf("access %d: GET %s answers %d", access, path, status)
			}
		}
		for _, path := range writes {
			if status, _ := l.ask(path, map[string]any{}); (status != http.StatusForbidden) != may.write {
				t.Errorf("access %d: POST %s answers %d", access, path, status)
			}
		}
	}
	t.Run("nobody writes unless that is said", func(t *testing.T) {
		l := newLab(t, console.Config{})
		if l.must("/api/about", nil)["write"] != false {
			t.Error("the page takes everybody for somebody who may write")
		}
		if status, _ := l.ask("/api/do", map[string]any{}); status != http.StatusForbidden {
			t.Errorf("writing answers %d", status)
		}
	})
}

func TestWhatOtherPagesCanMakeABrowserSend(t *testing.T) {
	l := newLab(t, console.Config{Access: everybodyWrites})
	l.complete("payment#1", time.Hour, `"paid"`)
	forget := with(l.shown("payment#1"), "action", map[string]any{"do": "forget"})
	for name, change := range map[string]func(*http.Request){
		"from another site":               func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") },
		"from another port of this host":  func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-site") },
		"from another origin":             func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") },
		"as a form":                       func(r *http.Request) { r.Header.Set("Content-Type", "application/x-www-form-urlencoded") },
		"as a text that looks like JSON":  func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") },
		"without saying what it is":       func(r *http.Request) { r.Header.Del("Content-Type") },
		"by a method that changes things": func(r *http.Request) { r.Method = http.MethodPut },
		"by a link":                       func(r *http.Request) { r.Method = http.MethodGet },
	} {
		if status, _ := l.ask("/api/do", forget, change); status < 400 {
			t.Errorf("%s: the record is forgotten (%d)", name, status)
		}
	}
	if _, err := l.desk.Show(t.Context(), "payment#1"); err != nil {
		t.Errorf("the record is gone: %v", err)
	}
}

func TestOtherPagesCanNeitherFrameNorReadIt(t *testing.T) {
	l := newLab(t, console.Config{})
	for _, path := range []string{"/", "/app.js", "/api/about", "/api/nothing"} {
		w := httptest.NewRecorder()
		l.handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		h := w.Header()
		policy := h.Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'"} {
			if !strings.Contains(policy, part) {
				t.Errorf("%s: the policy %q lacks %s", path, policy, part)
			}
		}
		if strings.Contains(policy, "unsafe") || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Cache-Control") != "no-store" ||
			h.Get("Referrer-Policy") != "no-referrer" || h.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: the headers are %v", path, h)
		}
	}
}

func TestContentsAreHiddenUntilAskedFor(t *testing.T) {
	const secret = "4111111111111111"
	l := newLab(t, console.Config{Access: everybodyWrites, Who: func(*http.Request) string { return "mika" },
		Redact: func(_ context.Context, record records.Record, part console.Part, content []byte) []byte {
			if record.Key == "payment#2" && part == "result" {
				return []byte(`"hidden"`)
			}
			return content
		}})
	l.complete("payment#1", time.Hour, `{"card":`+secret+`}`)
	l.complete("payment#2", time.Hour, `{"card":`+secret+`}`)
	for _, path := range []string{"/api/overview", "/api/records", "/api/record?key=payment%231"} {
		if answer := fmt.Sprint(l.must(path, nil)); strings.Contains(answer, secret) {
			t.Errorf("%s shows contents", path)
		}
	}
	if got := l.must("/api/open", l.shown("payment#1"))["result"]; got != "{\n  \"card\": "+secret+"\n}" {
		t.Errorf("the opened result is %q: numbers must keep their digits", got)
	}
	if got := l.must("/api/open", l.shown("payment#2"))["result"]; got != `"hidden"` {
		t.Errorf("the redacted result is %q", got)
	}
	if log := l.log.String(); strings.Contains(log, secret) || strings.Count(log, `"who":"mika"`) != 2 {
		t.Errorf("the log is\n%s", log)
	}
}

func TestAnActionIsDoneOnlyToWhatWasShown(t *testing.T) {
	l := newLab(t, console.Config{Access: everybodyWrites})
	l.acquire("payment#1", time.Hour) // and died
	shown := l.shown("payment#1")
	forget := with(shown, "action", map[string]any{"do": "forget"})
	if plan := l.must("/api/plan", forget); len(plan["does"].([]any)) == 0 {
		t.Errorf("the plan is %v", plan)
	}
	if _, err := l.desk.Show(t.Context(), "payment#1"); err != nil {
		t.Fatalf("planning has changed the record: %v", err)
	}
	complete := with(shown, "action", map[string]any{"do": "complete", "result": `{"id":12345678901234567890}`})
	done := l.must("/api/do", complete)
	if now := done["now"].(map[string]any); now["state"] != "completed" {
		t.Errorf("the record is now %v", now)
	}
	status, answer := l.ask("/api/do", forget)
	if status != http.StatusConflict || answer["code"] != "changed" || answer["now"] == nil {
		t.Errorf("forgetting what was shown before answers %d %v", status, answer)
	}
	for name, action := range map[string]map[string]any{
		"a result that is no JSON": {"do": "complete", "result": "paid"},
		"a failure without a type": {"do": "fail"},
		"an action that is none":   {"do": "explode"},
		"a member that is none":    {"do": "forget", "force": true},
	} {
		if status, _ := l.ask("/api/plan", with(shown, "action", action)); status != http.StatusBadRequest && status != http.StatusConflict {
			t.Errorf("%s answers %d", name, status)
		}
	}
}

func TestARunUnderWayIsLeftAlone(t *testing.T) {
	l := newLab(t, console.Config{Access: everybodyWrites})
	l.acquire("payment#1", 0)
	shown := l.shown("payment#1")
	for _, do := range []string{"forget", "complete_without_result"} {
		if status, answer := l.ask("/api/do", with(shown, "action", map[string]any{"do": do})); status != http.StatusConflict || answer["code"] != "running" {
			t.Errorf("%s answers %d %v", do, status, answer)
		}
	}
}

func TestAnActionOnAllMatchesSaysFirstHowManyTheyAre(t *testing.T) {
	l := newLab(t, console.Config{Access: everybodyWrites})
	for n := range 20 {
		l.acquire(fmt.Sprintf("payment#died-%d", n), time.Hour)
	}
	l.acquire("payment#alive", 0)
	l.complete("order#1", time.Hour, `1`)
	asked := map[string]any{"filter": map[string]any{"operation": "payment"}, "action": map[string]any{"do": "forget"}}
	plan := l.must("/api/bulk/plan", asked)
	if plan["count"] != 20.0 || plan["refused"] != 1.0 {
		t.Fatalf("the plan is %v", plan)
	}
	l.acquire("payment#died-later", time.Hour)                                                                    // was not counted
	l.must("/api/do", with(l.shown("payment#died-0"), "action", map[string]any{"do": "complete_without_result"})) // changes
	if status, _ := l.ask("/api/bulk/do", map[string]any{"id": plan["id"], "count": 19}); status != http.StatusBadRequest {
		t.Errorf("a count that was not shown answers %d", status)
	}
	plan = l.must("/api/bulk/plan", map[string]any{"filter": map[string]any{"operation": "payment", "state": "died"}, "action": map[string]any{"do": "forget"}})
	done := l.must("/api/bulk/do", map[string]any{"id": plan["id"], "count": plan["count"]})
	if done["done"] != 20.0 || done["changed"] != 0.0 || done["failed"] != 0.0 {
		t.Errorf("what was done is %v", done)
	}
	if status, _ := l.ask("/api/bulk/do", map[string]any{"id": plan["id"], "count": plan["count"]}); status != http.StatusBadRequest {
		t.Errorf("the same again answers %d", status)
	}
	left := keysOf(l.must("/api/records", nil))
	slices.Sort(left)
	if want := []string{"order#1", "payment#alive", "payment#died-0"}; !slices.Equal(left, want) {
		t.Errorf("left are %v, want %v", left, want)
	}
}

func TestAnActionOnAllLeavesAloneWhatHasChangedSinceTheCount(t *testing.T) {
	l := newLab(t, console.Config{Access: everybodyWrites})
	l.acquire("payment#1", time.Hour)
	l.acquire("payment#2", time.Hour)
	plan := l.must("/api/bulk/plan", map[string]any{"filter": map[string]any{}, "action": map[string]any{"do": "forget"}})
	record, err := l.desk.Show(t.Context(), "payment#1")
	if err != nil {
		t.Fatal(err)
	}
	settle, err := l.desk.Settle(t.Context(), record, records.Complete([]byte(`1`)))
	if err == nil {
		_, err = settle.Do(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	done := l.must("/api/bulk/do", map[string]any{"id": plan["id"], "count": 2})
	if done["done"] != 1.0 || done["changed"] != 1.0 {
		t.Errorf("what was done is %v", done)
	}
}

// TestCountingOftenLocksNobodyOut: whoever counts and goes away leaves a plan behind.
func TestCountingOftenLocksNobodyOut(t *testing.T) {
	l := newLab(t, console.Config{Access: everybodyWrites})
	l.acquire("payment#1", time.Hour)
	var ids []any
	for range 20 {
		ids = append(ids, l.must("/api/bulk/plan", map[string]any{"filter": map[string]any{}, "action": map[string]any{"do": "forget"}})["id"])
	}
	if status, _ := l.ask("/api/bulk/do", map[string]any{"id": ids[0], "count": 1}); status != http.StatusBadRequest {
		t.Errorf("the first plan of many answers %d", status)
	}
	if done := l.must("/api/bulk/do", map[string]any{"id": ids[19], "count": 1}); done["done"] != 1.0 {
		t.Errorf("the last one has done %v", done)
	}
}

func TestListsFindAndPage(t *testing.T) {
	l := newLab(t, console.Config{PageSize: 10})
	for n := range 35 {
		l.complete(fmt.Sprintf("payment#%02d", n), time.Hour, `1`)
	}
	l.acquire("order#lost", 2*time.Hour)
	seen := make(map[string]bool)
	cursor := ""
	for {
		page := l.must("/api/records?cursor="+cursor, nil)
		for _, key := range keysOf(page) {
			if seen[key] {
				t.Errorf("%s is on two pages", key)
			}
			seen[key] = true
		}
		next, more := page["cursor"].(string)
		if !more {
			break
		}
		cursor = next
	}
	if len(seen) != 36 {
		t.Errorf("the pages have %d records, want 36", len(seen))
	}
	for query, want := range map[string]int{
		"search=lost": 1, "search=order%23lost": 1, "search=request+of+payment%2307": 1, "search=nothing": 0,
		"state=died": 1, "stuck=1": 1, "operation=order": 1, "older_than=90m": 1, "state=running": 0,
	} {
		if got := keysOf(l.must("/api/records?"+query, nil)); len(got) != want {
			t.Errorf("%s finds %v, want %d", query, got, want)
		}
	}
	for _, query := range []string{"older_than=yesterday", "tenant=t"} {
		if status, _ := l.ask("/api/records?"+query, nil); status != http.StatusBadRequest {
			t.Errorf("%s answers %d", query, status)
		}
	}
	overview := l.must("/api/overview", nil)
	if overview["total"] != 36.0 || overview["states"].(map[string]any)["completed"] != 35.0 || overview["reasons"].(map[string]any)["run_died"] != 1.0 {
		t.Errorf("the overview is %v", overview)
	}
}

func TestAConfigThatMakesNoSense(t *testing.T) {
	desk := newLab(t, console.Config{}).desk
	for name, config := range map[string]console.Config{
		"a negative page": {PageSize: -1}, "a page of everything": {PageSize: 5000}, "a negative limit": {MaxUnits: -1},
		"a negative number": {MaxBulk: -1}, "a negative price": {PricePerMillion: -1},
	} {
		if _, err := console.New(desk, config); !errors.Is(err, console.ErrConfig) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := console.New(nil, console.Config{}); !errors.Is(err, console.ErrConfig) {
		t.Errorf("no desk: %v", err)
	}
}

// slow is a store whose table answers late, as one does that is throttled.
type slow struct{ *persistence.Memory }

func (s slow) List(_ context.Context, _ storekit.Query) (page storekit.Page, err error) {
	time.Sleep(5 * time.Second)
	return storekit.Page{Records: s.Records(), Seen: len(s.Records())}, nil
}

// TestASlowTableIsNotTakenForAnEmptyOne: that nothing matches is said of what was looked at.
func TestASlowTableIsNotTakenForAnEmptyOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, console.Config{})
		l.acquire("payment#1", time.Hour)
		desk, err := records.New(slow{l.store.(*persistence.Memory)}, records.Config{})
		if err != nil {
			t.Fatal(err)
		}
		if l.handler, err = console.New(desk, console.Config{}); err != nil {
			t.Fatal(err)
		}
		if got := keysOf(l.must("/api/records", nil)); len(got) != 1 {
			t.Errorf("it lists %v", got)
		}
	})
}

// TestMessagesOfFailuresAreRedactedToo, as all that is a content.
func TestMessagesOfFailuresAreRedactedToo(t *testing.T) {
	const secret = "card 4111111111111111"
	var parts []string
	l := newLab(t, console.Config{Redact: func(_ context.Context, _ records.Record, part console.Part, _ []byte) []byte {
		parts = append(parts, string(part))
		return []byte("hidden")
	}})
	lease := l.acquire("payment#1", time.Hour)
	store := l.store.(persistence.Checkpointer)
	for name, entry := range map[string]string{
		"reserve": `{"order":1,"compensable":true}`, ":unwinding": `{"errorType":"T","errorMessage":"` + secret + `"}`,
		":compensation": `{"step":"reserve","errorType":"T","errorMessage":"` + secret + `"}`,
	} {
		if err := store.Checkpoint(t.Context(), lease, name, []byte(entry)); err != nil {
			t.Fatal(err)
		}
	}
	shown := l.shown("payment#1")
	for _, path := range []string{"/api/records", "/api/record?key=payment%231"} {
		if answer := fmt.Sprint(l.must(path, nil)); strings.Contains(answer, secret) || !strings.Contains(answer, "compensation_failed") {
			t.Errorf("%s: %s", path, answer)
		}
	}
	if answer := fmt.Sprint(l.must("/api/open", shown)); strings.Contains(answer, secret) || !slices.Contains(parts, "failure") || !slices.Contains(parts, "compensation") {
		t.Errorf("opened: %s, redacted were %q", answer, parts)
	}
}
