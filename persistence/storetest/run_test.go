package storetest_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/storetest"
)

// A failing suite fails its test, so it runs in a process of its own.
func TestRunFailsUnderTheNameOfTheBrokenRule(t *testing.T) {
	const child = "STORETEST_RUN_A_BROKEN_STORE"
	if os.Getenv(child) != "" {
		storetest.Run(t, func(*testing.T) persistence.Store { return forgetful{persistence.NewMemory()} })
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	suite := exec.CommandContext(t.Context(), self, "-test.run=^"+t.Name()+"$", "-test.v")
	suite.Env = append(os.Environ(), child+"=1")
	output, err := suite.CombinedOutput()
	if err == nil {
		t.Error("want the suite to fail, but it passed")
	}
	log := string(output)
	for _, want := range []string{
		"--- FAIL: " + t.Name() + "/release/owner-only (",
		"Nobody but the owner can release: ErrLeaseLost, and the record is unchanged.",
		`release by a stranger: want the error "persistence: the lease is lost", got: no error`,
		"--- PASS: " + t.Name() + "/release/absent (",
		"--- SKIP: " + t.Name() + "/lease/no-end (",
		"NOT CHECKED: storetest: the rule is not applicable: storetest_test.forgetful is no storetest.Planter",
	} {
		if !strings.Contains(log, want) {
			t.Errorf("the log lacks %q", want)
		}
	}
	if t.Failed() {
		t.Logf("the log:\n%s", log)
	}
}
