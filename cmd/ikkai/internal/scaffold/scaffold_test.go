package scaffold_test

import (
	"go/format"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ikkai-go/idempotency/cmd/ikkai/internal/scaffold"
	"github.com/ikkai-go/idempotency/deploy"
)

const root = "../../../.."

// Without a network: what this module needs is there, and the function needs nothing else.
func TestWhatIsMadeBuildsAndPassesItsTest(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds a function")
	}
	checkout, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "refund-2")
	if err := scaffold.Make(scaffold.Options{Dir: dir, Infrastructure: "terraform", Module: "example.com/shop/refund-2", Replace: checkout}); err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "go.sum"), sums, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"vet", "-mod=mod", "./..."}, {"build", "-mod=mod", "-o", os.DevNull, "."}, {"test", "-mod=mod", "./..."}} {
		command := exec.CommandContext(t.Context(), "go", args...)
		command.Dir = dir
		command.Env = append(os.Environ(), "GOPROXY=off", "GOFLAGS=", "GOWORK=off")
		if output, err := command.CombinedOutput(); err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, output)
		}
	}
}

func TestEachIsWhole(t *testing.T) {
	infrastructure := map[string]string{"sam": "template.yaml", "cdk-ts": "infra/app.ts", "cdk-go": "infra/go.mod", "terraform": "infra/main.tf"}
	for _, name := range deploy.Infrastructures() {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "refund")
			if err := scaffold.Make(scaffold.Options{Dir: dir, Infrastructure: name, Version: "v1.2.3"}); err != nil {
				t.Fatal(err)
			}
			for _, file := range []string{"go.mod", "main.go", "handler.go", "handler_test.go", "README.md", "Makefile", ".gitignore", infrastructure[name]} {
				if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(file))); err != nil {
					t.Error(err)
				}
			}
			each(t, dir, func(file, content string) {
				if strings.Contains(content, "payout") || strings.Contains(content, "go:build") {
					t.Errorf("%s is not of a function of its own:\n%s", file, content)
				}
				if strings.HasSuffix(file, ".go") {
					if formatted, err := format.Source([]byte(content)); err != nil || string(formatted) != content {
						t.Errorf("%s is not formatted (%v)", file, err)
					}
				}
			})
			module, err := os.ReadFile(filepath.Join(dir, "go.mod"))
			if err != nil || !strings.Contains(string(module), "module refund\n") || !strings.Contains(string(module), "idempotency v1.2.3\n") {
				t.Errorf("go.mod is %s (%v)", module, err)
			}
			entries, err := os.ReadDir(filepath.Dir(dir))
			if err != nil || len(entries) != 1 {
				t.Errorf("beside it there is something: %v (%v)", entries, err)
			}
		})
	}
}

func TestWhatCannotBeMadeLeavesNothing(t *testing.T) {
	full := filepath.Join(t.TempDir(), "refund")
	if err := os.MkdirAll(filepath.Join(full, "mine"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]scaffold.Options{
		"a name that is no stack's":      {Dir: filepath.Join(t.TempDir(), "Refund_2"), Infrastructure: "sam"},
		"a name that is no operation's":  {Dir: filepath.Join(t.TempDir(), "re#fund"), Infrastructure: "sam"},
		"a name that is too long":        {Dir: filepath.Join(t.TempDir(), strings.Repeat("r", 41)), Infrastructure: "sam"},
		"an infrastructure that is none": {Dir: filepath.Join(t.TempDir(), "refund"), Infrastructure: "pulumi"},
		"a folder that is not empty":     {Dir: full, Infrastructure: "sam"},
	} {
		if err := scaffold.Make(o); err == nil {
			t.Errorf("%s: it is made", name)
		}
		if entries, err := os.ReadDir(filepath.Dir(o.Dir)); err != nil || len(entries) != 0 && o.Dir != full {
			t.Errorf("%s: there is %v (%v)", name, entries, err)
		}
	}
	if entries, err := os.ReadDir(full); err != nil || len(entries) != 1 {
		t.Errorf("the folder has %v (%v)", entries, err)
	}
	empty := filepath.Join(t.TempDir(), "refund")
	if err := os.Mkdir(empty, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := scaffold.Make(scaffold.Options{Dir: empty, Infrastructure: "sam"}); err != nil {
		t.Errorf("an empty folder is not filled: %v", err)
	}
}

func each(t *testing.T, dir string, visit func(file, content string)) {
	t.Helper()
	err := filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(file)
		visit(file, string(content))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
