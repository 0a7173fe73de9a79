package powertools_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/idempotent/powertools"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

// table is an emulated table of a peer.
type table struct {
	t     *testing.T
	db    *dynamotest.DB
	store *powertools.Store
}

func newTable(t *testing.T, peer *powertools.Peer) table {
	t.Helper()
	db := dynamotest.New(t)
	if err := dynamostore.CreateTable(t.Context(), db.Client(), peer.Table()); err != nil {
		t.Fatal(err)
	}
	store, err := peer.Store(db.Client())
	if err != nil {
		t.Fatal(err)
	}
	return table{t, db, store}
}

// item returns the only item, in DynamoDB's JSON.
func (b table) item() map[string]any {
	b.t.Helper()
	items := b.db.Items("idempotency")
	if len(items) != 1 {
		b.t.Fatalf("there are %d items", len(items))
	}
	return encodedMap(items[0])
}

// put puts an item in DynamoDB's JSON.
func (b table) put(item map[string]any) {
	b.t.Helper()
	if err := b.db.Seed("idempotency", decodedMap(item)); err != nil {
		b.t.Fatal(err)
	}
}

func encodedMap(m map[string]types.AttributeValue) map[string]any {
	encodedMap := make(map[string]any, len(m))
	for name, v := range m {
		encodedMap[name] = encoded(v)
	}
	return encodedMap
}

func encoded(v types.AttributeValue) any {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return map[string]any{"S": v.Value}
	case *types.AttributeValueMemberN:
		return map[string]any{"N": v.Value}
	case *types.AttributeValueMemberBOOL:
		return map[string]any{"BOOL": v.Value}
	case *types.AttributeValueMemberNULL:
		return map[string]any{"NULL": true}
	case *types.AttributeValueMemberL:
		list := make([]any, len(v.Value))
		for i, item := range v.Value {
			list[i] = encoded(item)
		}
		return map[string]any{"L": list}
	case *types.AttributeValueMemberM:
		return map[string]any{"M": encodedMap(v.Value)}
	}
	return nil
}

func decodedMap(m map[string]any) map[string]types.AttributeValue {
	item := make(map[string]types.AttributeValue, len(m))
	for name, v := range m {
		item[name] = decoded(v.(map[string]any))
	}
	return item
}

func decoded(v map[string]any) types.AttributeValue {
	for kind, content := range v {
		switch kind {
		case "S":
			return &types.AttributeValueMemberS{Value: content.(string)}
		case "N":
			return &types.AttributeValueMemberN{Value: content.(string)}
		case "BOOL":
			return &types.AttributeValueMemberBOOL{Value: content.(bool)}
		case "NULL":
			return &types.AttributeValueMemberNULL{Value: true}
		case "L":
			var list []types.AttributeValue
			for _, item := range content.([]any) {
				list = append(list, decoded(item.(map[string]any)))
			}
			return &types.AttributeValueMemberL{Value: list}
		case "M":
			return &types.AttributeValueMemberM{Value: decodedMap(content.(map[string]any))}
		}
	}
	return nil
}
