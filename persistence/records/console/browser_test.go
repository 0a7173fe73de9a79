package console_test

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/records/console"
)

var screenshots = flag.String("screenshots", "", "a folder to save pictures of the page in")

// browser returns the path of a Chromium, which Debian has as a package of that name.
func browser(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("LEFT OUT: the console in a real browser: no chromium (Debian: apt-get install chromium)")
	return ""
}

// visit opens an address in a browser without a window, and returns what it writes.
func visit(t *testing.T, address string, flags ...string) string {
	t.Helper()
	// The budget is of the page's own clock, which stands still while it waits for the server.
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	args := append([]string{"--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run",
		"--user-data-dir=" + t.TempDir(), "--virtual-time-budget=20000"}, flags...)
	command := exec.CommandContext(ctx, browser(t), append(args, address)...)
	out, err := command.Output()
	if err != nil {
		t.Fatalf("the browser: %v", err)
	}
	return string(out)
}

// furnished is a console with ten thousand records, a few of them stuck.
func furnished(t *testing.T) *lab {
	t.Helper()
	l := newLab(t, console.Config{Title: "idempotency · test", Access: everybodyWrites, PricePerMillion: 1.25})
	for n := range 10_000 {
		operation := []string{"payment", "payment", "payment", "order", "order", "e-mail"}[n%6]
		l.complete(fmt.Sprintf("%s#%08x", operation, n*2654435761%(1<<32)), time.Duration(n)*7*time.Second, `{"ok":true}`)
	}
	for n := range 4 {
		l.acquire(fmt.Sprintf("payment#died-%d", n), time.Duration(n+1)*time.Hour)
	}
	l.acquire("order#alive", 5*time.Second)
	lease := l.acquire("checkout#stuck", 3*time.Hour)
	store := l.store.(persistence.Checkpointer)
	for name, entry := range map[string]string{
		"reserve-stock":  `{"order":1,"output":{"reservation":"res_5"},"compensable":true}`,
		"charge:started": `{}`,
	} {
		if err := store.Checkpoint(t.Context(), lease, name, []byte(entry)); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.store.Release(t.Context(), lease); err != nil {
		t.Fatal(err)
	}
	return l
}

// driven serves a console whose page loads testdata/drive.js besides.
func driven(console http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", console)
	mux.HandleFunc("GET /drive.js", func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, "testdata/drive.js") })
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		content, err := os.ReadFile("page/index.html")
		if err != nil {
			panic(err)
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, strings.Replace(string(content), "</body>", `<script type="module" src="drive.js"></script></body>`, 1))
	})
	return mux
}

func TestAStuckRecordIsFoundShownAndSettledInABrowser(t *testing.T) {
	browser(t)
	l := furnished(t)
	page := visit(t, serve(t, driven(l.handler)).String(), "--dump-dom")
	title := regexp.MustCompile(`<title>(.*?)</title>`).FindStringSubmatch(page)
	if title == nil || title[1] != "list; timeline of 4; contents; plan of 2; settled" {
		t.Fatalf("the story is %q", title)
	}
	record, err := l.desk.Show(t.Context(), "checkout#stuck")
	if err == nil {
		record, err = l.desk.Open(t.Context(), record)
	}
	if err != nil || record.Result == nil || string(record.Result.Content) != `{"order": 12345678901234567890}` {
		t.Errorf("the settled record is %+v (%v): the result must be what was typed", record, err)
	}
}

func TestPicturesOfThePage(t *testing.T) {
	if *screenshots == "" {
		t.Skip("only with -screenshots=FOLDER")
	}
	address := serve(t, furnished(t).handler)
	folder, err := filepath.Abs(*screenshots)
	if err != nil {
		t.Fatal(err)
	}
	for name, view := range map[string]string{"list": "", "stuck": "#/?stuck=1", "record": "#/record?key=" + url.QueryEscape("checkout#stuck")} {
		for form, flags := range map[string][]string{
			"wide": {"--window-size=1280,1000"}, "phone": {"--window-size=500,1100", "--force-device-scale-factor=1"}, "dark": {"--window-size=1280,1000", "--blink-settings=preferredColorScheme=0"},
		} {
			visit(t, address.String()+view, append(flags, "--screenshot="+filepath.Join(folder, name+"-"+form+".png"))...)
		}
	}
}

// TestOddRecordsInABrowser shows what others have named, records in no state for anything, and the
// messages of failures only when asked.
func TestOddRecordsInABrowser(t *testing.T) {
	browser(t)
	const odd = `payment#=a b%20?&c="'<img src=x onerror="document.title='owned'">#/`
	l := newLab(t, console.Config{Access: everybodyWrites, Title: "<b>title"})
	lease := l.acquire(odd, time.Hour)
	for name, entry := range map[string]string{
		`<script>document.title="owned"</script>`: `{"order":1,"output":"</pre><script>document.title='owned'</script>","compensable":true}`,
		":unwinding":    `{"errorType":"T","errorMessage":"a secret"}`,
		":compensation": `{"step":"x","errorType":"U","errorMessage":"a secret"}`,
	} {
		if err := l.store.(persistence.Checkpointer).Checkpoint(t.Context(), lease, name, []byte(entry)); err != nil {
			t.Fatal(err)
		}
	}
	address := serve(t, l.handler).String()
	for view, parts := range map[string][]string{
		"":                                     {"&lt;b&gt;title", "payment#=a b%20?&amp;c="},
		"#/record?key=" + url.QueryEscape(odd): {"payment#=a b%20?&amp;c=", "Step &lt;script&gt;", "Undoing x has failed", "its message is shown with the contents"},
		"#/record?key=" + strings.ReplaceAll(url.QueryEscape(odd), "+", "%20"): {"payment#=a b%20?&amp;c="},
		"#/record?key=nothing": {"That did not work", "there is no record nothing"},
	} {
		page := visit(t, address+view, "--dump-dom")
		for _, part := range parts {
			if !strings.Contains(page, part) {
				t.Errorf("%s lacks %q:\n%s", view, part, page)
			}
		}
		if strings.Contains(page, "<title>owned") || strings.Contains(page, "<img") || strings.Contains(page, "a secret") {
			t.Errorf("%s acts upon what it shows, or tells too much:\n%s", view, page)
		}
	}
}
