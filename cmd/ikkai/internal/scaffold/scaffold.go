// Package scaffold makes the folder of a new function: handler, test, and what deploys it.
package scaffold

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/ikkai-go/idempotency/deploy"
)

// toolkit is the path of the module that functions are guarded with.
const toolkit = "github.com/ikkai-go/idempotency"

// Options say what is made.
type Options struct {
	// Dir is the folder to make. It must not exist, or be empty. Its last element is the function's name,
	// its operation and its stack.
	Dir string
	// Module is the path of its Go module. Defaults to the name.
	Module string
	// Infrastructure is one of deploy.Infrastructures.
	Infrastructure string
	// Version is the toolkit's to require, such as "v1.2.0"; empty leaves it to go mod tidy.
	Version string
	// Replace is the folder of a checkout of the toolkit to use instead of a version; empty for none.
	Replace string
}

// name is that of a stack, a Lambda function and an operation at once, which is all of their rules.
var name = regexp.MustCompile(`^[a-z][a-z0-9-]{0,38}[a-z0-9]$`)

// Make makes the folder, whole or not at all.
func Make(o Options) error {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return err
	}
	function := filepath.Base(dir)
	if !name.MatchString(function) {
		return fmt.Errorf("%q can't name a function: 2 to 40 of a-z, 0-9 and -, beginning with a letter", function)
	}
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return fmt.Errorf("%s is there already, and not empty", o.Dir)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	files, err := deploy.Files(function, o.Infrastructure)
	if err != nil {
		return err
	}
	files["go.mod"] = goMod(o, function)
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil { //nolint:gosec // a source folder, like any other
		return err
	}
	fresh, err := os.MkdirTemp(filepath.Dir(dir), "."+function+"-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(fresh) // it is gone where all went well
	if err := write(fresh, files); err != nil {
		return err
	}
	_ = os.Remove(dir) // an empty one; Rename does not replace it on all systems
	return os.Rename(fresh, dir)
}

func goMod(o Options, function string) string {
	module := o.Module
	if module == "" {
		module = function
	}
	var b strings.Builder
	fmt.Fprintf(&b, "module %s\n\ngo 1.26.0\n", module)
	if o.Infrastructure != "sam" {
		b.WriteString("\nignore ./infra\n") // what npm installs has Go files, too
	}
	version := o.Version
	if o.Replace != "" {
		version = "v0.0.0"
	}
	if version != "" {
		fmt.Fprintf(&b, "\nrequire %s %s\n", toolkit, version)
	}
	if o.Replace != "" {
		fmt.Fprintf(&b, "\nreplace %s => %s\n", toolkit, modfilePath(o.Replace))
	}
	return b.String()
}

// modfilePath is a path as go.mod has it: quoted where it has to be.
func modfilePath(dir string) string {
	if strings.ContainsAny(dir, " \t\"'`()[]{},") {
		return fmt.Sprintf("%q", dir)
	}
	return dir
}

func write(dir string, files map[string]string) error {
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // MkdirTemp's are for secrets, sources are not
		return err
	}
	for file, content := range files {
		to := filepath.Join(dir, filepath.FromSlash(file))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil { //nolint:gosec // as above
			return err
		}
		if err := os.WriteFile(to, []byte(content), 0o644); err != nil { //nolint:gosec // as above
			return err
		}
	}
	return nil
}
