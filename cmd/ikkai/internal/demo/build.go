package demo

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// modulePath is the module that the demo builds its programs from.
const modulePath = "github.com/ikkai-go/idempotency"

// programs are the paths of what runs in a Lambda environment.
type programs struct {
	function string
	emulator string
}

// moduleRoot is the folder of the clone that the working directory is in.
func moduleRoot(ctx context.Context) (string, error) {
	module, err := goTool(ctx, "", "list", "-m", "-f", "{{.Path}}\n{{.Dir}}")
	if err != nil {
		return "", err
	}
	path, root, _ := strings.Cut(strings.TrimSpace(module), "\n")
	if path != modulePath {
		return "", fmt.Errorf("the working directory is in module %s; the demo runs in a clone of %s", path, modulePath)
	}
	return root, nil
}

// build builds both programs. What is up to date already is not built again: the
// go tool sees to that.
func build(ctx context.Context, root string) (programs, error) {
	bin := filepath.Join(root, ".cache", "bin")
	p := programs{
		function: filepath.Join(bin, "payment"),
		emulator: filepath.Join(bin, "aws-lambda-rie"),
	}
	// The flags are those of the deployed function.
	if _, err := goTool(ctx, root, "build", "-tags", "lambda.norpc", "-trimpath", "-ldflags", "-s -w", "-o", p.function, "./functions/payment"); err != nil {
		return programs{}, err
	}
	if _, err := goTool(ctx, filepath.Join(root, "tools"), "build", "-o", p.emulator, "github.com/aws/aws-lambda-runtime-interface-emulator/cmd/aws-lambda-rie"); err != nil {
		return programs{}, err
	}
	return p, nil
}

// goTool runs the go tool in a folder and returns what it prints.
func goTool(ctx context.Context, dir string, args ...string) (string, error) {
	tool := exec.CommandContext(ctx, "go", args...) //nolint:gosec // all arguments are written above
	tool.Dir = dir
	var said, complained bytes.Buffer
	tool.Stdout, tool.Stderr = &said, &complained
	if err := tool.Run(); err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, complained.Bytes())
	}
	return said.String(), nil
}
