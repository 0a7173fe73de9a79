package powertools_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent/powertools"
	"github.com/ikkai-go/idempotency/idempotent/powertools/internal/value"
	"github.com/ikkai-go/idempotency/persistence"
)

// Every random event has the key, the fingerprint and the answer to a missing key that
// the real package gives it, or is refused as not to be had exactly.
func TestLiveKeysOfRandomEvents(t *testing.T) {
	const cases = 8000
	for _, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			process := l.start(t)
			seed := rand.Uint64()
			g := generator{rand.New(rand.NewPCG(seed, 0))}
			var captured []capture
			verdicts, reasons := map[string]int{}, map[string]int{}
			for n := range cases {
				c := command{FunctionName: "orders-fn", Event: g.event(), Result: "1"}
				if n%4 == 0 {
					c.Event = g.json(4)
				} else {
					c.EventKey = pick(g, expressions)
				}
				if g.IntN(3) == 0 {
					c.Validation = pick(g, expressions)
				}
				c.Raise = g.IntN(3) == 0
				verdict, theirs, problem := l.compareKeys(process, c)
				verdicts[verdict]++
				if captured = append(captured, capture{process.version, c, theirs}); *captureTo != "" && n == cases-1 {
					writeCaptures(t, l.name, captured)
				}
				if strings.HasPrefix(verdict, "refused") {
					reasons[problem]++
					continue
				}
				if problem != "" {
					t.Errorf("seed %d: %+v: %s", seed, c, problem)
				}
			}
			t.Logf("%d events: %v", cases, verdicts)
			for reason, n := range reasons {
				t.Logf("%5d refused: %s", n, reason)
			}
			if exact := verdicts["the same key"] + verdicts["no key"] + verdicts["failed"]; exact < cases*3/4 {
				t.Errorf("only %d of %d events are had exactly", exact, cases)
			}
		})
	}
}

// captureTo is a directory for what the real packages have answered, which
// TestKeysOfCapturedEvents compares with where they are not.
var captureTo = flag.String("capture", "", "directory for answers of the real packages")

// capture is what a real package has answered.
type capture struct {
	Version string
	Command command
	Answer  answer
}

// captures are few and short, of each verdict.
func writeCaptures(t *testing.T, language string, all []capture) {
	t.Helper()
	var file []byte
	kept := 0
	for _, c := range all {
		if refused := c.Answer.Put == "" && c.Answer.Calls == 0 && c.Answer.Error == ""; refused || len(c.Command.Event) > 300 || kept == 600 {
			continue
		}
		c.Answer.Result = ""
		line, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		file = append(append(file, line...), '\n')
		kept++
	}
	if err := os.WriteFile(filepath.Join(*captureTo, strings.ToLower(language)+"-keys.jsonl"), file, 0o644); err != nil {
		t.Fatal(err)
	}
}

// What the real packages have answered to random events, at some time, is what ours
// answers.
func TestKeysOfCapturedEvents(t *testing.T) {
	for _, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			file, err := os.ReadFile(filepath.Join("..", "..", "testdata", "powertools", strings.ToLower(l.name)+"-keys.jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			verdicts := map[string]int{}
			for line := range strings.Lines(string(file)) {
				var c capture
				if err := json.Unmarshal([]byte(line), &c); err != nil {
					t.Fatal(err)
				}
				peer, err := l.of(c.Command, c.Version)
				if errors.Is(err, powertools.ErrInexact) {
					verdicts["refused"]++
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				verdict, problem := compareKey(peer, c.Command, c.Answer)
				if verdicts[verdict]++; problem != "" && verdict != "refused" {
					t.Errorf("%s: %s", line, problem)
				}
			}
			if t.Logf("%v", verdicts); verdicts["refused"]*10 > verdicts["the same key"] {
				t.Errorf("too much is refused: %v", verdicts)
			}
		})
	}
}

// of returns the peer of this package that is set up as a command says.
func (l language) of(c command, version string) (*powertools.Peer, error) {
	o := l.options
	o.EventKey, o.Validation, o.RaiseOnNoKey, o.Version = c.EventKey, c.Validation, c.Raise, version
	return l.new(o)
}

// compareKeys shows one event to both and returns which way it went, and what is
// different, or why it was refused.
func (l language) compareKeys(process peerProcess, c command) (verdict string, theirs answer, problem string) {
	peer, err := l.of(c, process.version)
	if errors.Is(err, powertools.ErrInexact) {
		return "refused at construction", theirs, err.Error()
	}
	theirs = process.call(c)
	if err != nil {
		return "refused at construction", theirs, fmt.Sprintf("%v; theirs: %+v", err, theirs)
	}
	verdict, problem = compareKey(peer, c, theirs)
	return verdict, theirs, problem
}

// compareKey holds what a peer of this package makes of an event against what the real
// one has made of it.
func compareKey(peer *powertools.Peer, c command, theirs answer) (verdict, problem string) {
	key, fingerprint, err := peer.Identify([]byte(c.Event))
	switch {
	case errors.Is(err, powertools.ErrInexact):
		return "refused", err.Error()
	case errors.Is(err, idempotency.ErrMissing):
		verdict = "no key"
		raised := strings.HasSuffix(theirs.Error, "IdempotencyKeyError")
		if c.Raise != raised || !raised && (theirs.Calls != 1 || theirs.Put != "") {
			problem = fmt.Sprintf("ours finds no key; theirs: %+v", theirs)
		}
	case errors.Is(err, idempotency.ErrPayload):
		verdict = "failed"
		if theirs.Calls != 0 || theirs.Error == "" || theirs.Put != "" || strings.HasSuffix(theirs.Error, "IdempotencyKeyError") {
			problem = fmt.Sprintf("ours fails: %v; theirs: %+v", err, theirs)
		}
	default:
		verdict = "the same key"
		if theirs.Put != key || theirs.Updated != key || theirs.Hash != fingerprint {
			input, _ := peer.HashInput([]byte(c.Event))
			problem = fmt.Sprintf("ours is %s of %s, fingerprint %q; theirs: %+v", key, input, fingerprint, theirs)
		}
	}
	return verdict, problem
}

// Every hash function is the one that has that name there.
func TestLiveHashes(t *testing.T) {
	for i, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			process := l.start(t)
			for _, name := range [][]string{
				{"md5", "sha1", "sha224", "sha256", "sha384", "sha512", "sha3_224", "sha3_256", "sha3_384", "sha3_512", "blake2b", "blake2s"},
				{"md5", "MD5", "sha1", "sha224", "sha256", "sha384", "sha512", "sha3-224", "sha3-256", "sha3-384", "sha3-512", "sha512-224", "sha512-256", "blake2b512", "blake2s256"},
			}[i] {
				o := l.options
				o.Hash, o.Version = name, process.version
				peer, err := l.new(o)
				if err != nil {
					t.Fatal(err)
				}
				key, _, err := peer.Identify([]byte(event("1")))
				if theirs := process.call(command{FunctionName: "orders-fn", Event: event("1"), Hash: name}); err != nil || key != theirs.Put {
					t.Errorf("%s: %s, %v; theirs: %+v", name, key, err, theirs)
				}
			}
		})
	}
}

// A result is stored as the real package stores it, and both replay what either has
// stored.
func TestLiveRandomResults(t *testing.T) {
	for _, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			s := l.share(t, l.start(t), commandTable{})
			seed := rand.Uint64()
			g := generator{rand.New(rand.NewPCG(seed, 0))}
			for n := range 300 {
				result, now := g.json(3), time.Now()
				problem := s.compareResults(fmt.Sprint(n), result, now)
				if problem != "" {
					t.Errorf("seed %d: %s: %s", seed, result, problem)
				}
			}
		})
	}
}

func (s sharedTable) compareResults(id, result string, now time.Time) (problem string) {
	s.t.Helper()
	theirs := s.theirs("t"+id, func(c *command) { c.Result = result })
	ours := s.acquire(s.claim("o"+id, now))
	err := s.store.Complete(s.t.Context(), ours.Lease(), persistence.Outcome{
		Status: persistence.StatusCompleted, Result: []byte(result), ExpiresAt: now.Add(time.Hour),
	})
	if err == nil && theirs.Error != "" || err != nil && !errors.Is(err, persistence.ErrTooLarge) {
		return fmt.Sprintf("ours stores it with %v, theirs with %q", err, theirs.Error)
	}
	if err != nil { // theirs may store another value than the function's
		return ""
	}
	if s.language == "TypeScript" { // Python's is JSON text, which has several layouts
		if diff := gocmp.Diff(s.data(s.claim("t"+id, now).Key), s.data(ours.Key)); diff != "" {
			return "stored is theirs - and ours +:\n" + diff
		}
	}
	if strings.Contains(theirs.Result, "Infinity") {
		if _, err := s.store.Acquire(s.t.Context(), s.claim("t"+id, now)); !errors.Is(err, persistence.ErrUnreadable) {
			return fmt.Sprintf("ours replays what is not JSON: %v", err)
		}
		return ""
	}
	replayed := s.acquire(s.claim("t"+id, now)).Result
	theirReplay := s.theirs("o"+id, func(c *command) { c.Fail = true })
	theirOwnReplay := s.theirs("t"+id, func(c *command) { c.Fail = true })
	if theirReplay.Error != "" || sorted(theirReplay.Result) != sorted(theirOwnReplay.Result) {
		return fmt.Sprintf("theirs replays ours as %+v, and its own as %s", theirReplay, theirOwnReplay.Result)
	}
	if own := theirOwnReplay.Result; own != "null" && sorted(string(replayed)) != sorted(own) {
		return fmt.Sprintf("ours replays theirs as %s, theirs as %s", replayed, own)
	}
	return ""
}

// sorted brings a JSON text into one layout, lone surrogates and all.
func sorted(text string) string {
	v, err := value.Parse(text, value.Python)
	if err != nil {
		return err.Error()
	}
	text, err = value.Dumps(v, value.Sorted, value.NewBudget(len(text)))
	return text + fmt.Sprint(err)
}

// data returns the stored result of a record.
func (s sharedTable) data(key string) any {
	for _, item := range s.db.Items("idempotency") {
		if encoded(item["id"]).(map[string]any)["S"] == key {
			return encoded(item["data"])
		}
	}
	return nil
}

// The names of members are sorted by what toLowerCase makes of them.
func TestLiveLowerCase(t *testing.T) {
	theirs := languages[1].start(t).call(command{Lower: true}).Lower
	for c := rune(0); c <= utf8.MaxRune; c++ {
		if !utf8.ValidRune(c) || unicode.Is(unicode.Cn, c) { // what Unicode has no character for yet is refused
			continue
		}
		text := string(c)
		want, changed := theirs[text]
		if !changed {
			want = text
		}
		if got := value.Lower(text); got != want {
			t.Errorf("%U becomes %+q, want %+q", c, got, want)
		}
	}
}
