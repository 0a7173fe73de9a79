package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ikkai-go/idempotency/idempotent"
)

// Goods that are not given back are nobody's until somebody looks.
func TestTheAlarmsKnowOfGoodsThatAreNotBack(t *testing.T) {
	template, err := os.ReadFile(filepath.Join("..", "..", "template.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if pattern := fmt.Sprintf(`$.event = %q`, idempotent.EventCompensationFailed); !strings.Contains(string(template), pattern) {
		t.Errorf("template.yaml has no filter for %s", pattern)
	}
}
