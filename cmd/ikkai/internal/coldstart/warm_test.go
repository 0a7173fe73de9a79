package coldstart

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ikkai-go/idempotency/cmd/ikkai/internal/coldstart/functions/payment"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

// chargeInGroup charges where its process is in the control group that the environment names.
func chargeInGroup(ctx context.Context, o payment.Order) (payment.Receipt, error) {
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return payment.Receipt{}, err
	}
	if group := os.Getenv("GROUP"); group == "" || !strings.Contains(string(groups), group) {
		return payment.Receipt{}, fmt.Errorf("%q is not among the groups %s", group, groups)
	}
	return payment.Charge(ctx, o)
}

func TestAThrottledFunctionIsInTheGroupFromItsBeginning(t *testing.T) {
	small, err := newThrottle(controlGroups)
	if err != nil {
		t.Skip("this machine does not let us throttle: ", err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f := &function{name: "throttled", binary: program, variables: map[string]string{"GROUP": filepath.Base(small.folder)}}
	s := &starter{variables: map[string]string{behaviour: "charges in its group"}, throttle: small}
	for range 3 { // a start with so little of a CPU may not answer in time
		if err = s.process(t.Context(), f); err == nil {
			break
		}
	}
	if err != nil {
		t.Error(err)
	}
	s.throttle = nil
	if err := s.process(t.Context(), f); err == nil {
		t.Error("it is in the group without a throttle, too")
	}
	if err := small.remove(); err != nil {
		t.Errorf("the group is left behind: %v", err)
	}
}

func TestAMachineThatCannotThrottleSaysWhy(t *testing.T) {
	for name, test := range map[string]struct {
		folders []string
		want    string
	}{
		"without control groups":                  {nil, "no control group: "},
		"version 1 without limits":                {[]string{"cpu"}, "cpu.cfs_period_us"},
		"version 2 without the controller handed": {[]string{"cgroup.controllers"}, "cpu.max"},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			for _, folder := range test.folders {
				if err := os.Mkdir(filepath.Join(root, folder), 0o750); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := newThrottle(root); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error is %v, want one that says %q", err, test.want)
			}
			for _, parent := range []string{root, filepath.Join(root, "cpu")} {
				if left, _ := filepath.Glob(filepath.Join(parent, "ikkai-*")); len(left) > 0 {
					t.Errorf("it leaves %v", left)
				}
			}
		})
	}
}

// The functions find the database, and trust it, by their environment alone.
func TestTheEnvironmentLeadsToTheDatabaseOverTLS(t *testing.T) {
	db := dynamotest.New(t)
	db.MustCreateTable(table, "idempotency_key")
	bundle := filepath.Join(t.TempDir(), "ca.pem")
	server, err := serveTLS(t.Context(), db, bundle)
	if err != nil {
		t.Fatal(err)
	}
	for variable, value := range variables(server.url) {
		t.Setenv(variable, value)
	}
	for _, trusted := range []bool{false, true} {
		if trusted {
			t.Setenv("AWS_CA_BUNDLE", bundle)
		}
		store, _, err := dynamostore.FromEnvironment(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := store.Warm(t.Context()); (err == nil) != trusted {
			t.Errorf("trusted: %v, the error is %v", trusted, err)
		}
	}
	if err := server.close(); err != nil {
		t.Error(err)
	}
}

func TestTurnsChangeAndTheFirstRoundsDoNotCount(t *testing.T) {
	a, b := &function{name: "a"}, &function{name: "b"}
	var order []string
	way := func(_ context.Context, f *function) error {
		order = append(order, f.name)
		f.measured.poll = append(f.measured.poll, 1)
		return nil
	}
	if err := byTurns(t.Context(), 1, [2]*function{a, b}, way); err != nil {
		t.Fatal(err)
	}
	if want := []string{"a", "b", "b", "a", "a", "b", "b", "a"}; !slices.Equal(order, want) {
		t.Errorf("the turns are %v, want %v", order, want)
	}
	if len(a.measured.poll) != 1 || len(b.measured.poll) != 1 {
		t.Errorf("%d and %d starts count, want one of each", len(a.measured.poll), len(b.measured.poll))
	}
}
