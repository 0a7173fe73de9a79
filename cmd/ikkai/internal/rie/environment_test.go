package rie

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestMain has this program play the emulator where it is started as one, and the
// emulator's function.
func TestMain(m *testing.M) {
	if address := os.Getenv("FUNCTION_CALLS"); address != "" && len(os.Args) == 1 {
		playFunction(address)
	}
	if !slices.Contains(os.Args, "--runtime-interface-emulator-address") {
		os.Exit(m.Run())
	}
	events, runtimeAPI, function := os.Args[2], os.Args[4], os.Args[len(os.Args)-1]
	var config net.ListenConfig
	if os.Getenv("BREAKS") == "at once" {
		fail("out of order")
	}
	atEvents, err := config.Listen(context.Background(), "tcp", events)
	if err != nil {
		fail(err)
	}
	if os.Getenv("BREAKS") == "before the runtime's address" {
		_, _ = atEvents.Accept()
		fail("out of order")
	}
	if _, err := config.Listen(context.Background(), "tcp", runtimeAPI); err != nil {
		fail(err)
	}
	if os.Getenv("FUNCTION_CALLS") != "" {
		if err := exec.Command(os.Args[0]).Start(); err != nil {
			fail(err)
		}
	}
	fail(http.Serve(atEvents, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		event, err := io.ReadAll(r.Body)
		if err != nil {
			panic(err)
		}
		environ := slices.Sorted(slices.Values(os.Environ()))
		_ = json.NewEncoder(w).Encode(played{string(event), function, environ})
	})))
}

// playFunction calls somebody, and hangs for as long as there is anybody.
func playFunction(address string) {
	connection, err := new(net.Dialer).DialContext(context.Background(), "tcp", address)
	if err != nil {
		fail(err)
	}
	_, err = io.Copy(io.Discard, connection)
	fail(err)
}

func fail(why any) {
	fmt.Println(why)
	os.Exit(1)
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

func TestAKilledEnvironmentTakesItsFunctionAlong(t *testing.T) {
	caller, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer caller.Close()
	e, log, err := start(t, map[string]string{"FUNCTION_CALLS": caller.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	function, err := caller.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer function.Close()
	if err := e.Kill(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := io.Copy(io.Discard, function); err != nil && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the function: %v", err) // its end closes the connection
	}
	if answer, err := e.Invoke(t.Context(), nil); err == nil {
		t.Errorf("it answers %s", answer)
	}
	if err := e.Stop(); err != nil {
		t.Errorf("a dead environment can't be stopped: %v", err)
	}
	if printed, err := os.ReadFile(log); len(printed) > 0 || err != nil {
		t.Errorf("the log holds %q, %v", printed, err)
	}
}

func TestAnEmulatorThatEndsIsReportedWithItsLog(t *testing.T) {
	for _, when := range []string{"at once", "before the runtime's address"} {
		t.Run(when, func(t *testing.T) {
			_, log, err := start(t, map[string]string{"BREAKS": when})
			if err == nil || !strings.Contains(err.Error(), "has ended") || !strings.Contains(err.Error(), log) {
				t.Fatalf("the error is %v, want one that says so and names %s", err, log)
			}
			if printed, err := os.ReadFile(log); string(printed) != "out of order\n" {
				t.Errorf("the log holds %q, %v", printed, err)
			}
		})
	}
}

func TestTheEmulatorsPortsAreGivenToNobodyElse(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux keeps ports")
	}
	kept := map[string]bool{}
	for range 200 {
		r, err := reserve(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer r.release()
		if kept[r.address] {
			t.Fatalf("%s is given twice", r.address)
		}
		kept[r.address] = true
	}
	for address := range kept {
		listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address)
		if err != nil {
			t.Fatalf("the emulator does not get it either: %v", err)
		}
		listener.Close()
	}
}
