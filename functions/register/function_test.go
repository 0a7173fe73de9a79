package main

import (
	"strings"
	"testing"

	"github.com/ikkai-go/idempotency/internal/lambdatest"
)

func TestEverySettingIsChecked(t *testing.T) {
	complete := settings{idempotencyTable: lambdatest.IdempotencyTable, usersTable: usersTable}
	client := newDatabase(t).Client()
	if _, err := newFunction(client, complete); err != nil {
		t.Fatal(err)
	}
	for variable, spoil := range map[string]func(*settings){
		"EVENT_SOURCE":      func(s *settings) { s.eventSource = "sqs" },
		"IDEMPOTENCY_TABLE": func(s *settings) { s.idempotencyTable = "" },
		"USERS_TABLE":       func(s *settings) { s.usersTable = "" },
		"SIMULATED_MAIL":    func(s *settings) { s.simulatedMail = "off" },
	} {
		spoilt := complete
		spoil(&spoilt)
		if _, err := newFunction(client, spoilt); err == nil || !strings.Contains(err.Error(), variable) {
			t.Errorf("%s: %v", variable, err)
		}
	}
}
