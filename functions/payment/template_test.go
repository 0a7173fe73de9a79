package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ikkai-go/idempotency/idempotent"
)

func TestTheAlarmsKnowTheGuardsEvents(t *testing.T) {
	template, err := os.ReadFile(filepath.Join("..", "..", "template.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []idempotent.EventKind{
		idempotent.LeaseLost, idempotent.OutcomeUnknown, idempotent.NotStored, idempotent.StoreFailed,
	} {
		if pattern := fmt.Sprintf(`$.message = "idempotency: %s"`, kind); !strings.Contains(string(template), pattern) {
			t.Errorf("template.yaml has no filter for %s", pattern)
		}
	}
}
