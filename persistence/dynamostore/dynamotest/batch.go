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
	type request struct {
		table string
		batchWrite
	}
	var given []request
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
			given, writes = append(given, request{name, r}), append(writes, w)
		}
	}
	out := batchWriteOutput{UnprocessedItems: map[string][]batchWrite{}}
	var changes []change
	var throttled error
	for i, w := range writes {
		ch, err := w.settle(c, 1)
		switch {
		case isThrottled(err):
			throttled = err
			out.UnprocessedItems[given[i].table] = append(out.UnprocessedItems[given[i].table], given[i].batchWrite)
		case err != nil:
			return nil, err
		default:
			changes = append(changes, ch)
		}
	}
	if len(changes) == 0 {
		return nil, throttled
	}
	store(changes)
	out.ConsumedCapacity = c.consumed.report(in.ReturnConsumedCapacity)
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

		processed int
		throttled error // of the last read that exceeded a limit
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
	if out.processed == 0 && out.throttled != nil {
		return nil, out.throttled
	}
	out.ConsumedCapacity = c.consumed.report(in.ReturnConsumedCapacity)
	return out, nil
}

// leave has a key unprocessed.
func (out *batchGetOutput) leave(name string, r batchRead, key wireItem) {
	left, begun := out.UnprocessedKeys[name]
	if !begun {
		left = r
		left.Keys = nil
	}
	left.Keys = append(left.Keys, key)
	out.UnprocessedKeys[name] = left
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
		found, selected, err := get.read(c, func(bytes int) Capacity {
			if *size+bytes > maxBatchSize {
				return Capacity{}
			}
			return r.ConsistentRead.capacity(bytes)
		})
		if err != nil && !isThrottled(err) {
			return err
		}
		key, _ := wired.item()
		if slices.ContainsFunc(seen, func(k item) bool { return document(k).equal(document(key)) }) {
			return errDuplicateKeys
		}
		seen = append(seen, key)
		if err != nil {
			out.leave(name, r, wired)
			out.throttled = err
			continue
		}
		out.processed++
		if *size+found.size() > maxBatchSize {
			for _, wired := range r.Keys[i:] {
				out.leave(name, r, wired)
			}
			return nil
		}
		*size += found.size()
		if found != nil {
			out.Responses[name] = append(out.Responses[name], selected.wire())
		}
	}
	return nil
}
