package coldstart

import (
	"bytes"
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

// chargeWithin charges if its process has had the limits that the environment names, in its
// init phase and now.
func chargeWithin(atInit string) func(context.Context, payment.Order) (payment.Receipt, error) {
	return func(ctx context.Context, o payment.Order) (payment.Receipt, error) {
		if got := atInit + ", " + ownLimit(); got != os.Getenv("LIMITS") {
			return payment.Receipt{}, fmt.Errorf("its limits are %q", got)
		}
		return payment.Charge(ctx, o)
	}
}

// ownLimit is the quota of the control group of ours that this process is in.
func ownLimit() string {
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return err.Error()
	}
	at := bytes.Index(groups, []byte(groupName))
	if at < 0 {
		return "no group"
	}
	name, _, _ := strings.Cut(string(groups[at:]), "\n")
	for _, file := range []string{"cpu/" + name + "/cpu.cfs_quota_us", name + "/cpu.max"} {
		if limit, err := os.ReadFile(filepath.Join(controlGroups, file)); err == nil {
			return strings.NewReplacer("-1", "whole", "max", "whole").Replace(strings.Fields(string(limit))[0])
		}
	}
	return "unknown"
}

func TestAFunctionHasTheCPUThatItShould(t *testing.T) {
	if err := tryThrottle(controlGroups); err != nil {
		t.Skip("this machine does not let us throttle: ", err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for c, limits := range map[cpu]string{
		wholeCPU:       "no group, no group",
		smallCPU:       "1447, 1447",
		smallAfterInit: "whole, 1447",
	} {
		t.Run(c.String(), func(t *testing.T) {
			f := &function{name: "throttled", binary: program, variables: map[string]string{"LIMITS": limits}}
			s := &starter{variables: map[string]string{behaviour: "charges within limits"}, cpu: c}
			if err := s.process(t.Context(), f); err != nil {
				t.Error(err)
			}
		})
	}
	for _, folder := range []string{controlGroups, filepath.Join(controlGroups, "cpu")} {
		if left, _ := filepath.Glob(filepath.Join(folder, fmt.Sprintf("%s%d-*", groupName, os.Getpid()))); len(left) > 0 {
			t.Errorf("groups are left behind: %v", left)
		}
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
			if err := tryThrottle(root); err == nil || !strings.Contains(err.Error(), test.want) {
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
