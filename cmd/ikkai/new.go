package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/ikkai-go/idempotency/cmd/ikkai/internal/scaffold"
	"github.com/ikkai-go/idempotency/deploy"
)

func runNew(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	options := scaffold.Options{}
	flags := flag.NewFlagSet("ikkai new", flag.ContinueOnError)
	flags.StringVar(&options.Infrastructure, "iac", "sam", "what deploys it: "+strings.Join(deploy.Infrastructures(), ", "))
	flags.StringVar(&options.Module, "module", "", "path of its Go module (default its name)")
	flags.StringVar(&options.Replace, "replace", "", "folder of a checkout of the toolkit to use instead of a version (default the one that the command runs in, if it is of no version itself)")
	tidy := flags.Bool("tidy", true, "run go mod tidy, which looks up and fetches what the function needs")
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), "usage: ikkai new [flags] FOLDER\n\nThe folder's name is the function's. It gets a guarded handler, its test, and what deploys it.\n\n")
		flags.PrintDefaults()
	}
	folder, err := parseWithArgument(flags, args, stderr)
	if err != nil {
		return err
	}
	options.Dir = folder
	options.Version = ownVersion()
	if options.Replace == "" && options.Version == "" {
		options.Replace = checkout()
	}
	if options.Replace != "" {
		if options.Replace, err = filepath.Abs(options.Replace); err != nil {
			return err
		}
	}
	if err := scaffold.Make(options); err != nil {
		return err
	}
	if options.Replace != "" {
		fmt.Fprintf(stderr, "the function uses the checkout in %s, by a replace directive in its go.mod\n", options.Replace)
	}
	next := "make test"
	if *tidy {
		if err := goModTidy(ctx, folder); err != nil {
			fmt.Fprintf(stderr, "go mod tidy has failed; do it again before the rest:\n%v\n", err)
			if options.Version == "" && options.Replace == "" {
				fmt.Fprintln(stderr, "this command is of no version that can be fetched: with --replace, a checkout of the toolkit will do")
			}
			next = "go mod tidy && make test"
		}
	} else {
		next = "go mod tidy && make test"
	}
	fmt.Fprintf(stdout, "%s is there: handler.go has the work, handler_test.go proves it, README.md says how it is deployed. Next:\n\n    cd %s && %s\n", folder, folder, next)
	return nil
}

// ownVersion is the version that this command is of, as "go run …/cmd/ikkai@v1.2.0" knows it; empty for one that nobody can
// fetch.
func ownVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || !strings.HasPrefix(info.Main.Version, "v") || strings.Contains(info.Main.Version, "+") {
		return ""
	}
	return info.Main.Version
}

// checkout is the folder of the toolkit's sources that the command runs in; empty for none.
func checkout() string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	for {
		content, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(content), "module github.com/ikkai-go/idempotency\n") {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}

func goModTidy(ctx context.Context, dir string) error {
	command := exec.CommandContext(ctx, "go", "mod", "tidy")
	command.Dir = dir
	output, err := command.CombinedOutput()
	if err == nil {
		return nil
	}
	var why []string // a line for each package is more than anybody reads
	for line := range strings.Lines(string(output)) {
		if len(why) < 3 && !strings.HasPrefix(line, "go: finding") && !strings.HasPrefix(line, "go: found") && !strings.HasPrefix(line, "go: downloading") {
			why = append(why, strings.TrimRight(line, "\n"))
		}
	}
	return fmt.Errorf("%w\n%s", err, strings.Join(why, "\n"))
}
