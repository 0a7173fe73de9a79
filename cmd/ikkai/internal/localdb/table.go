package localdb

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

// Table is a table to be made.
type Table struct {
	definition *dynamodb.CreateTableInput
	ttl        string   // the TTL attribute, if there is one
	unserved   []string // what its template asks for and is not served
}

// Name is the table's name.
func (t Table) Name() string { return *t.definition.TableName }

func (t Table) create(ctx context.Context, db *dynamotest.DB, notes io.Writer) error {
	client := db.Client()
	if _, err := client.CreateTable(ctx, t.definition); err != nil {
		return fmt.Errorf("table %s: %w", t.Name(), err)
	}
	if t.ttl != "" {
		enabled := true
		_, err := client.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
			TableName: t.definition.TableName, TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: &t.ttl, Enabled: &enabled},
		})
		if err != nil {
			return fmt.Errorf("table %s: %w", t.Name(), err)
		}
	}
	for _, property := range t.unserved {
		fmt.Fprintf(notes, "table %s is served without its %s\n", t.Name(), property)
	}
	return nil
}

// ParseTables reads what the command line says of tables: the name of a template, to which #LogicalID may be added; or
// name=key, to which ,sort may be added, and to each key its type, which is S without, as in orders=customer,number:N.
func ParseTables(given string) ([]Table, error) {
	file, logicalID, _ := strings.Cut(given, "#")
	if slices.Contains([]string{".yaml", ".yml", ".json", ".template"}, strings.ToLower(filepath.Ext(file))) {
		return readTemplate(file, logicalID)
	}
	name, keys, found := strings.Cut(given, "=")
	if !found {
		return nil, fmt.Errorf("table %q: neither a template (.yaml, .yml, .json, .template) nor name=key[,sort]", given)
	}
	definition := &dynamodb.CreateTableInput{TableName: &name, BillingMode: types.BillingModePayPerRequest}
	for i, key := range strings.Split(keys, ",") {
		attribute, kind, typed := strings.Cut(key, ":")
		if !typed {
			kind = "S"
		}
		role := types.KeyTypeHash
		if i > 0 {
			role = types.KeyTypeRange
		}
		definition.AttributeDefinitions = append(definition.AttributeDefinitions, types.AttributeDefinition{AttributeName: &attribute, AttributeType: types.ScalarAttributeType(kind)})
		definition.KeySchema = append(definition.KeySchema, types.KeySchemaElement{AttributeName: &attribute, KeyType: role})
	}
	return []Table{{definition: definition}}, nil
}
