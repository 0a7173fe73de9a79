package lincheck

import (
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ikkai-go/idempotency/persistence"
)

// A failing run fails its test, so it happens in a process of its own.
func TestARunFails(t *testing.T) {
	const child = "LINCHECK_RUN"
	runs := map[string]struct {
		run  func(t *testing.T)
		says []string
	}{
		"with a puzzle and the dice": {
			func(t *testing.T) {
				Run(t, newFlawed(func(f *flawed) {
					f.complete = func(context.Context, persistence.Lease, persistence.Outcome) error { return nil }
				}), Options{})
			},
			[]string{"not linearizable: no order of", "LINCHECK_SEED=7 throws the same dice again", "history.html"},
		},
		"where a case did not occur": {
			func(t *testing.T) { Run(t, persistence.NewMemory(), Options{Clients: 1, Turns: 1}) },
			[]string{"this never happened, so nothing is known about it: complete: done before"},
		},
		"on an error that is not foreseen": {
			func(t *testing.T) {
				Run(t, newFlawed(func(f *flawed) {
					f.release = func(context.Context, persistence.Lease) error { return persistence.ErrInvalid }
				}), Options{})
			},
			[]string{"release as client", persistence.ErrInvalid.Error()},
		},
	}
	if name := os.Getenv(child); name != "" {
		runs[name].run(t)
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, expected := range runs {
		t.Run(name, func(t *testing.T) {
			kept := t.TempDir()
			run := exec.CommandContext(t.Context(), self, "-test.run=^TestARunFails$", "-test.artifacts", "-test.outputdir="+kept)
			run.Env = append(os.Environ(), child+"="+name, SeedEnv+"=7", HistoriesEnv+"=")
			output, err := run.CombinedOutput()
			if err == nil {
				t.Error("want the run to fail, but it passed")
			}
			for _, want := range expected.says {
				if !strings.Contains(string(output), want) {
					t.Errorf("the log lacks %q:\n%s", want, output)
				}
			}
			if strings.Contains(string(output), "history.html") && !holds(t, kept, "history.html") {
				t.Error("there is no picture of the history")
			}
		})
	}
}

func holds(t *testing.T, directory, name string) bool {
	t.Helper()
	found := false
	err := filepath.WalkDir(directory, func(path string, _ fs.DirEntry, err error) error {
		found = found || filepath.Base(path) == name
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
