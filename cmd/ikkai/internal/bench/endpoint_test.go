package bench

import (
	"bufio"
	"io"
	"strings"
	"testing"
)

// The endpoint serves until whoever has started it lets go of its stdin, also by
// dying.
func TestServeEndsWithItsInput(t *testing.T) {
	in, parent := io.Pipe()
	lines, out := io.Pipe()
	served := make(chan error)
	go func() { served <- Serve(in, out) }()
	url, err := bufio.NewReader(lines).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	client, name, stop, err := connect(t.Context(), strings.TrimSpace(url))
	if err != nil || name != strings.TrimSpace(url) {
		t.Fatalf("connected to %q: %v", name, err)
	}
	if _, err := newStore(t.Context(), client, "bench"); err != nil {
		t.Errorf("the endpoint does not serve: %v", err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	parent.Close()
	if err := <-served; err != nil {
		t.Error(err)
	}
}
