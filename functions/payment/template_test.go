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
		idempotent.EventLeaseLost, idempotent.EventStuck, idempotent.EventNotStored, idempotent.EventStoreFailed,
	} {
		if pattern := fmt.Sprintf(`$.event = %q`, kind); !strings.Contains(string(template), pattern) {
			t.Errorf("template.yaml has no filter for %s", pattern)
		}
	}
}
