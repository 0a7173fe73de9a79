package salaries

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/ikkai-go/idempotency/functions/internal/ledger"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
)

// CreateTables creates the tables that are not there yet, for local use. Deployed
// ones belong into a template.
func CreateTables(ctx context.Context, client *dynamodb.Client, s Settings) error {
	if err := dynamostore.CreateTable(ctx, client, dynamostore.Config{Table: s.IdempotencyTable}); err != nil {
		return err
	}
	return ledger.CreateTable(ctx, client, s.PayrollTable)
}
