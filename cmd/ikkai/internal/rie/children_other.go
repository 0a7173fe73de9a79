//go:build !linux

package rie

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
)

// children returns the processes that a process has started and that still run.
func children(ctx context.Context, parent int) ([]int, error) {
	list, err := exec.CommandContext(ctx, "ps", "-A", "-o", "pid=,ppid=").Output()
	if err != nil {
		return nil, err
	}
	var found []int
	for line := range strings.Lines(string(list)) {
		var pid, of int
		if _, err := fmt.Sscan(line, &pid, &of); err != nil {
			return nil, fmt.Errorf("ps says %q: %w", line, err)
		}
		if of == parent {
			found = append(found, pid)
		}
	}
	return found, nil
}
