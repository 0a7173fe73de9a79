// Package dynamostore keeps idempotency records in a DynamoDB table.
//
//	client := dynamodb.NewFromConfig(cfg)
//	store, err := dynamostore.New(client, dynamostore.Config{Table: "idempotency"})
//
// # The table
//
// A string partition key and a TTL attribute; [CreateTable] makes one for local
// use, and template.yaml of this module shows the deployed form. The attributes
// of a record, all of which can be renamed ([Attributes]):
//
//	idempotency_key  S   partition key
//	status           S   PROCESSING, PARTIAL_SUCCESS, COMPLETED or FAILED
//	owner            S   token of the acquisition that last took the record
//	lease_until      N   epoch milliseconds; while PROCESSING only
//	expire_at        N   epoch seconds; the table's TTL attribute
//	fingerprint      S   if the operation has one
//	result           S   the result; B if it is not text, or compressed
//	result_encoding  S   "omitted" if the result could not be stored, "gzip" if it is compressed
//	steps            M   finished steps
//	attempt          N   acquisitions so far
//	version          N   of this format: 1
//
// The records of several applications can share a table with a sort key: see
// [Config.PartitionValue].
//
// # Requests and their cost
//
// With on-demand or provisioned capacity, a write costs one unit for each KB
// of the larger of the item before and after, begun KBs counting whole; a write
// whose condition fails costs the same as one that succeeds.
//
//	fresh acquire     1 PutItem
//	duplicate         1 PutItem whose condition fails; the record comes with the failure
//	take-over         1 such PutItem, 1 UpdateItem
//	complete          1 UpdateItem
//	release           1 DeleteItem; with finished steps 1 UpdateItem instead
//	checkpoint        1 UpdateItem
//	read              1 GetItem, eventually consistent: half a read unit for each 4 KB
//
// A condition that fails on no item at all costs one consistent GetItem more: to
// complete or release a record that is gone. So does every failed condition at an
// endpoint that does not return the item (DAX, older emulators).
//
// # Permissions
//
// dynamodb:PutItem, dynamodb:UpdateItem, dynamodb:DeleteItem and
// dynamodb:GetItem on the table.
//
// # Failures
//
// The SDK repeats a request whose reply was lost; the store then recognises its
// own write by the owner. A request that is not answered at all counts as lost
// after [Config.RequestTimeout]. What the SDK gives up on too early, throttling and
// transaction conflicts, is retried here, within the context's deadline. All else
// is a [*persistence.Fault].
package dynamostore
