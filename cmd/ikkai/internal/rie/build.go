package rie

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// modulePath is the module that programs are built from.
const modulePath = "github.com/ikkai-go/idempotency"

// Clone is a folder with a clone of the repository. What is built in it goes to
// its .cache, and what is up to date already is not built again: the go tool sees
// to that.
type Clone string

// FindClone returns the clone that the working directory is in.
func FindClone(ctx context.Context) (Clone, error) {
	module, err := goTool(ctx, "", "list", "-m", "-f", "{{.Path}}\n{{.Dir}}")
	if err != nil {
		return "", err
	}
	path, root, _ := strings.Cut(strings.TrimSpace(module), "\n")
	if path != modulePath {
		return "", fmt.Errorf("the working directory is in module %s, not in a clone of %s", path, modulePath)
	}
	return Clone(root), nil
}

// Logs is the folder for logs of one kind.
func (c Clone) Logs(kind string) (string, error) {
	folder := filepath.Join(string(c), ".cache", kind)
	return folder, os.MkdirAll(folder, 0o750)
}

// Build builds a function of the module as it is deployed, but for this machine,
// and returns the binary's path. The package's path begins with "./".
func (c Clone) Build(ctx context.Context, function string) (string, error) {
	binary := c.binary(filepath.Base(function))
	_, err := goTool(ctx, string(c), "build", "-tags", "lambda.norpc", "-trimpath", "-ldflags", "-s -w", "-o", binary, function)
	return binary, err
}

// BuildEmulator builds the emulator, which takes minutes the first time, and
// returns the binary's path.
func (c Clone) BuildEmulator(ctx context.Context) (string, error) {
	binary := c.binary("aws-lambda-rie")
	_, err := goTool(ctx, filepath.Join(string(c), "tools"), "build", "-o", binary, "github.com/aws/aws-lambda-runtime-interface-emulator/cmd/aws-lambda-rie")
	return binary, err
}

func (c Clone) binary(name string) string { return filepath.Join(string(c), ".cache", "bin", name) }

// goTool runs the go tool in a folder, without cgo as in a deployment, and returns
// what it prints.
func goTool(ctx context.Context, dir string, args ...string) (string, error) {
	tool := exec.CommandContext(ctx, "go", args...) //nolint:gosec // all arguments are written in this module
	tool.Dir = dir
	tool.Env = append(tool.Environ(), "CGO_ENABLED=0")
	var said, complained bytes.Buffer
	tool.Stdout, tool.Stderr = &said, &complained
	if err := tool.Run(); err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, complained.Bytes())
	}
	return said.String(), nil
}
