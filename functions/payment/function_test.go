package main

import (
	"testing"

	"github.com/ikkai-go/idempotency/functions/internal/wiring"
	"github.com/ikkai-go/idempotency/internal/lambdatest"
)

func TestEverySettingIsChecked(t *testing.T) {
	lambdatest.EverySettingIsChecked(t, map[string]string{
		"EVENT_SOURCE":       "sqs",
		"IDEMPOTENCY_TABLE":  "",
		"PAYMENTS_TABLE":     "",
		"KEY_SCOPE":          "",
		"SIMULATED_PROVIDER": "off",
	}, func(spoilt map[string]string) error {
		_, err := wiring.Build(newFunction, newDatabase(t).Client(), settings, spoilt)
		return err
	})
}
