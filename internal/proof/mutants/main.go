// Command mutants breaks the shipped code on purpose, in one way at a time, and
// makes sure that the tests named for each way fail.
//
// The tree is not touched: the go command is told to read the broken file in place
// of the good one (go help build, -overlay).
//
//	go run ./internal/proof/mutants [-run regexp] [-survey package,…]
//	go run ./internal/proof/mutants -table
//
// With -survey it runs all tests of the packages instead and lists those that
// fail, to find out what catches a new mutant.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

func main() {
	run := flag.String("run", "", "only mutants whose name matches this")
	table := flag.Bool("table", false, "print the table of the mutants and run nothing")
	survey := flag.String("survey", "", "run all tests of these packages, separated by commas")
	flag.Parse()
	if *table {
		writeTable(os.Stdout)
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	only, err := regexp.Compile(*run)
	if err == nil {
		var packages []string
		if *survey != "" {
			packages = strings.Split(*survey, ",")
		}
		err = check(ctx, only, packages)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// check runs the tests of all mutants whose name matches.
func check(ctx context.Context, only *regexp.Regexp, survey []string) error {
	var survivors []string
	started, count := time.Now(), 0
	for _, m := range mutants {
		if !only.MatchString(m.name) {
			continue
		}
		count++
		caught, err := m.catch(ctx, survey)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			caught = []string{err.Error()}
		}
		fmt.Printf("%-70s %s\n", m.name, strings.Join(caught, ", "))
		if err != nil || survey == nil && len(caught) < len(m.caught) || len(caught) == 0 {
			survivors = append(survivors, m.name)
		}
	}
	if len(survivors) > 0 {
		return fmt.Errorf("not caught as they should be:\n  %s", strings.Join(survivors, "\n  "))
	}
	fmt.Printf("\nAll %d mutants caught, in %v.\n", count, time.Since(started).Round(time.Second))
	return nil
}

// catch returns the tests that fail in the mutant's presence.
func (m mutant) catch(ctx context.Context, survey []string) ([]string, error) {
	overlay, clean, err := m.overlay()
	if err != nil {
		return nil, err
	}
	defer clean()
	if survey != nil {
		return failing(ctx, overlay, append([]string{"-timeout=4m"}, survey...))
	}
	byPackage := make(map[string][]string)
	for _, t := range m.caught {
		byPackage[t.pkg] = append(byPackage[t.pkg], t.name)
	}
	var caught []string
	for pkg, names := range byPackage {
		failed, err := failing(ctx, overlay, []string{"-timeout=2m", "-run=^(" + strings.Join(names, "|") + ")$", "./" + pkg})
		if err != nil {
			return nil, err
		}
		caught = append(caught, failed...)
	}
	return caught, nil
}

// overlay writes what makes the go command read the broken file.
func (m mutant) overlay() (name string, clean func(), err error) {
	broken, err := m.apply()
	if err != nil {
		return "", nil, err
	}
	dir, err := os.MkdirTemp("", "ikkai-mutant-")
	if err != nil {
		return "", nil, err
	}
	clean = func() { os.RemoveAll(dir) }
	original, err := filepath.Abs(m.file)
	if err != nil {
		return "", clean, err
	}
	replacement := filepath.Join(dir, filepath.Base(m.file))
	content, err := json.Marshal(map[string]map[string]string{"Replace": {original: replacement}})
	if err != nil {
		return "", clean, err
	}
	name = filepath.Join(dir, "overlay.json")
	return name, clean, errors.Join(os.WriteFile(replacement, broken, 0o600), os.WriteFile(name, content, 0o600))
}

// apply returns the broken file.
func (m mutant) apply() ([]byte, error) {
	good, err := os.ReadFile(m.file)
	if err != nil {
		return nil, err
	}
	if n := bytes.Count(good, []byte(m.old)); n != 1 {
		return nil, fmt.Errorf("%s holds the text to replace %d times", m.file, n)
	}
	return bytes.Replace(good, []byte(m.old), []byte(m.new), 1), nil
}

// failing returns the top-level tests that fail. A mutant that does not compile is
// an error: nobody has to catch it.
func failing(ctx context.Context, overlay string, args []string) ([]string, error) {
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-json", "-count=1", "-overlay=" + overlay}, args...)...) //nolint:gosec // of the list in this package, and of whoever runs it
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	output, err := cmd.Output()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		return nil, err
	}
	var failed []string
	lines := bufio.NewScanner(bytes.NewReader(output))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var event struct{ Action, Package, Test, FailedBuild string }
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			return nil, fmt.Errorf("%w in %q", err, lines.Text())
		}
		switch {
		case event.Action != "fail":
		case event.FailedBuild != "":
			return nil, errors.New("it does not compile")
		case event.Test != "" && !strings.Contains(event.Test, "/"):
			failed = append(failed, event.Test)
		}
	}
	slices.Sort(failed)
	return slices.Compact(failed), lines.Err()
}
