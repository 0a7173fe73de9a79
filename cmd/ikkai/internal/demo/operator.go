package demo

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Ikkai is the command line, which the operator in the story uses. It returns the exit status.
type Ikkai func(ctx context.Context, args []string, stdout, stderr io.Writer) int

// Command is a command of the operator's and what it has printed.
type Command struct {
	At Milliseconds `json:"at_ms"`
	// Line as it was typed, without what says where the table is.
	Line   string `json:"line"`
	Output string `json:"output"`
}

// ikkai runs a command on the story's table and returns what it prints.
func (s *show) ikkai(ctx context.Context, args ...string) (output string, err error) {
	return s.run(ctx, args, "--table-name", idempotencyTable, "--endpoint-url", s.stage.endpoint+"/operator", "--margin", margin.String())
}

// ikkaiAlone runs a command that asks no table.
func (s *show) ikkaiAlone(ctx context.Context, args ...string) (output string, err error) {
	return s.run(ctx, args)
}

func (s *show) run(ctx context.Context, args []string, where ...string) (output string, err error) {
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	var stdout, stderr bytes.Buffer
	status := s.operator(ctx, append(args, where...), &stdout, &stderr)
	if status != 0 {
		return "", fmt.Errorf("ikkai %s: exit status %d: %s", args[0], status, stderr.String())
	}
	line := "ikkai " + strings.ReplaceAll(strings.Join(args, " "), s.stage.logs+string(filepath.Separator), "")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.narrator.Command(Command{At: Milliseconds(time.Since(s.started)), Line: line, Output: stdout.String()})
	return stdout.String(), nil
}

// eventFile writes the event of a request down, as the customer's support has it.
func (s *show) eventFile(sent Sent) (string, error) {
	event, err := s.templates[sent.function()].with(sent)
	if err != nil {
		return "", err
	}
	file := filepath.Join(s.stage.logs, "event.json")
	return file, os.WriteFile(file, event, 0o600)
}
