// Package deploy holds one function of one's own in five parts: the function, and four ways to deploy it with the table of
// its records. They are working folders, which a person may copy, and what the command ikkai new copies. The name payout
// stands for the function's in all of them, and for nothing else.
//
// The same holds in each: one function on provided.al2023 and arm64, the table that dynamostore.CreateTable makes with
// deletion protection, a role for the records of its operation only (dynamodb:LeadingKeys), a log group that is kept for
// 30 days, filters on the guard's events, and alarms. The tests compare them.
package deploy

import (
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

//go:embed function sam cdk terraform
var parts embed.FS

// placeholder stands for the function's name in all files.
const placeholder = "payout"

// infrastructures are the folders of what a function can be deployed with.
var infrastructures = map[string]string{
	"sam":       "sam",
	"cdk-ts":    "cdk/typescript",
	"cdk-go":    "cdk/go",
	"terraform": "terraform",
}

// Infrastructures are the names of what a function can be deployed with, in alphabetical order.
func Infrastructures() []string { return slices.Sorted(maps.Keys(infrastructures)) }

// Files are those of a function with that name and one of the Infrastructures, by their paths in its folder, with
// slashes. Only go.mod is missing, which says where the toolkit is. The error is of an infrastructure that is none.
func Files(name, infrastructure string) (map[string]string, error) {
	folder, known := infrastructures[infrastructure]
	if !known {
		return nil, fmt.Errorf("no infrastructure %q; there are %s", infrastructure, strings.Join(Infrastructures(), ", "))
	}
	files := make(map[string]string)
	for _, part := range []string{"function", folder} {
		if err := collect(files, part, name); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// collect adds the files of a part. Both parts have a README, of which one continues the other. What is to be kept from this
// module's Go has the suffix .txt there or a build tag, and what is to be kept from its git has no dot.
func collect(files map[string]string, part, name string) error {
	return fs.WalkDir(parts, part, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := parts.ReadFile(file)
		if err != nil {
			return err
		}
		to := strings.TrimSuffix(strings.TrimPrefix(file, part+"/"), ".txt")
		if path.Base(to) == "gitignore" {
			to = path.Join(path.Dir(to), ".gitignore")
		}
		files[to] += strings.ReplaceAll(strings.TrimPrefix(string(content), "//go:build ignore\n\n"), placeholder, name)
		return nil
	})
}
