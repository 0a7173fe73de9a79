package dynamotest

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"
)

// Short spellings of table definitions.

// defined are attribute definitions such as "id:S owner:S".
func defined(attributes string) []types.AttributeDefinition {
	var list []types.AttributeDefinition
	for a := range strings.FieldsSeq(attributes) {
		name, kind, _ := strings.Cut(a, ":")
		list = append(list, types.AttributeDefinition{AttributeName: &name, AttributeType: types.ScalarAttributeType(kind)})
	}
	return list
}

// keyed is a key schema such as "id" or "owner region/sk": before the slash the partition key, behind it the sort key.
func keyed(schema string) []types.KeySchemaElement {
	var list []types.KeySchemaElement
	hashes, ranges, _ := strings.Cut(schema, "/")
	for name := range strings.FieldsSeq(hashes) {
		list = append(list, types.KeySchemaElement{AttributeName: aws.String(name), KeyType: "HASH"})
	}
	for name := range strings.FieldsSeq(ranges) {
		list = append(list, types.KeySchemaElement{AttributeName: aws.String(name), KeyType: "RANGE"})
	}
	return list
}

func projecting(kind types.ProjectionType, attributes ...string) *types.Projection {
	return &types.Projection{ProjectionType: kind, NonKeyAttributes: attributes}
}

func globalIndex(name, schema string, projection *types.Projection) types.GlobalSecondaryIndex {
	return types.GlobalSecondaryIndex{IndexName: &name, KeySchema: keyed(schema), Projection: projection}
}

func localIndex(name, schema string, projection *types.Projection) types.LocalSecondaryIndex {
	return types.LocalSecondaryIndex{IndexName: &name, KeySchema: keyed(schema), Projection: projection}
}

// tableWith is the definition of a table on demand with the key id/sk, changed by the given functions.
func tableWith(name, attributes string, changes ...func(*dynamodb.CreateTableInput)) *dynamodb.CreateTableInput {
	in := &dynamodb.CreateTableInput{
		TableName: &name, BillingMode: "PAY_PER_REQUEST", AttributeDefinitions: defined("id:S sk:N " + attributes), KeySchema: keyed("id/sk"),
	}
	for _, change := range changes {
		change(in)
	}
	return in
}

func with21[E any](of func(name string) E) []E {
	var list []E
	for i := range 21 {
		list = append(list, of(fmt.Sprintf("index-%d", i)))
	}
	return list
}

const badParameter = "One or more parameter values were invalid: "

// definitionBehaviours are definitions of tables that DynamoDB refuses: API reference, CreateTable; developer guide,
// "Service, account, and table quotas", "Local secondary indexes", "Multi-attribute key schema".
var definitionBehaviours = func() []behaviour {
	all := projecting("ALL")
	type change = func(*dynamodb.CreateTableInput)
	global := func(list ...types.GlobalSecondaryIndex) change {
		return func(in *dynamodb.CreateTableInput) { in.GlobalSecondaryIndexes = list }
	}
	local := func(list ...types.LocalSecondaryIndex) change {
		return func(in *dynamodb.CreateTableInput) { in.LocalSecondaryIndexes = list }
	}
	keys := func(list ...types.KeySchemaElement) change {
		return func(in *dynamodb.CreateTableInput) { in.KeySchema = list }
	}
	provisioned := func(read, write int64) change {
		return func(in *dynamodb.CreateTableInput) {
			in.BillingMode = ""
			in.ProvisionedThroughput = &types.ProvisionedThroughput{ReadCapacityUnits: &read, WriteCapacityUnits: &write}
		}
	}
	constraint := func(fault string) string { return "1 validation error detected: Value " + fault }
	var list []behaviour
	for i, c := range []struct {
		name, attributes string
		change           change
		refused          string
	}{
		{"an index name of two letters", "o:S", global(globalIndex("ab", "o", all)),
			constraint("'ab' at 'globalSecondaryIndexes.1.member.indexName' failed to satisfy constraint: Member must have length greater than or equal to 3")},
		{"a local index name with a space", "o:S", local(localIndex("a b", "id/o", all)),
			constraint("'a b' at 'localSecondaryIndexes.1.member.indexName' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+")},
		{"an index name of 256 letters", "o:S", global(globalIndex(strings.Repeat("n", 256), "o", all)), ""},
		{"21 global indexes", "o:S", global(with21(func(name string) types.GlobalSecondaryIndex { return globalIndex(name, "o", all) })...),
			badParameter + "GlobalSecondaryIndex count exceeds the per-table limit of 20"},
		{"6 local indexes", "o:S", local(with21(func(name string) types.LocalSecondaryIndex { return localIndex(name, "id/o", all) })[:6]...),
			badParameter + "Number of LocalSecondaryIndexes exceeds per-table limit of 5"},
		{"an empty list of global indexes", "", func(in *dynamodb.CreateTableInput) { in.GlobalSecondaryIndexes = []types.GlobalSecondaryIndex{} },
			badParameter + "List of GlobalSecondaryIndexes is empty"},
		{"an empty list of local indexes", "", func(in *dynamodb.CreateTableInput) { in.LocalSecondaryIndexes = []types.LocalSecondaryIndex{} },
			badParameter + "List of LocalSecondaryIndexes is empty"},
		{"two indexes of one name", "o:S", func(in *dynamodb.CreateTableInput) {
			local(localIndex("same", "id/o", all))(in)
			global(globalIndex("same", "o", all))(in)
		}, badParameter + "Duplicate index name: same"},
		{"no attribute type", "", func(in *dynamodb.CreateTableInput) { in.AttributeDefinitions[0].AttributeType = "" },
			constraint("null at 'attributeDefinitions.1.member.attributeType' failed to satisfy constraint: Member must not be null")},
		{"an attribute that no key has", "o:S", func(*dynamodb.CreateTableInput) {},
			badParameter + "Some AttributeDefinitions are not used. AttributeDefinitions: [id, sk, o], keys used: [id, sk]"},
		{"an attribute defined twice", "sk:S", func(*dynamodb.CreateTableInput) {}, ""},
		{"a key attribute that is not defined", "", keys(keyed("id/other")...),
			badParameter + "Some index key attributes are not defined in AttributeDefinitions. Keys: [id, other], AttributeDefinitions: [id, sk]"},
		{"no key", "", keys(), ""},
		{"two partition keys", "", keys(keyed("id sk")...), "Invalid KeySchema: The second KeySchemaElement is not a RANGE key type"},
		{"a sort key first", "", keys(keyed("/sk")...), "Invalid KeySchema: The first KeySchemaElement is not a HASH key type"},
		{"one attribute as both keys", "", keys(keyed("id/id")...), "Invalid KeySchema: Some index key attribute have no definition"},
		{"an unknown role", "", keys(types.KeySchemaElement{AttributeName: aws.String("id"), KeyType: "X"}),
			constraint("'X' at 'keySchema.1.member.keyType' failed to satisfy constraint: Member must satisfy enum value set: [HASH, RANGE]")},
		{"an unknown billing mode", "", func(in *dynamodb.CreateTableInput) { in.BillingMode = "X" },
			constraint("'X' at 'billingMode' failed to satisfy constraint: Member must satisfy enum value set: [PROVISIONED, PAY_PER_REQUEST]")},
		{"an unknown table class", "", func(in *dynamodb.CreateTableInput) { in.TableClass = "X" }, ""},
		{"provisioned capacity of zero", "", provisioned(0, 0),
			"2 validation errors detected: Value '0' at 'provisionedThroughput.readCapacityUnits' failed to satisfy constraint: Member must have value greater than or equal to 1; " +
				"Value '0' at 'provisionedThroughput.writeCapacityUnits' failed to satisfy constraint: Member must have value greater than or equal to 1"},
		{"provisioned capacity on demand", "", func(in *dynamodb.CreateTableInput) {
			provisioned(1, 1)(in)
			in.BillingMode = "PAY_PER_REQUEST"
		}, badParameter + "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST"},
		{"a projection of an unknown type", "o:S", global(globalIndex("owners", "o", projecting("X"))), ""},
		{"INCLUDE of nothing", "o:S", global(globalIndex("owners", "o", projecting("INCLUDE"))),
			badParameter + "ProjectionType is INCLUDE, but NonKeyAttributes is not specified"},
		{"ALL and more", "o:S", local(localIndex("owners", "id/o", projecting("ALL", "v"))),
			badParameter + "ProjectionType is ALL, but NonKeyAttributes is specified"},
		{"101 projected attributes", "o:S p:S", global(
			globalIndex("owners", "o", projecting("INCLUDE", with21(plain)...)), globalIndex("owners2", "o", projecting("INCLUDE", with21(plain)...)),
			globalIndex("owners3", "o", projecting("INCLUDE", with21(plain)...)), globalIndex("owners4", "o", projecting("INCLUDE", with21(plain)...)),
			globalIndex("owners5", "p", projecting("INCLUDE", with21(plain)...))), ""},
		{"a local index of a table without a sort key", "o:S", func(in *dynamodb.CreateTableInput) {
			local(localIndex("owners", "id/o", all))(in)
			in.KeySchema, in.AttributeDefinitions = keyed("id"), defined("id:S o:S")
		}, badParameter + "Table KeySchema does not have a range key, which is required when specifying a LocalSecondaryIndex"},
		{"a local index without a sort key", "", local(localIndex("owners", "id", all)),
			badParameter + "Index KeySchema does not have a range key for index: owners"},
		{"a local index of another partition key", "o:S", local(localIndex("owners", "o/sk", all)),
			badParameter + "Index KeySchema does not have the same leading hash key as table KeySchema for index: owners. index hash key: o, table hash key: id"},
		{"a global index of five partition keys", "a:S b:S c:S d:S e:S", global(globalIndex("owners", "a b c d e", all)), ""},
		{"a tag without a value", "", func(in *dynamodb.CreateTableInput) { in.Tags = []types.Tag{{Key: aws.String("k")}} }, ""},
		{"a stream without a view", "", func(in *dynamodb.CreateTableInput) {
			in.StreamSpecification = &types.StreamSpecification{StreamEnabled: aws.Bool(true)}
		}, ""},
	} {
		list = append(list, behaviour{"no table is made of " + c.name, func(ctx context.Context, at *endpoint) error {
			name := fmt.Sprintf("%s-refused-%d", at.hashed, i)
			_, err := at.CreateTable(ctx, tableWith(name, c.attributes, c.change), unvalidated)
			if err == nil {
				at.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &name})
			}
			return at.refusal(err, invalidRequest, c.refused)
		}})
	}
	return list
}()

// unvalidated lets the SDK send what it would refuse itself.
func unvalidated(o *dynamodb.Options) {
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		_, err := stack.Initialize.Remove("OperationInputValidation")
		return err
	})
}
