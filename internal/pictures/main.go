// Command pictures draws the pictures of docs/pictures: "make figures" runs it in the root of the module.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// all are the pictures, each of which draws itself; some of them from what the guides below root say.
func all(root string) ([]*picture, error) {
	calls, err := calls(root)
	if err != nil {
		return nil, err
	}
	warm, err := warm(root)
	if err != nil {
		return nil, err
	}
	return []*picture{protocol(), duplicates(), saga(), house(), calls, warm}, nil
}

func main() {
	if err := draw("."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func draw(root string) error {
	pictures, err := all(root)
	if err != nil {
		return err
	}
	for _, p := range pictures {
		file := filepath.Join(root, "docs", "pictures", p.name+".svg")
		if err := os.WriteFile(file, p.svg(), 0o644); err != nil { //nolint:gosec // a picture for everybody
			return err
		}
	}
	return nil
}
