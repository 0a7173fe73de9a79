package dynamotest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// own is a call of the test itself, past the log, the fault plan and the limits. The database is locked meanwhile.
func (db *DB) own() *call {
	return &call{DB: db, at: db.now(), consumed: make(consumption), unlimited: true}
}

// MustCreateTable makes a table with on-demand capacity, past the log and the fault plan. A key is the name of an attribute,
// to which :N or :B can be added for a number or binary; the first is the partition key, a second one the sort key:
//
//	db.MustCreateTable("orders", "customer", "number:N")
//
// It panics where CreateTable would be refused. Tables with more to them are made with Client and CreateTable.
func (db *DB) MustCreateTable(name string, keys ...string) {
	in := &createTableInput{Table: &name, BillingMode: billingOnDemand}
	for i, key := range keys {
		attribute, kindName, typed := strings.Cut(key, ":")
		if !typed {
			kindName = string(kindString)
		}
		in.Attributes = append(in.Attributes, attributeDefinition{Name: attribute, Kind: kind(kindName)})
		in.Keys = append(in.Keys, keySchemaElement{Name: attribute, Role: []string{"HASH", "RANGE"}[min(i, 1)]})
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	if _, err := in.apply(db.own()); err != nil {
		panic(fmt.Errorf("dynamotest: table %s: %w", name, err))
	}
}

// Items returns a table's items in the order of a Scan; nil if there is no such table. It is not logged.
func (db *DB) Items(tableName string) []map[string]types.AttributeValue {
	db.mu.Lock()
	defer db.mu.Unlock()
	t, ok := db.tables[tableName]
	if !ok {
		return nil
	}
	items := make([]map[string]types.AttributeValue, 0, t.items.rows.Len())
	for r := range t.items.within(everywhere, false) {
		items = append(items, r.item.wire().sdk())
	}
	return items
}

// Seed puts items into a table, past the log, the fault plan and the limits. It refuses what PutItem refuses, and then
// stores nothing.
func (db *DB) Seed(tableName string, items ...map[string]types.AttributeValue) error {
	wired := make([]wireItem, len(items))
	for i, given := range items {
		wired[i] = wireItemOf(given)
	}
	return db.seed(map[string][]wireItem{tableName: wired})
}

// SeedJSON is Seed with an object of lists of items by table, in DynamoDB's JSON. An item may stand in a PutRequest, as in the files
// that aws dynamodb batch-write-item takes:
//
//	{"orders": [{"id": {"S": "a"}}, {"PutRequest": {"Item": {"id": {"S": "b"}}}}]}
//
// It returns how many items there are. Of several tables, too, all is stored or nothing.
func (db *DB) SeedJSON(content []byte) (items int, err error) {
	var given map[string][]seedItem
	if err := json.Unmarshal(content, &given); err != nil {
		return 0, fmt.Errorf("items by table: %w", err)
	}
	wired := make(map[string][]wireItem)
	for table, list := range given {
		for _, i := range list {
			wired[table] = append(wired[table], wireItem(i))
		}
		items += len(list)
	}
	return items, db.seed(wired)
}

// seedItem is an item, by itself or in a PutRequest.
type seedItem wireItem

// UnmarshalJSON implements [json.Unmarshaler].
func (i *seedItem) UnmarshalJSON(content []byte) error {
	var members map[string]jsontext.Value
	if err := json.Unmarshal(content, &members); err != nil {
		return err
	}
	if request, wrapped := members["PutRequest"]; wrapped && len(members) == 1 {
		var put struct{ Item wireItem }
		err := json.Unmarshal(request, &put, json.RejectUnknownMembers(true))
		*i = seedItem(put.Item)
		return err
	}
	return json.Unmarshal(content, (*wireItem)(i))
}

func (db *DB) seed(items map[string][]wireItem) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	c := db.own()
	var writes []write
	for _, table := range slices.Sorted(maps.Keys(items)) {
		for n, i := range items[table] {
			w, err := putRequest{conditional: conditional{Table: &table}, Item: i}.prepare(c)
			if err != nil {
				return fmt.Errorf("item %d for table %s: %w", n+1, table, err)
			}
			writes = append(writes, w)
		}
	}
	_, err := c.carryOut(writes)
	return err
}
