package persistence_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ikkai-go/idempotency/persistence"
)

const (
	notMine   = "theirs|nobody"
	unexpired = "ahead|last s|never"
	matching  = "same|not stored|not asked|neither"
)

// The whole decision. Every combination of what a claim can find is decided by
// exactly one row; "|" separates alternatives, and "any" is all of them.
var decisions = []struct {
	owner, status, lease, expiry, fingerprint, onEndedLease string
	want                                                    persistence.Judgement
}{
	{"mine", "any", "any", "any", "any", "any", persistence.Owned},

	{notMine, "PROCESSING", "live|last ms", "any", "any", "any", persistence.Held},
	{notMine, "PROCESSING", "over", "past", "any", "any", persistence.Vacant},
	{notMine, "PROCESSING", "over", unexpired, "other", "any", persistence.Held},
	{notMine, "PROCESSING", "over", unexpired, matching, "run again", persistence.Stale},
	{notMine, "PROCESSING", "over", unexpired, matching, "refuse", persistence.Held},
	{notMine, "PROCESSING", "none", unexpired, "any", "any", persistence.Held},
	{notMine, "PROCESSING", "none", "past", "any", "any", persistence.Vacant},

	// Another claim of the same execution.
	{"sibling", "PROCESSING", "over|none", "past", "any", "any", persistence.Vacant},
	{"sibling", "PROCESSING", "live|last ms", "any", "other", "any", persistence.Held},
	{"sibling", "PROCESSING", "live|last ms", "any", matching, "any", persistence.Stale},
	{"sibling", "PROCESSING", "over|none", unexpired, "other", "any", persistence.Held},
	{"sibling", "PROCESSING", "over|none", unexpired, matching, "any", persistence.Stale},

	{notMine + "|sibling", "PARTIAL_SUCCESS", "over|none", "past", "any", "any", persistence.Vacant},
	{notMine + "|sibling", "PARTIAL_SUCCESS", "any", unexpired, "other", "any", persistence.Held},
	{notMine + "|sibling", "PARTIAL_SUCCESS", "any", unexpired, matching, "any", persistence.Stale},

	{notMine + "|sibling", "COMPLETED|FAILED|unheard of", "over|none", "past", "any", "any", persistence.Vacant},
	{notMine + "|sibling", "COMPLETED|FAILED|unheard of", "any", unexpired, "any", "any", persistence.Held},

	// A lease that another toolkit has left in a record that is not running keeps
	// it from expiring, and does nothing else.
	{notMine + "|sibling", "PARTIAL_SUCCESS", "live|last ms", "past", "other", "any", persistence.Held},
	{notMine + "|sibling", "PARTIAL_SUCCESS", "live|last ms", "past", matching, "any", persistence.Stale},
	{notMine + "|sibling", "COMPLETED|FAILED|unheard of", "live|last ms", "past", "any", "any", persistence.Held},
}

// The values that the words of the decisions stand for; now is a third of a
// second past the whole one.
var (
	now      = time.Date(2026, time.March, 1, 12, 0, 0, 333_444_555, time.UTC)
	owners   = map[string]string{"mine": "me", "theirs": "somebody", "nobody": "", "sibling": "execution#before"}
	statuses = []string{"PROCESSING", "PARTIAL_SUCCESS", "COMPLETED", "FAILED", "unheard of"}
	leases   = map[string]time.Time{
		"none":    {},
		"live":    now.Add(time.Minute),
		"last ms": now.Truncate(time.Millisecond),
		"over":    now.Truncate(time.Millisecond).Add(-time.Millisecond),
	}
	expiries = map[string]time.Time{
		"never":  {},
		"ahead":  now.Add(time.Hour),
		"last s": now.Truncate(time.Second),
		"past":   now.Truncate(time.Second).Add(-time.Second),
	}
	fingerprints = map[string]struct{ stored, asked string }{
		"same":       {"amount=10", "amount=10"},
		"other":      {"amount=10", "amount=11"},
		"not stored": {"", "amount=10"},
		"not asked":  {"amount=10", ""},
		"neither":    {"", ""},
	}
	policies = map[string]bool{"run again": false, "refuse": true}
)

func TestEveryRecordThatAClaimCanFindIsJudgedByOneRow(t *testing.T) {
	used := make(map[int]bool)
	for owner, token := range owners {
		for _, status := range statuses {
			for lease, leaseUntil := range leases {
				for expiry, expiresAt := range expiries {
					for fingerprint, prints := range fingerprints {
						for policy, refuses := range policies {
							situation := []string{owner, status, lease, expiry, fingerprint, policy}
							row := rowFor(t, situation)
							used[row] = true
							found := persistence.Record{
								Key:         "payment",
								Status:      persistence.Status(status),
								Owner:       token,
								LeaseUntil:  leaseUntil,
								ExpiresAt:   expiresAt,
								Fingerprint: prints.stored,
							}
							c := persistence.Claim{Key: "payment", Owner: "me", Fingerprint: prints.asked, Now: now, RefuseUnknown: refuses, Execution: "execution#"}
							if got := c.Judge(found); got != decisions[row].want {
								t.Errorf("%v: want %v, got %v", situation, decisions[row].want, got)
							}
						}
					}
				}
			}
		}
	}
	if len(used) != len(decisions) {
		t.Errorf("only %d of %d rows decide anything", len(used), len(decisions))
	}
}

// rowFor returns the only row that decides a situation.
func rowFor(t *testing.T, situation []string) int {
	t.Helper()
	row := -1
	for i, d := range decisions {
		words := []string{d.owner, d.status, d.lease, d.expiry, d.fingerprint, d.onEndedLease}
		decides := true
		for column, alternatives := range words {
			decides = decides && (alternatives == "any" || slices.Contains(strings.Split(alternatives, "|"), situation[column]))
		}
		switch {
		case decides && row >= 0:
			t.Fatalf("%v is decided by rows %d and %d", situation, row, i)
		case decides:
			row = i
		}
	}
	if row < 0 {
		t.Fatalf("no row decides %v", situation)
	}
	return row
}

func TestAClaimThatNoStoreCanServeIsInvalid(t *testing.T) {
	for _, tt := range []struct {
		name  string
		spoil func(c *persistence.Claim)
		valid bool
	}{
		{"as it should be", func(*persistence.Claim) {}, true},
		{"without a fingerprint", func(c *persistence.Claim) { c.Fingerprint = "" }, true},
		{"that expires when its lease ends", func(c *persistence.Claim) { c.ExpiresAt = c.LeaseUntil }, true},
		{"without a key", func(c *persistence.Claim) { c.Key = "" }, false},
		{"without an owner", func(c *persistence.Claim) { c.Owner = "" }, false},
		{"without a clock reading", func(c *persistence.Claim) { c.Now = time.Time{} }, false},
		{"whose lease ends now", func(c *persistence.Claim) { c.LeaseUntil = c.Now }, false},
		{"whose lease has ended", func(c *persistence.Claim) { c.LeaseUntil = c.Now.Add(-time.Millisecond) }, false},
		{"without a lease", func(c *persistence.Claim) { c.LeaseUntil = time.Time{} }, false},
		{"that expires before its lease ends", func(c *persistence.Claim) { c.ExpiresAt = c.LeaseUntil.Add(-time.Second) }, false},
		{"without an expiry", func(c *persistence.Claim) { c.ExpiresAt = time.Time{} }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := claim("payment", "first", noon)
			tt.spoil(&c)
			switch err := c.Check(); {
			case tt.valid && err != nil:
				t.Errorf("want no error, got %v", err)
			case !tt.valid && !errors.Is(err, persistence.ErrInvalid):
				t.Errorf("want ErrInvalid, got %v", err)
			}
		})
	}
}

func TestAFreshRecordIsWhatTheClaimAsksFor(t *testing.T) {
	want := persistence.Record{
		Key:         "payment",
		Status:      persistence.StatusProcessing,
		Owner:       "first",
		LeaseUntil:  noon.Add(time.Minute),
		ExpiresAt:   noon.Add(time.Hour),
		Fingerprint: "amount=10",
		Attempt:     1,
	}
	if diff := cmp.Diff(want, claim("payment", "first", noon).Fresh()); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
}

func TestATakeOverKeepsTheStepsAndCountsTheAttempt(t *testing.T) {
	stale := persistence.Record{
		Key:           "payment",
		Status:        persistence.StatusPartial,
		Owner:         "first",
		LeaseUntil:    noon.Add(-time.Minute),
		ExpiresAt:     noon.Add(time.Minute),
		Fingerprint:   "amount=10",
		Result:        []byte("of another toolkit"),
		ResultOmitted: true,
		Steps:         map[string][]byte{"reserve": []byte("box 7")},
		Attempt:       4,
	}
	for _, tt := range []struct{ stored, asked, want string }{
		{"amount=10", "amount=10", "amount=10"},
		{"", "amount=10", "amount=10"},
		{"amount=10", "", "amount=10"},
		{"", "", ""},
	} {
		t.Run(fmt.Sprintf("fingerprint %q for one of %q", tt.asked, tt.stored), func(t *testing.T) {
			c := claim("payment", "second", noon)
			c.Fingerprint, stale.Fingerprint = tt.asked, tt.stored
			want := c.Fresh()
			want.Fingerprint = tt.want
			want.Steps = stale.Steps
			want.Attempt = 5
			want.TookOver = stale.Status
			if diff := cmp.Diff(want, c.TakeOver(stale)); diff != "" {
				t.Errorf("record (-want +got):\n%s", diff)
			}
		})
	}
}
