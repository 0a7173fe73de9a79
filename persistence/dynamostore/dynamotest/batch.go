package dynamotest

import (
	"fmt"
	"maps"
	"slices"
)

const (
	maxBatchWrites = 25
	maxBatchReads  = 100
)

type (
	batchWriteInput struct {
		Requests                    map[string][]batchWrite `json:"RequestItems"`
		ReturnConsumedCapacity      string
		ReturnItemCollectionMetrics string
	}
	batchWrite struct {
		PutRequest *struct {
			Item wireItem
		} `json:",omitempty"`
		DeleteRequest *struct {
			Key wireItem
		} `json:",omitempty"`
	}
	batchWriteOutput struct {
		UnprocessedItems      map[string][]batchWrite
		ConsumedCapacity      []wireCapacity                 `json:",omitempty"`
		ItemCollectionMetrics map[string][]collectionMetrics `json:",omitempty"`
	}
)

func (in *batchWriteInput) subjects() []string { return slices.Sorted(maps.Keys(in.Requests)) }

func (in *batchWriteInput) apply(c *call) (any, error) {
	if len(in.Requests) == 0 {
		return nil, invalid("The requestItems parameter is required for BatchWriteItem")
	}
	var faults constraints
	count := 0
	for _, name := range in.subjects() {
		requests := len(in.Requests[name])
		count += requests
		faults.addIf(requests < 1 || requests > maxBatchWrites, fmt.Sprintf("'{%s=[%d requests]}'", name, requests), "requestItems",
			"Map value must satisfy constraint: [Member must have length less than or equal to 25, Member must have length greater than or equal to 1]")
	}
	checkEnum(&faults, in.ReturnConsumedCapacity, "returnConsumedCapacity", "INDEXES", "TOTAL", "NONE")
	checkEnum(&faults, in.ReturnItemCollectionMetrics, "returnItemCollectionMetrics", "SIZE", "NONE")
	if err := faults.err(); err != nil {
		return nil, err
	}
	if count > maxBatchWrites {
		return nil, invalid("Too many items requested for the BatchWriteItem call")
	}
	var writes []write
	for _, name := range in.subjects() {
		for _, r := range in.Requests[name] {
			w, err := r.prepare(c, name)
			if err != nil {
				return nil, err
			}
			for _, other := range writes {
				if other.table == w.table && document(other.key).equal(document(w.key)) {
					return nil, errDuplicateKeys
				}
			}
			writes = append(writes, w)
		}
	}
	changes, err := c.carryOut(writes)
	if err != nil {
		return nil, err
	}
	out := batchWriteOutput{
		UnprocessedItems: map[string][]batchWrite{},
		ConsumedCapacity: c.consumed.report(in.ReturnConsumedCapacity),
	}
	if in.ReturnItemCollectionMetrics == "SIZE" {
		out.ItemCollectionMetrics = metricsByTable(changes)
	}
	return out, nil
}

var errDuplicateKeys = invalid("Provided list of item keys contains duplicates")

func (r batchWrite) prepare(c *call, name string) (write, error) {
	if (r.PutRequest == nil) == (r.DeleteRequest == nil) {
		return write{}, invalid("Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes")
	}
	at := conditional{Table: &name}
	if r.PutRequest != nil {
		put, err := r.PutRequest.Item.item()
		if t, known := c.lookUp(name); known && err == nil {
			// Unlike PutItem, a batch compares the item's key with the schema in one go.
			if err := t.keys.checkKey(t.keys.of(put)); err != nil {
				return write{}, err
			}
		}
		return putRequest{conditional: at, Item: r.PutRequest.Item}.prepare(c)
	}
	return deleteRequest{conditional: at, Key: r.DeleteRequest.Key}.prepare(c)
}

type (
	batchGetInput struct {
		Requests               map[string]batchRead `json:"RequestItems"`
		ReturnConsumedCapacity string
	}
	batchRead struct {
		Keys           []wireItem
		Projection     *string           `json:"ProjectionExpression,omitempty"`
		Names          map[string]string `json:"ExpressionAttributeNames,omitempty"`
		ConsistentRead consistentRead    `json:",omitempty"`

		AttributesToGet []string `json:",omitempty"`
	}
	batchGetOutput struct {
		Responses        map[string][]wireItem
		UnprocessedKeys  map[string]batchRead
		ConsumedCapacity []wireCapacity `json:",omitempty"`
	}
)

func (in *batchGetInput) subjects() []string { return slices.Sorted(maps.Keys(in.Requests)) }

func (in *batchGetInput) apply(c *call) (any, error) {
	if len(in.Requests) == 0 {
		return nil, invalid("The requestItems parameter is required for BatchGetItem")
	}
	var faults constraints
	count := 0
	for _, name := range in.subjects() {
		keys := len(in.Requests[name].Keys)
		count += keys
		member := "RequestItems." + name + ".member.Keys"
		faults.addIf(keys < 1, notShown, member, "Member must have length greater than or equal to 1")
		faults.addIf(keys > maxBatchReads, notShown, member, "Member must have length less than or equal to 100")
	}
	checkEnum(&faults, in.ReturnConsumedCapacity, "returnConsumedCapacity", "INDEXES", "TOTAL", "NONE")
	if err := faults.err(); err != nil {
		return nil, err
	}
	if count > maxBatchReads {
		return nil, invalid("Too many items requested for the BatchGetItem call")
	}
	out := batchGetOutput{Responses: make(map[string][]wireItem), UnprocessedKeys: make(map[string]batchRead)}
	size := 0
	for _, name := range in.subjects() {
		if err := in.Requests[name].run(c, name, &out, &size); err != nil {
			return nil, err
		}
	}
	out.ConsumedCapacity = c.consumed.report(in.ReturnConsumedCapacity)
	return out, nil
}

// run reads the batch's items of one table; what would make the whole reply larger than 16 MB stays unprocessed.
func (r batchRead) run(c *call, name string, out *batchGetOutput, size *int) error {
	projection := expressionParameter{"ProjectionExpression", r.Projection}
	if err := checkMixture([]expressionParameter{projection}, legacyParameter{"AttributesToGet", r.AttributesToGet != nil})(); err != nil {
		return err
	}
	attributes, err := legacySelection(r.AttributesToGet)
	if err != nil {
		return err
	}
	out.Responses[name] = []wireItem{}
	var seen []item
	for i, wired := range r.Keys {
		get := getRequest{Table: &name, Key: wired, Projection: r.Projection, expressionAttributes: expressionAttributes{Names: r.Names}, attributes: attributes}
		found, selected, err := get.read(c)
		if err != nil {
			return err
		}
		key, _ := wired.item()
		if slices.ContainsFunc(seen, func(k item) bool { return document(k).equal(document(key)) }) {
			return errDuplicateKeys
		}
		seen = append(seen, key)
		if *size+found.size() > maxBatchSize {
			left := r
			left.Keys = r.Keys[i:]
			out.UnprocessedKeys[name] = left
			return nil
		}
		*size += found.size()
		c.consumed.add(name, r.ConsistentRead.capacity(found.size()))
		if found != nil {
			out.Responses[name] = append(out.Responses[name], selected.wire())
		}
	}
	return nil
}
