package lambdatest

import (
	"strings"
	"testing"
)

// EverySettingIsChecked wants a function to be built with its usual settings, and to be refused
// with each of these instead, by an error that names the variable.
func EverySettingIsChecked(t *testing.T, unusable map[string]string, build func(spoilt map[string]string) error) {
	t.Helper()
	if err := build(nil); err != nil {
		t.Fatal(err)
	}
	for variable, value := range unusable {
		if err := build(map[string]string{variable: value}); err == nil || !strings.Contains(err.Error(), variable) {
			t.Errorf("%s=%q: %v", variable, value, err)
		}
	}
}
