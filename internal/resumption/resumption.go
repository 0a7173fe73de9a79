// Package resumption is how an invocation that resumes a record says which one it means: in
// Lambda's client context, which whoever invokes a function may add to an event, and which no
// event source does.
package resumption

import "encoding/json"

// member is where the key stands in the client context's custom part.
const member = "idempotency-record-key"

// ClientContext is a client context, as JSON, that names a record by its key.
func ClientContext(key string) []byte {
	context, err := json.Marshal(map[string]map[string]string{"custom": {member: key}})
	if err != nil {
		panic(err) // texts always encode
	}
	return context
}

// Wanted is the key in the custom part of a client context; empty where there is none.
func Wanted(custom map[string]string) string { return custom[member] }
