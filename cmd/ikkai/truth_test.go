package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// TestWhatOthersHaveNamedIsShownAndNotActedUpon: keys, names and messages come from whoever can
// write to the table.
func TestWhatOthersHaveNamedIsShownAndNotActedUpon(t *testing.T) {
	const forged = "payment#=x\x1b]0;owned\a\nCOMPLETED  payment#fine\u202e\u009b31m"
	d := newDesk(t)
	lease := d.acquire(forged, time.Hour)
	for name, entry := range map[string]string{
		"a\x1b[2Jb:started": "{}", ":unwinding": `{"errorType":"T\u001b[2J","errorMessage":"m\n\nstate  completed"}`,
	} {
		if err := d.store.Checkpoint(t.Context(), lease, name, []byte(entry)); err != nil {
			t.Fatal(err)
		}
	}
	_, _, problem := d.ikkai("records", "show", "payment#\x1b[2J")
	for how, text := range map[string]string{
		"list":     d.must("records", "list"),
		"show":     d.must("records", "show", forged),
		"contents": d.must("records", "show", forged, "--contents"),
		"dry run":  d.must("records", "forget", forged),
		"problem":  problem,
	} {
		if strings.ContainsAny(text, "\x1b\a\u202e\u009b") || strings.Contains(text, "\nCOMPLETED") || strings.Contains(text, "\nstate  completed") {
			t.Errorf("%s prints %q", how, text)
		}
	}
	if dry := d.must("records", "forget", forged); !strings.Contains(dry, `$'payment#=x\x1b`) {
		t.Errorf("the command to type is not that of the key:\n%s", dry)
	}
}

// TestAListWithWhatCantBeDoneIsDoneAsFarAsItCan, and each record of it once.
func TestAListWithWhatCantBeDoneIsDoneAsFarAsItCan(t *testing.T) {
	d := newDesk(t)
	d.db.Seed("idempotency", map[string]types.AttributeValue{
		"idempotency_key": &types.AttributeValueMemberS{Value: "payment#0"}, "status": &types.AttributeValueMemberS{Value: "PROCESSING"},
		"version": &types.AttributeValueMemberN{Value: "99"},
	})
	d.acquire("payment#1", time.Hour)
	if shown := d.must("records", "show", "payment#0", "--contents"); !strings.Contains(shown, "unreadable") || strings.Contains(shown, "never") || strings.Contains(shown, "died") {
		t.Errorf("it is shown as\n%s", shown)
	}
	if doctor := d.must("doctor"); !strings.Contains(doctor, "unreadable: 1") {
		t.Errorf("the doctor says\n%s", doctor)
	}
	list := d.must("records", "list", "--stuck", "--json")
	file := filepath.Join(t.TempDir(), "list")
	if err := os.WriteFile(file, []byte(list+list), 0o600); err != nil {
		t.Fatal(err)
	}
	if dry := d.must("records", "forget", "--from="+file); !strings.Contains(dry, "done to: 1; left alone: 1.") || !strings.Contains(dry, "To payment#1") {
		t.Errorf("the dry run says\n%s", dry)
	}
	if status, stdout, stderr := d.ikkai("records", "forget", "--from="+file, "--yes"); status != 4 || strings.Count(stdout, "gone") != 1 || !strings.Contains(stderr, "left alone: records: payment#0") {
		t.Errorf("exit status %d\n%s%s", status, stdout, stderr)
	}
}

// TestNothingIsWrittenByAWrongClock, which takes runs under way for dead ones.
func TestNothingIsWrittenByAWrongClock(t *testing.T) {
	for ahead, may := range map[time.Duration]bool{0: true, 5 * time.Second: true, time.Minute: false, -time.Minute: false} {
		d := newDesk(t)
		d.acquire("payment#1", time.Hour)
		version := d.version("payment#1")
		list := d.must("records", "list", "--json")
		file := filepath.Join(t.TempDir(), "list")
		if err := os.WriteFile(file, []byte(list), 0o600); err != nil {
			t.Fatal(err)
		}
		behind, err := url.Parse(d.endpoint)
		if err != nil {
			t.Fatal(err)
		}
		wrong := httptest.NewServer(&httputil.ReverseProxy{
			Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(behind) },
			ModifyResponse: func(r *http.Response) error {
				r.Header.Set("Date", time.Now().Add(-ahead).UTC().Format(http.TimeFormat))
				return nil
			},
		})
		right := d.endpoint
		d.endpoint = wrong.URL
		if status, _, _ := d.ikkai("records", "forget", "--from="+file, "--yes"); (status == 0) != may {
			t.Errorf("a list, %v ahead: exit status %d", ahead, status)
		}
		d.endpoint = right
		if may {
			d.acquire("payment#1", time.Hour)
			version = d.version("payment#1")
		}
		d.endpoint = wrong.URL
		status, _, stderr := d.ikkai("records", "forget", "payment#1", "--version="+version, "--yes")
		if (status == 0) != may || !may && !strings.Contains(stderr, "clock") {
			t.Errorf("%v ahead: exit status %d\n%s", ahead, status, stderr)
		}
		wrong.Close()
	}
}

// TestAMonthOfRecordsThatAreKeptForThree has all three in the table.
func TestAMonthOfRecordsThatAreKeptForThree(t *testing.T) {
	cost := func(ttl string) (last float64) {
		status, stdout, stderr := ikkai(t, "cost", "--requests=1e9", "--price-storage=1", "--ttl="+ttl, "--json")
		if status != 0 {
			t.Fatal(stderr)
		}
		lines := strings.Split(strings.TrimSpace(stdout), "\n")
		var together struct{ Cost float64 }
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &together); err != nil {
			t.Fatal(err)
		}
		return together.Cost
	}
	if one, three := cost("720h"), cost("2160h"); one == 0 || three < 2.99*one || three > 3.01*one {
		t.Errorf("a month costs %v, three %v", one, three)
	}
	for _, number := range []string{"NaN", "Inf"} {
		if status, stdout, _ := ikkai(t, "cost", "--requests="+number, "--json"); status != 2 || stdout != "" {
			t.Errorf("%s requests: exit status %d\n%s", number, status, stdout)
		}
	}
}

// ikkai runs a command that needs no table.
func ikkai(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, problems bytes.Buffer
	status = run(t.Context(), args, &out, &problems)
	return status, out.String(), problems.String()
}
