package main

import (
	"strings"
	"testing"

	"github.com/ikkai-go/idempotency/internal/lambdatest"
)

func TestEverySettingIsChecked(t *testing.T) {
	complete := settings{idempotencyTable: lambdatest.IdempotencyTable, ordersTable: ordersTable}
	client := newDatabase(t).Client()
	if _, err := newFunction(client, complete); err != nil {
		t.Fatal(err)
	}
	for variable, spoil := range map[string]func(*settings){
		"IDEMPOTENCY_TABLE":   func(s *settings) { s.idempotencyTable = "" },
		"ORDERS_TABLE":        func(s *settings) { s.ordersTable = "" },
		"SIMULATED_WAREHOUSE": func(s *settings) { s.simulatedWarehouse = "off" },
	} {
		spoilt := complete
		spoil(&spoilt)
		if _, err := newFunction(client, spoilt); err == nil || !strings.Contains(err.Error(), variable) {
			t.Errorf("%s: %v", variable, err)
		}
	}
}
