package coldstart

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

// A function with 128 MB of memory has this share of a CPU, going by AWS's documentation:
// one whole CPU at 1,769 MB, and in proportion below. The period is the kernel's
// default, and as long as a process may wait for its next turn: with a quota much shorter than a
// slice of the scheduler some starts hang for seconds.
const (
	smallMemory  = 128  // MB
	wholeMemory  = 1769 // MB
	periodMicros = 100_000
	quotaMicros  = periodMicros * smallMemory / wholeMemory
)

// controlGroups is where Linux has the control groups.
const controlGroups = "/sys/fs/cgroup"

// throttle is a control group whose processes have a share of one CPU together.
type throttle struct {
	folder string
}

// newThrottle makes a control group below root, of either version. The error says why this
// machine lets us have none: most need root for it, and version 2 the controller "cpu"
// handed down by the root group.
func newThrottle(root string) (*throttle, error) {
	parent, settings := filepath.Join(root, "cpu"), [][2]string{ // version 1; the period first, which bounds the quota
		{"cpu.cfs_period_us", strconv.Itoa(periodMicros)},
		{"cpu.cfs_quota_us", strconv.Itoa(quotaMicros)},
	}
	if _, err := os.Stat(filepath.Join(root, "cgroup.controllers")); err == nil {
		parent, settings = root, [][2]string{{"cpu.max", fmt.Sprintf("%d %d", quotaMicros, periodMicros)}}
	}
	t := &throttle{folder: filepath.Join(parent, "ikkai-bench-cold-"+strconv.Itoa(os.Getpid()))}
	if err := os.Mkdir(t.folder, 0o750); err != nil {
		return nil, fmt.Errorf("no control group: %w", err)
	}
	for _, setting := range settings {
		if err := set(filepath.Join(t.folder, setting[0]), setting[1]); err != nil {
			return nil, errors.Join(fmt.Errorf("the control group has no limit: %w", err), t.remove())
		}
	}
	return t, nil
}

// set writes to a file that the system has made, and makes none.
func set(file, value string) error {
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}

// remove removes the group, which must have no processes left.
func (t *throttle) remove() error { return os.Remove(t.folder) }

// command is a program that joins the group before it begins. A nil throttle leaves it alone.
func (t *throttle) command(ctx context.Context, program string) *exec.Cmd {
	if t == nil {
		return exec.CommandContext(ctx, program)
	}
	const join = `echo $$ >"$0/cgroup.procs" && exec "$1"`
	return exec.CommandContext(ctx, "/bin/sh", "-c", join, t.folder, program) //nolint:gosec // built by the caller
}
