package queuesim

import (
	"context"
	"encoding/json"
	"errors"
)

// Function is a Lambda function. An error is a failed invocation, also that of an
// environment that was killed. It returns soon after its context has ended.
type Function func(ctx context.Context, event []byte) (response []byte, err error)

// ErrAnswer says that a function's answer names its failures in a way that Lambda
// takes for the failure of the whole batch.
var ErrAnswer = errors.New("queuesim: an answer that fails the whole batch")

// failures reads the answer of a batch as Lambda does where the mapping has
// ReportBatchItemFailures. An empty answer, null and an empty list are success, and so
// is an answer without the member batchItemFailures, in exactly that spelling. An
// identifier is read by the rules of its source, and has to be one of the batch.
func failures[ID comparable](response []byte, read func(json.RawMessage) (ID, bool), batch map[ID]bool) (map[ID]bool, error) {
	failed := make(map[ID]bool)
	if len(response) == 0 {
		return failed, nil
	}
	var answer map[string]json.RawMessage // unlike a struct it tells spellings apart
	if err := json.Unmarshal(response, &answer); err != nil {
		return nil, errors.Join(ErrAnswer, err)
	}
	var items []map[string]json.RawMessage
	if named, ok := answer["batchItemFailures"]; ok {
		if err := json.Unmarshal(named, &items); err != nil {
			return nil, errors.Join(ErrAnswer, err)
		}
	}
	for _, item := range items {
		id, ok := read(item["itemIdentifier"])
		if !ok || !batch[id] {
			return nil, ErrAnswer
		}
		failed[id] = true
	}
	return failed, nil
}

// name reads an identifier that is a string, as of messages and sequence numbers.
func name(identifier json.RawMessage) (string, bool) {
	var id *string
	err := json.Unmarshal(identifier, &id)
	if err != nil || id == nil {
		return "", false
	}
	return *id, true
}
