package main

import (
	"testing"

	"github.com/ikkai-go/idempotency/functions/internal/wiring"
	"github.com/ikkai-go/idempotency/internal/lambdatest"
)

func TestEverySettingIsChecked(t *testing.T) {
	lambdatest.EverySettingIsChecked(t, map[string]string{
		"IDEMPOTENCY_TABLE":  "",
		"SALES_TABLE":        "",
		"SIMULATED_PROVIDER": "off",
		"SIMULATED_MAIL":     "off",
	}, func(spoilt map[string]string) error {
		_, err := wiring.Build(newFunction, newDatabase(t).Client(), settings, spoilt)
		return err
	})
}
