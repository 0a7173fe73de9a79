package coldstart

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// A function with 128 MB of memory has this share of a CPU, going by AWS's documentation:
// one whole CPU at 1,769 MB, and in proportion below. It does not say how long a process may
// wait for its next turn; others have measured 20 ms (github.com/pwrdrvr/lambda-throttling).
const (
	smallMemory  = 128  // MB
	wholeMemory  = 1769 // MB
	periodMicros = 20_000
	quotaMicros  = periodMicros * smallMemory / wholeMemory
)

// cpu is what a process has of one.
type cpu int

const (
	wholeCPU cpu = iota
	// smallCPU is the share of a small function from the beginning of the process on.
	smallCPU
	// smallAfterInit is that share from its first request for an event on. AWS documents no
	// more for the init phase, but others have measured that small functions have more there.
	smallAfterInit
)

func (c cpu) String() string {
	share := fmt.Sprintf("%.1f %%", 100*float64(quotaMicros)/periodMicros)
	return [...]string{wholeCPU: "whole", smallCPU: share, smallAfterInit: share + " after init"}[c]
}

// controlGroups is where Linux has the control groups.
const controlGroups = "/sys/fs/cgroup"

// groupName is what the names of ours begin with.
const groupName = "ikkai-bench-cold-"

// group makes a control group that the process begins in.
func (c cpu) group() (*throttle, error) {
	if c == wholeCPU {
		return new(throttle), nil
	}
	t, err := newThrottle(controlGroups)
	if err != nil || c == smallAfterInit {
		return t, err
	}
	if err := t.limit(); err != nil {
		return nil, errors.Join(err, t.remove())
	}
	return t, nil
}

// throttle is a control group for one process, which can be given a share of one CPU. The zero
// value leaves a process alone.
//
// Each start has one of its own, since a group runs into debt: what a process takes in the
// kernel beyond the quota is owed, and whoever is in the group next has to wait for it.
type throttle struct {
	folder string
	limits [][2]string // files, and what is written to them for the share
	none   [2]string   // the same for whole CPUs
}

// newThrottle makes a control group below root, of either version. The error says why this
// machine lets us have none: most need root for it, and version 2 the controller "cpu"
// handed down by the root group.
func newThrottle(root string) (*throttle, error) {
	parent, t := filepath.Join(root, "cpu"), &throttle{
		limits: [][2]string{ // version 1; the period first, which bounds the quota
			{"cpu.cfs_period_us", strconv.Itoa(periodMicros)},
			{"cpu.cfs_quota_us", strconv.Itoa(quotaMicros)},
		},
		none: [2]string{"cpu.cfs_quota_us", "-1"},
	}
	if _, err := os.Stat(filepath.Join(root, "cgroup.controllers")); err == nil {
		parent = root
		t.limits = [][2]string{{"cpu.max", fmt.Sprintf("%d %d", quotaMicros, periodMicros)}}
		t.none = [2]string{"cpu.max", "max"}
	}
	var err error
	if t.folder, err = os.MkdirTemp(parent, fmt.Sprintf("%s%d-", groupName, os.Getpid())); err != nil {
		return nil, fmt.Errorf("no control group: %w", err)
	}
	return t, nil
}

// limit takes all but the share from the group.
func (t *throttle) limit() error {
	for _, limit := range t.limits {
		if err := set(filepath.Join(t.folder, limit[0]), limit[1]); err != nil {
			return fmt.Errorf("the control group has no limit: %w", err)
		}
	}
	return nil
}

// lift gives the group whole CPUs again, whatever it owes. Killed processes would wait for
// their turn to die.
func (t *throttle) lift() error {
	if t.folder == "" {
		return nil
	}
	return set(filepath.Join(t.folder, t.none[0]), t.none[1])
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
func (t *throttle) remove() error {
	if t.folder == "" {
		return nil
	}
	return os.Remove(t.folder)
}

// tryThrottle says why this machine lets us have no throttle, if it does not.
func tryThrottle(root string) error {
	t, err := newThrottle(root)
	if err != nil {
		return err
	}
	return errors.Join(t.limit(), t.remove())
}

// command is a program that waits for its start.
func (t *throttle) command(ctx context.Context, program string) *exec.Cmd {
	if t.folder == "" {
		return exec.CommandContext(ctx, program)
	}
	return exec.CommandContext(ctx, "/bin/sh", "-c", `read -r _; exec "$0"`, program) //nolint:gosec // built by the caller
}

// start starts what command has returned, in the group, and says when the program itself
// began: to join a group takes longer than to start a program.
func (t *throttle) start(command *exec.Cmd) (time.Time, error) {
	if t.folder == "" {
		return time.Now(), command.Start()
	}
	hold, err := command.StdinPipe() // its end is what the shell waits for
	if err != nil {
		return time.Time{}, err
	}
	if err := command.Start(); err != nil {
		return time.Time{}, err
	}
	if err := set(filepath.Join(t.folder, "cgroup.procs"), strconv.Itoa(command.Process.Pid)); err != nil {
		return time.Time{}, errors.Join(err, command.Process.Kill(), command.Wait())
	}
	return time.Now(), hold.Close()
}
