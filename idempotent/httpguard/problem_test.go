package httpguard

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ikkai-go/idempotency/idempotent"
)

// The type of a problem leads to where it is explained.
func TestEveryCodeIsExplained(t *testing.T) {
	page, err := os.ReadFile("../../docs/http.md")
	if err != nil {
		t.Fatal(err)
	}
	explained := make(map[idempotent.Code]bool)
	for line := range strings.Lines(string(page)) {
		if code, ok := strings.CutPrefix(strings.TrimSpace(line), "### "); ok {
			explained[idempotent.Code(code)] = true
		}
	}
	for code, k := range kinds {
		if !explained[code] || k.title == "" || k.about == "" {
			t.Errorf("%s is not explained", code)
		}
		delete(explained, code)
	}
	for code := range explained {
		t.Errorf("%s is explained, and there is no such code", code)
	}
}

// Whatever the code, an answer claims what the verdict knows and nothing else, and only
// what may be repeated has a status and a time that clients repeat.
func TestAnswersGoByTheVerdictAndByNothingElse(t *testing.T) {
	api := &API{config: Config{}.withDefaults()}
	claims := map[idempotent.Done]string{
		idempotent.DoneNothing: "This try has done nothing.", idempotent.DoneMaybe: "may have been carried out",
		idempotent.DoneSomething: "A part of the request was carried out", idempotent.DoneAll: "The request was carried out.",
	}
	for code := range kinds {
		for done, claim := range claims {
			for _, retry := range []bool{true, false} {
				f := refusal{Verdict: idempotent.Verdict{Done: done, Retry: retry, After: 3 * time.Second, Code: code}}
				answer := api.refuse(&Request{}, f)
				for other, text := range claims {
					if strings.Contains(answer.Body, text) != (other == done) {
						t.Errorf("%s, %s: %s", code, done, answer.Body)
					}
				}
				if !strings.Contains(answer.Body, claim) || strings.Contains(answer.Body, "Repeat it") != retry {
					t.Errorf("%s, to be repeated %t: %s", code, retry, answer.Body)
				}
				if (answer.Headers["Retry-After"] == "3") != retry {
					t.Errorf("%s, to be repeated %t: in %q", code, retry, answer.Headers["Retry-After"])
				}
				if repeated := answer.Status == 503; kinds[code].status == 0 && repeated != (retry || done == idempotent.DoneNothing) {
					t.Errorf("%s, done %s, to be repeated %t: %d", code, done, retry, answer.Status)
				}
				for _, member := range []string{`"code":"` + string(code) + `"`, `"done":"` + done.String() + `"`, "#" + string(code) + `"`} {
					if !strings.Contains(answer.Body, member) {
						t.Errorf("%s has no %s", answer.Body, member)
					}
				}
			}
		}
	}
}
