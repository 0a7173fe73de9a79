package rie

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestMain has this program play the emulator where it is started as one.
func TestMain(m *testing.M) {
	if !slices.Contains(os.Args, "--runtime-interface-emulator-address") {
		os.Exit(m.Run())
	}
	if os.Getenv("BROKEN") != "" {
		fmt.Println("out of order")
		os.Exit(1)
	}
	address, function := os.Args[2], os.Args[len(os.Args)-1]
	_ = http.ListenAndServe(address, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		event, err := io.ReadAll(r.Body)
		if err != nil {
			panic(err)
		}
		environ := slices.Sorted(slices.Values(os.Environ()))
		_ = json.NewEncoder(w).Encode(played{string(event), function, environ})
	}))
}

// played is what the emulator played by this program answers.
type played struct {
	Event, Function string
	Environ         []string
}

func start(t *testing.T, variables map[string]string) (*Environment, string, error) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(t.TempDir(), "log")
	f := Function{Name: "payment", Binary: "bin/payment", Timeout: 2 * time.Second, Variables: variables}
	e, err := Start(t.Context(), program, f, log)
	return e, log, err
}

func TestAFunctionGetsItsOwnSettingsOnly(t *testing.T) {
	t.Setenv("AWS_PROFILE", "production")
	e, _, err := start(t, map[string]string{"TABLE": "payments"})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Stop()
	answer, err := e.Invoke(t.Context(), []byte("an event"))
	if err != nil {
		t.Fatal(err)
	}
	var got played
	if err := json.Unmarshal(answer, &got); err != nil {
		t.Fatal(err)
	}
	want := played{"an event", "bin/payment", []string{
		"AWS_LAMBDA_FUNCTION_NAME=payment", "AWS_LAMBDA_FUNCTION_TIMEOUT=2", "TABLE=payments",
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAStoppedEnvironmentTakesNoEvents(t *testing.T) {
	e, _, err := start(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Stop(); err != nil {
		t.Fatal(err)
	}
	if answer, err := e.Invoke(t.Context(), nil); err == nil {
		t.Errorf("it answered %s", answer)
	}
}

func TestAnEmulatorThatEndsIsReportedWithItsLog(t *testing.T) {
	_, log, err := start(t, map[string]string{"BROKEN": "yes"})
	if err == nil || !strings.Contains(err.Error(), "has ended") || !strings.Contains(err.Error(), log) {
		t.Fatalf("the error is %v, want one that says so and names %s", err, log)
	}
	if printed, err := os.ReadFile(log); string(printed) != "out of order\n" {
		t.Errorf("the log holds %q, %v", printed, err)
	}
}
