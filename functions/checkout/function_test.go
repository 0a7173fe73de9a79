package main

import (
	"strings"
	"testing"

	"github.com/ikkai-go/idempotency/internal/lambdatest"
)

func TestEverySettingIsChecked(t *testing.T) {
	complete := settings{idempotencyTable: lambdatest.IdempotencyTable, salesTable: salesTable}
	client := newDatabase(t).Client()
	if _, err := newFunction(client, complete); err != nil {
		t.Fatal(err)
	}
	for variable, spoil := range map[string]func(*settings){
		"IDEMPOTENCY_TABLE":  func(s *settings) { s.idempotencyTable = "" },
		"SALES_TABLE":        func(s *settings) { s.salesTable = "" },
		"SIMULATED_PROVIDER": func(s *settings) { s.simulatedProvider = "off" },
		"SIMULATED_MAIL":     func(s *settings) { s.simulatedMail = "off" },
	} {
		spoilt := complete
		spoil(&spoilt)
		if _, err := newFunction(client, spoilt); err == nil || !strings.Contains(err.Error(), variable) {
			t.Errorf("%s: %v", variable, err)
		}
	}
}
