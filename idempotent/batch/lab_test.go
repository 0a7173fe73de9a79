package batch_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/ikkai-go/idempotency/idempotent/internal/lab"
)

// table is the name of the embedded DynamoDB's table in these tests.
const table = lab.Table

var errTryAgain = errors.New("try again")

// within is a context that ends in d, as Lambda's do.
func within(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}
