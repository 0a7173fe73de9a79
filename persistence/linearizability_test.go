package persistence_test

import (
	"testing"

	"github.com/ikkai-go/idempotency/internal/proof/lincheck"
	"github.com/ikkai-go/idempotency/persistence"
)

func TestMemoryIsLinearizable(t *testing.T) {
	lincheck.Run(t, persistence.NewMemory(), lincheck.Options{})
}
