package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ikkai-go/idempotency/persistence"
)

const pageKey = "checkout#7a8c7a36"

// pageWorld is the night of docs/operate.md: a checkout that died, and that is being undone in the
// one case, in the folder that the commands are typed in.
func pageWorld(t *testing.T, undoing bool) *desk {
	t.Helper()
	d := newDesk(t)
	lease := d.acquire(pageKey, time.Hour)
	steps := map[string]string{"reserve-stock": `{"order":1,"output":"box","compensable":true}`, "charge:started": `{}`}
	if undoing {
		steps = map[string]string{"reserve-stock": steps["reserve-stock"], ":unwinding": `{"errorType":"DeclinedError","errorMessage":"declined"}`}
	}
	for name, entry := range steps {
		if err := d.store.Checkpoint(t.Context(), lease, name, []byte(entry)); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(t.TempDir())
	for file, content := range map[string]string{
		"event.json": `{"order_id":"4711"}`, "result.json": `{"id":"ord_1"}`, "output.json": `"ch_1"`,
		"stuck.jsonl": d.must("records", "list", "--stuck", "--json"),
	} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d.db.ResetLog()
	return d
}

// TestTheCommandsOfTheRunbookWork types each of them, on a table of its own, and holds the
// page's policies against what they ask of DynamoDB.
func TestTheCommandsOfTheRunbookWork(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "operate.md"))
	if err != nil {
		t.Fatal(err)
	}
	look, write := policies(t, page)
	commands := 0
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllSubmatch(page, -1) {
		for line := range strings.Lines(string(block[1])) {
			line, _, _ = strings.Cut(strings.TrimSpace(line), "  #")
			line, _, _ = strings.Cut(line, " > ") // what it prints is a list, or is not looked at
			if typed, ours := strings.CutPrefix(strings.TrimSpace(line), "ikkai "); ours && !strings.HasSuffix(typed, " KEY") {
				commands++
				t.Run(line, func(t *testing.T) { typeIn(t, typed, look, write) })
			}
		}
	}
	if commands < 20 {
		t.Errorf("the page has %d commands", commands)
	}
}

func typeIn(t *testing.T, typed string, look, write []string) {
	t.Helper()
	d := pageWorld(t, strings.Contains(typed, "--undo-step"))
	version := d.version(pageKey)
	d.db.ResetLog()
	args := words(strings.NewReplacer("$KEY", pageKey, "$VERSION", version).Replace(typed))
	if args[0] == "records" && args[1] == "resume" {
		lambda := newLambda(t, "checkout:live", func([]byte) error { return finish(t.Context(), d) })
		args = append(args, "--lambda-endpoint="+lambda)
	}
	var out, problems bytes.Buffer
	ctx := t.Context()
	if args[0] == "console" { // until it is ended
		ended, cancel := context.WithCancel(ctx)
		cancel()
		ctx = ended
	}
	if !slices.Contains(args, "key") {
		args = append(args, "--table-name=idempotency", "--endpoint-url="+d.endpoint)
	}
	if status := run(ctx, args, &out, &problems); status != 0 {
		t.Errorf("exit status %d\n%s%s", status, &out, &problems)
	}
	may := look
	if slices.Contains(args, "--yes") || args[0] == "doctor" { // which tries what functions may
		may = append(slices.Clone(look), write...)
	}
	for _, r := range d.db.Requests() {
		if !slices.Contains(may, "dynamodb:"+r.Operation) {
			t.Errorf("it asks for %s, and the page allows %v", r.Operation, may)
		}
	}
}

// finish is what the resumed function leaves.
func finish(ctx context.Context, d *desk) error {
	at := time.Now()
	r, err := d.store.Acquire(ctx, persistence.Claim{Key: pageKey, Owner: "resumed", Now: at, LeaseUntil: at.Add(time.Minute).Truncate(time.Millisecond), ExpiresAt: at.Add(time.Hour).Truncate(time.Second)})
	if err != nil {
		return err
	}
	return d.store.Complete(ctx, r.Lease(), persistence.Outcome{Status: persistence.StatusCompleted, Result: []byte(`"sold"`), ExpiresAt: at.Add(time.Hour).Truncate(time.Second)})
}

// words takes a command apart, as a shell does where there are no more than double quotes.
func words(command string) (words []string) {
	for _, word := range regexp.MustCompile(`("[^"]*"|\S)+`).FindAllString(command, -1) {
		words = append(words, strings.ReplaceAll(word, `"`, ""))
	}
	return words
}

// policies are the actions of the page's two policies.
func policies(t *testing.T, page []byte) (look, write []string) {
	t.Helper()
	var all [][]string
	for _, block := range regexp.MustCompile("(?s)```json\n(.*?)```").FindAllSubmatch(page, -1) {
		var policy struct{ Statement []struct{ Action []string } }
		if err := json.Unmarshal(block[1], &policy); err != nil {
			t.Fatal(err)
		}
		all = append(all, policy.Statement[0].Action)
	}
	if len(all) != 2 {
		t.Fatalf("the page has %d policies", len(all))
	}
	return all[0], all[1]
}
