package recorded_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

var (
	writeTo  = flag.String("write", "", "record what this build stores into the file")
	readFrom = flag.String("items", "testdata/*/items.json", "files with recorded items")
)

// recording is what a build has stored.
type recording struct {
	Build   string    `json:"build"`
	Since   []string  `json:"since"` // attributes that builds before it did not have
	Records []*record `json:"records"`
}

// record is what one call has stored, and what came next.
type record struct {
	Name string `json:"name"`
	// At is the time of the items, by a clock that began with the bubble's.
	At       time.Time         `json:"at"`
	Items    tables            `json:"items"`
	Blobs    map[string][]byte `json:"blobs,omitempty"`
	Arrivals []*arrival        `json:"arrivals"`
}

// arrival is the same request once more.
type arrival struct {
	When   string `json:"when"`
	Ran    string `json:"ran"`    // what was carried out
	Answer string `json:"answer"` // what the caller was told
	// Items are those that are then there, if they have changed.
	Items tables `json:"items,omitempty"`
}

// tables are items by table, in DynamoDB's JSON.
type tables map[string][]map[string]any

// arrivals of every request, one after the other.
var arrivals = []struct {
	when  string
	after time.Duration
	about int // the amount that the request is about
}{
	{"at once", 0, 1},
	{"when the lease is over", 20 * time.Minute, 1},
	{"again", 0, 1},
	{"about something else", 0, 2},
}

// TestWrite records what this build stores: see the package documentation.
func TestWrite(t *testing.T) {
	if *writeTo == "" {
		t.Skip("no -write")
	}
	r := recording{Build: os.Getenv("BUILD"), Since: sinceThen}
	for _, c := range calls {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				made := c.record(t)
				made.Arrivals = c.arrive(t, made)
				r.Records = append(r.Records, made)
			})
		})
	}
	text, err := json.MarshalIndent(r, "", " ")
	if err == nil {
		err = os.WriteFile(*writeTo, append(text, '\n'), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestRecordedItemsAreReplayedTakenOverAndResumed answers the next arrivals as the build
// has that has stored the items.
func TestRecordedItemsAreReplayedTakenOverAndResumed(t *testing.T) {
	each(t, func(t *testing.T, c call, r *record, since []string) {
		for i, got := range c.arrive(t, r) {
			want := r.Arrivals[i]
			if got.Ran != want.Ran || got.Answer != want.Answer {
				t.Errorf("%s: ran %q and answered %q, recorded are %q and %q", got.When, got.Ran, got.Answer, want.Ran, want.Answer)
			}
			sameItems(t, got.When, got.Items, want.Items, c.opaque, since)
		}
	})
}

// TestTheSameCallsStoreTheSameBytes makes the calls anew.
func TestTheSameCallsStoreTheSameBytes(t *testing.T) {
	each(t, func(t *testing.T, c call, r *record, since []string) {
		sameItems(t, "the call", c.record(t).Items, r.Items, c.opaque, since)
	})
}

// TestEveryCallIsRecorded has a case for each record, and a record for each case.
func TestEveryCallIsRecorded(t *testing.T) {
	seen := make(map[string]bool)
	each(t, func(_ *testing.T, c call, _ *record, _ []string) { seen[c.name] = true })
	for _, c := range calls {
		if !seen[c.name] {
			t.Errorf("no build has recorded %q", c.name)
		}
	}
}

// each runs a test for each record of each build, in virtual time that begins with that of
// the recording.
func each(t *testing.T, test func(t *testing.T, c call, r *record, since []string)) {
	t.Helper()
	files, err := filepath.Glob(*readFrom)
	if err != nil || len(files) == 0 {
		t.Fatal("no recorded items: ", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var r recording
		if err := json.Unmarshal(text, &r); err != nil {
			t.Fatal(err)
		}
		for _, recorded := range r.Records {
			t.Run(r.Build+"/"+recorded.Name, func(t *testing.T) {
				i := slices.IndexFunc(calls, func(c call) bool { return c.name == recorded.Name })
				if i < 0 {
					t.Fatal("no call has made this record")
				}
				synctest.Test(t, func(t *testing.T) { test(t, calls[i], recorded, slices.Concat(sinceThen, r.Since)) })
			})
		}
	}
}

// record makes the call in an empty world.
func (c call) record(t *testing.T) *record {
	t.Helper()
	w := newWorld(t)
	w.recording, w.amount = true, 1
	_ = c.make(w)
	w.die() // at the latest
	w.left.Name = c.name
	return w.left
}

// arrive lets the request arrive again, in a world in which there is only what a record
// says.
func (c call) arrive(t *testing.T, r *record) []*arrival {
	t.Helper()
	time.Sleep(time.Until(r.At)) // virtual
	w := newWorld(t)
	w.blobs.put(r.Blobs)
	text, err := json.Marshal(r.Items)
	if err == nil {
		_, err = w.db.SeedJSON(text)
	}
	if err != nil {
		t.Fatal(err)
	}
	var all []*arrival
	before := w.items()
	for _, a := range arrivals {
		time.Sleep(a.after) // virtual
		w.ran, w.amount = nil, a.about
		answer := c.make(w)
		told := &arrival{When: a.when, Ran: fmt.Sprint(w.ran), Answer: answer}
		if now := w.items(); !reflect.DeepEqual(now, before) {
			told.Items, before = now, now
		}
		all = append(all, told)
	}
	return all
}

// world is what a call finds.
type world struct {
	t         *testing.T
	db        *dynamotest.DB
	blobs     *shelf
	recording bool // the first attempt, in which things go wrong
	again     bool // or the second, in which others do
	amount    int  // that the request is about
	tenant    string
	ran       []string
	left      *record // what a process that has died leaves
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, db: dynamotest.New(t), blobs: new(shelf)}
	w.createTables()
	return w
}

// run notes what is carried out.
func (w *world) run(what string) { w.ran = append(w.ran, what) }

// die ends the process that makes the recorded attempt: what is stored at that moment stays.
// The goroutine goes on, in a world that nobody looks at.
func (w *world) die() {
	if w.recording && w.left == nil {
		w.left = &record{At: time.Now().UTC(), Items: w.items(), Blobs: w.blobs.all()}
	}
}

// items are all that is stored.
func (w *world) items() tables {
	all := make(tables)
	for _, name := range tableNames {
		if items := w.db.Items(name); len(items) > 0 {
			all[name] = wire(items)
		}
	}
	return all
}

// context has as much time as a Lambda function may have.
func (w *world) context() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
	w.t.Cleanup(cancel)
	return ctx
}
