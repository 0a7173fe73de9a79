// Package metrics switches the metrics of the sample functions on.
package metrics

import (
	"os"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/emf"
)

// Watch returns a config whose guard prints metrics where AWS_EMF_NAMESPACE says under
// which name, as template.yaml does: tests and the demo have no CloudWatch to read them.
func Watch(config idempotent.Config) idempotent.Config {
	if os.Getenv("AWS_EMF_NAMESPACE") == "" {
		return config
	}
	return emf.Watch(config)
}
