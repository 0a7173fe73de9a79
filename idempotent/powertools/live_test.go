package powertools_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/powertools"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
)

// liveEnv names the directory that live/setup.sh has filled.
const liveEnv = "POWERTOOLS_LIVE"

// peerProcess is a process that runs the real package: it takes commands and gives an
// answer to each.
type peerProcess struct {
	t       *testing.T
	in      io.Writer
	out     *bufio.Reader
	version string
	parts   []string // other versions
}

// command is one call of a function that the real package guards.
type command struct {
	FunctionName string        `json:"functionName"`
	Event        string        `json:"event,omitempty"`
	EventKey     string        `json:"eventKey,omitempty"`
	Validation   string        `json:"validation,omitempty"`
	Hash         string        `json:"hash,omitempty"`
	Prefix       string        `json:"prefix,omitempty"`
	Raise        bool          `json:"raise,omitempty"`
	Result       string        `json:"result,omitempty"`    // JSON
	Remaining    int           `json:"remaining,omitempty"` // milliseconds
	Hold         bool          `json:"hold,omitempty"`      // until proceed
	Fail         bool          `json:"fail,omitempty"`
	Endpoint     string        `json:"endpoint,omitempty"` // none: what is written is answered
	Table        *commandTable `json:"table,omitempty"`
	Lower        bool          `json:"lower,omitempty"`       // the lower-case forms of all characters, instead of a call
	Expressions  []string      `json:"expressions,omitempty"` // what is hashed of Events by each as an EventKey, instead of a call
	Events       []string      `json:"events,omitempty"`
}

type commandTable struct {
	SortKey        string `json:"sortKey,omitempty"`
	PartitionValue string `json:"partitionValue,omitempty"`
	Renamed        bool   `json:"renamed,omitempty"`
}

// answer is what came of a call.
type answer struct {
	Calls    int               `json:"calls,omitempty"` // of the function
	Result   string            `json:"result,omitempty"`
	Error    string            `json:"error,omitempty"`
	Running  bool              `json:"running,omitempty"` // it is in the function, and waits
	Put      string            `json:"put,omitempty"`
	Updated  string            `json:"updated,omitempty"`
	Hash     string            `json:"hash,omitempty"`
	Lower    map[string]string `json:"lower,omitempty"`
	Version  string            `json:"version,omitempty"`  // once, before all answers
	Parts    []string          `json:"parts,omitempty"`    // other versions
	Outcomes [][]string        `json:"outcomes,omitempty"` // nil for an expression that does not compile
}

type language struct {
	name    string
	new     func(powertools.Options) (*powertools.Peer, error)
	options powertools.Options
	command func(dir string) *exec.Cmd
	python  string // the directory of other packages, inside of that of the real ones
}

// oldestPython has the oldest jmespath.py that is known.
var oldestPython = language{name: "Python", new: powertools.Python, options: languages[0].options, command: languages[0].command, python: "oldest"}

func (l language) nameOfRun() string { return strings.TrimSuffix(l.name+" "+l.python, " ") }

var languages = []language{
	{
		name: "Python", new: powertools.Python,
		options: powertools.Options{FunctionName: "orders-fn", Function: "app.lambda_handler"},
		command: func(dir string) *exec.Cmd {
			return exec.Command(filepath.Join(dir, "venv", "bin", "python"), filepath.Join("live", "peer.py"))
		},
	},
	{
		name: "TypeScript", new: powertools.TypeScript,
		options: powertools.Options{FunctionName: "orders-fn"},
		command: func(string) *exec.Cmd { return exec.Command("node", filepath.Join("live", "peer.cjs")) },
	},
}

// start starts the process, and ends it with the test.
func (l language) start(t *testing.T) peerProcess {
	t.Helper()
	dir := os.Getenv(liveEnv)
	if dir == "" {
		t.Skipf("left out: the real %s package; live/setup.sh installs it, %s says where", l.name, liveEnv)
	}
	process := l.command(dir)
	process.Stderr = os.Stderr
	if l.python != "" {
		process.Env = append(os.Environ(), "PYTHONPATH="+filepath.Join(dir, l.python))
	}
	in, err := process.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := process.Wait(); err != nil {
			t.Errorf("the peer's process: %v", err)
		}
	})
	p := peerProcess{t: t, in: in, out: bufio.NewReaderSize(out, 1<<20)}
	first := p.answer()
	p.version, p.parts = first.Version, first.Parts
	t.Logf("the real %s package %s, %v", l.name, p.version, p.parts)
	return p
}

func (p peerProcess) call(c command) answer {
	p.t.Helper()
	line, err := json.Marshal(c)
	if err != nil {
		p.t.Fatal(err)
	}
	if _, err := p.in.Write(append(line, '\n')); err != nil {
		p.t.Fatal(err)
	}
	return p.answer()
}

func (p peerProcess) answer() answer {
	p.t.Helper()
	line, err := p.out.ReadBytes('\n')
	if err != nil {
		p.t.Fatal(err)
	}
	var a answer
	if err := json.Unmarshal(line, &a); err != nil {
		p.t.Fatalf("%s: %v", line, err)
	}
	return a
}

// proceed lets a held function return.
func (p peerProcess) proceed() answer {
	p.t.Helper()
	if _, err := p.in.Write([]byte("\n")); err != nil {
		p.t.Fatal(err)
	}
	return p.answer()
}

// sharedTable is a table that both sides use.
type sharedTable struct {
	table
	language string
	peer     *powertools.Peer
	process  peerProcess
	base     command
}

func (l language) share(t *testing.T, process peerProcess, shape commandTable) sharedTable {
	t.Helper()
	o := l.options
	o.EventKey, o.Validation, o.Version = "id", "amount", process.version
	o.Table = dynamostore.Config{Table: "idempotency", PartitionValue: shape.PartitionValue}
	o.Table.Attributes.SortKey = shape.SortKey
	if shape.Renamed {
		a := &o.Table.Attributes
		a.ExpireAt, a.Status, a.Result = "exp_at", "st", "resp"
	}
	peer, err := l.new(o)
	if err != nil {
		t.Fatal(err)
	}
	table := newTable(t, peer)
	url, err := table.db.Serve()
	if err != nil {
		t.Fatal(err)
	}
	process.t = t
	return sharedTable{table, l.name, peer, process, command{
		FunctionName: "orders-fn", EventKey: "id", Validation: "amount", Endpoint: url, Table: &shape,
	}}
}

func event(id string) string { return `{"amount":5,"id":"` + id + `"}` }

const response = `{"ok":true,"n":1.5,"text":"日本"}`

// theirs calls their function.
func (s sharedTable) theirs(id string, change func(*command)) answer {
	s.t.Helper()
	c := s.base
	c.Event, c.Result = event(id), response
	if change != nil {
		change(&c)
	}
	return s.process.call(c)
}

// claim is a claim of ours at a time.
func (s sharedTable) claim(id string, now time.Time) persistence.Claim {
	s.t.Helper()
	key, fingerprint, err := s.peer.Identify([]byte(event(id)))
	if err != nil {
		s.t.Fatal(err)
	}
	return persistence.Claim{
		Key: key, Fingerprint: fingerprint, Owner: "ours of " + now.String(),
		Now: now, LeaseUntil: now.Add(time.Minute), ExpiresAt: now.Add(time.Hour),
	}
}

func (s sharedTable) acquire(c persistence.Claim) persistence.Record {
	s.t.Helper()
	record, err := s.store.Acquire(s.t.Context(), c)
	if err != nil {
		s.t.Fatal(err)
	}
	return record
}

func (s sharedTable) complete(r persistence.Record, expires time.Time) error {
	return s.store.Complete(s.t.Context(), r.Lease(), persistence.Outcome{
		Status: persistence.StatusCompleted, Result: []byte(response), ExpiresAt: expires,
	})
}

func (s sharedTable) expectTheirs(what string, a answer, calls int, failure string) {
	s.t.Helper()
	if a.Calls != calls || a.Error != failure {
		s.t.Errorf("%s: theirs ran %d times, error %q; want %d, %q", what, a.Calls, a.Error, calls, failure)
	}
	if failure == "" && compact(s.t, []byte(a.Result)) != compact(s.t, []byte(response)) {
		s.t.Errorf("%s: theirs answered %s", what, a.Result)
	}
}

func (s sharedTable) expectOurs(what string, r persistence.Record, status persistence.Status) {
	s.t.Helper()
	if r.Status != status {
		s.t.Errorf("%s: ours found %s, want %s", what, r.Status, status)
	}
	if status == persistence.StatusCompleted && compact(s.t, r.Result) != compact(s.t, []byte(response)) {
		s.t.Errorf("%s: ours found the result %s", what, r.Result)
	}
}

func TestLiveTheSameTable(t *testing.T) {
	const busy, differs = "IdempotencyAlreadyInProgressError", "IdempotencyValidationError"
	stories := map[string]func(*testing.T, sharedTable){
		"what ours completed is replayed by theirs": func(t *testing.T, s sharedTable) {
			now := time.Now()
			if err := s.complete(s.acquire(s.claim("1", now)), now.Add(time.Hour)); err != nil {
				t.Fatal(err)
			}
			s.expectTheirs("replay", s.theirs("1", nil), 0, "")
		},
		"what theirs completed is replayed by ours": func(_ *testing.T, s sharedTable) {
			s.expectTheirs("run", s.theirs("1", nil), 1, "")
			s.expectOurs("replay", s.acquire(s.claim("1", time.Now())), persistence.StatusCompleted)
			s.expectTheirs("their own replay", s.theirs("1", nil), 0, "")
		},
		"what ours works on is refused by theirs": func(t *testing.T, s sharedTable) {
			now := time.Now()
			record := s.acquire(s.claim("1", now))
			s.expectTheirs("duplicate", s.theirs("1", nil), 0, busy)
			if err := s.complete(record, now.Add(time.Hour)); err != nil {
				t.Error(err)
			}
		},
		"what theirs works on is refused by ours": func(t *testing.T, s sharedTable) {
			if !s.theirs("1", func(c *command) { c.Hold = true }).Running {
				t.Fatal("their function does not run")
			}
			s.expectOurs("duplicate", s.acquire(s.claim("1", time.Now())), persistence.StatusProcessing)
			s.expectTheirs("run", s.process.proceed(), 1, "")
			s.expectOurs("replay", s.acquire(s.claim("1", time.Now())), persistence.StatusCompleted)
		},
		"what ours released runs at theirs": func(t *testing.T, s sharedTable) {
			record := s.acquire(s.claim("1", time.Now()))
			if err := s.store.Release(t.Context(), record.Lease()); err != nil {
				t.Fatal(err)
			}
			s.expectTheirs("run", s.theirs("1", nil), 1, "")
		},
		"what failed at theirs runs at ours": func(t *testing.T, s sharedTable) {
			if a := s.theirs("1", func(c *command) { c.Fail = true }); a.Calls != 1 || a.Error == "" {
				t.Fatalf("their failure: %+v", a)
			}
			if r := s.acquire(s.claim("1", time.Now())); r.Attempt != 1 || r.Status != persistence.StatusProcessing {
				t.Errorf("ours found %+v", r)
			}
		},
		"theirs takes over what ours left behind, and ours notices": func(t *testing.T, s sharedTable) {
			record := s.acquire(s.claim("1", time.Now().Add(-2*time.Minute)))
			s.expectTheirs("take-over", s.theirs("1", nil), 1, "")
			if err := s.complete(record, time.Now().Add(time.Hour)); !errors.Is(err, persistence.ErrLeaseLost) {
				t.Errorf("ours completed late: %v, want ErrLeaseLost", err)
			}
			s.expectOurs("replay", s.acquire(s.claim("1", time.Now())), persistence.StatusCompleted)
		},
		"ours takes over what theirs left behind, and theirs does not notice": func(t *testing.T, s sharedTable) {
			if !s.theirs("1", func(c *command) { c.Hold, c.Remaining = true, 1 }).Running {
				t.Fatal("their function does not run")
			}
			claim := s.claim("1", time.Now().Add(time.Minute))
			record := s.acquire(claim)
			if record.Owner != claim.Owner || record.Attempt != 2 {
				t.Fatalf("ours did not take over: %+v", record)
			}
			s.expectTheirs("late run", s.process.proceed(), 1, "")
			if err := s.complete(record, time.Now().Add(time.Hour)); !errors.Is(err, persistence.ErrLeaseLost) {
				t.Errorf("ours completed what theirs has overwritten: %v, want ErrLeaseLost", err)
			}
		},
		"what ours completed long ago runs at theirs": func(t *testing.T, s sharedTable) {
			long := time.Now().Add(-3 * time.Hour)
			if err := s.complete(s.acquire(s.claim("1", long)), long.Add(time.Hour)); err != nil {
				t.Fatal(err)
			}
			s.expectTheirs("run", s.theirs("1", nil), 1, "")
		},
		"what theirs completed long ago runs at ours": func(t *testing.T, s sharedTable) {
			s.expectTheirs("run", s.theirs("1", nil), 1, "")
			claim := s.claim("1", time.Now().Add(2*time.Hour))
			if r := s.acquire(claim); r.Owner != claim.Owner || r.Attempt != 1 {
				t.Errorf("ours found %+v", r)
			}
		},
		"theirs compares with what ours has recorded": func(t *testing.T, s sharedTable) {
			now := time.Now()
			if err := s.complete(s.acquire(s.claim("1", now)), now.Add(time.Hour)); err != nil {
				t.Fatal(err)
			}
			other := func(c *command) { c.Event = `{"id":"1","amount":6}` }
			s.expectTheirs("other amount", s.theirs("1", other), 0, differs)
		},
		"ours compares with what theirs has recorded": func(t *testing.T, s sharedTable) {
			s.expectTheirs("run", s.theirs("1", func(c *command) { c.Event = `{"id":"1","amount":6}` }), 1, "")
			claim := s.claim("1", time.Now())
			if r := s.acquire(claim); !r.Mismatches(claim.Fingerprint) {
				t.Errorf("ours found %+v, want another fingerprint", r)
			}
		},
		"what failed for good at ours does not run at theirs": func(t *testing.T, s sharedTable) {
			now := time.Now()
			err := s.store.Complete(t.Context(), s.acquire(s.claim("1", now)).Lease(), persistence.Outcome{
				Status: persistence.StatusFailed, Result: []byte(`"declined"`), ExpiresAt: now.Add(time.Hour),
			})
			if err != nil {
				t.Fatal(err)
			}
			if a := s.theirs("1", nil); a.Calls != 0 || a.Error == "" {
				t.Errorf("theirs: %+v, want an error", a)
			}
		},
		"what ours completed without a result does not run at theirs": func(t *testing.T, s sharedTable) {
			now := time.Now()
			err := s.store.Complete(t.Context(), s.acquire(s.claim("1", now)).Lease(), persistence.Outcome{
				Status: persistence.StatusCompleted, ResultOmitted: true, ExpiresAt: now.Add(time.Hour),
			})
			if err != nil {
				t.Fatal(err)
			}
			if a := s.theirs("1", nil); a.Calls != 0 || a.Error != "" || a.Result != "null" {
				t.Errorf("theirs: %+v, want null replayed", a)
			}
			if r := s.acquire(s.claim("1", now)); !r.ResultOmitted {
				t.Errorf("ours found %+v, want the result omitted", r)
			}
		},
		"a late failure of theirs removes the record of ours, and ours notices": func(t *testing.T, s sharedTable) {
			if !s.theirs("1", func(c *command) { c.Hold, c.Fail, c.Remaining = true, true, 1 }).Running {
				t.Fatal("their function does not run")
			}
			record := s.acquire(s.claim("1", time.Now().Add(time.Minute)))
			if a := s.process.proceed(); a.Error == "" {
				t.Fatalf("theirs: %+v", a)
			}
			if err := s.complete(record, time.Now().Add(time.Hour)); !errors.Is(err, persistence.ErrLeaseLost) {
				t.Errorf("ours completed what theirs has removed: %v, want ErrLeaseLost", err)
			}
		},
		"a late completion of theirs replaces the result of ours": func(t *testing.T, s sharedTable) {
			if !s.theirs("1", func(c *command) { c.Hold, c.Remaining, c.Result = true, 1, `"late"` }).Running {
				t.Fatal("their function does not run")
			}
			now := time.Now().Add(time.Minute)
			if err := s.complete(s.acquire(s.claim("1", now)), now.Add(time.Hour)); err != nil {
				t.Fatal(err)
			}
			s.process.proceed()
			if r := s.acquire(s.claim("1", now)); string(r.Result) != `"late"` {
				t.Errorf("ours found %s; docs/powertools.md says that it is replaced", r.Result)
			}
		},
		"a guard replays what theirs completed, and theirs what a guard completed": func(t *testing.T, s sharedTable) {
			guard, err := idempotent.New(s.store, s.peer.Config(idempotent.Config{Operation: "orders"}))
			if err != nil {
				t.Fatal(err)
			}
			calls := 0
			handler := guard.Handler(func(json.RawMessage) (json.RawMessage, error) { calls++; return json.RawMessage(response), nil })
			s.expectTheirs("run", s.theirs("1", nil), 1, "")
			for id, want := range map[string]int{"1": 0, "2": 1} {
				calls = 0
				got, err := handler.Invoke(t.Context(), []byte(event(id)))
				if err != nil || calls != want || compact(t, got) != compact(t, []byte(response)) {
					t.Errorf("request %s: %s, %v after %d calls, want %d", id, got, err, calls, want)
				}
			}
			s.expectTheirs("replay", s.theirs("2", nil), 0, "")
			if _, err := handler.Invoke(t.Context(), []byte(`{"id":"1","amount":6}`)); !errors.Is(err, idempotent.ErrMismatch) {
				t.Errorf("another amount: %v, want ErrMismatch", err)
			}
		},
	}
	shapes := map[string]commandTable{
		"simple key":             {},
		"composite key":          {SortKey: "sk"},
		"composite key of a tag": {SortKey: "sk", PartitionValue: "tenant-1"},
		"renamed":                {Renamed: true},
	}
	for _, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			process := l.start(t)
			for shapeName, shape := range shapes {
				for name, story := range stories {
					t.Run(shapeName+"/"+name, func(t *testing.T) { story(t, l.share(t, process, shape)) })
				}
			}
		})
	}
}
