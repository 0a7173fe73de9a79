// Command pictures draws the pictures of docs/pictures: "make figures" runs it in the root of the module.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// all are the pictures, each of which draws itself.
func all() []*picture { return []*picture{protocol(), duplicates(), saga(), house()} }

func main() {
	for _, p := range all() {
		file := filepath.Join("docs", "pictures", p.name+".svg")
		if err := os.WriteFile(file, p.svg(), 0o644); err != nil { //nolint:gosec // a picture for everybody
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}
