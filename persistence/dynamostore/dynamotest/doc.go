// Package dynamotest is an embedded Amazon DynamoDB for the demo, for tests and for fault injection.
//
// A DB is a set of tables in memory behind DynamoDB's JSON 1.0 protocol. The SDK's own client talks to it in-process,
// with no socket, goroutine or real clock involved, so it also runs inside a testing/synctest bubble:
//
//	db := dynamotest.Open()
//	client := db.Client()
//	client.CreateTable(ctx, …)
//	client.PutItem(ctx, …)
//
// Listen serves the same database over HTTP, for other processes.
//
// It refuses what DynamoDB refuses, in DynamoDB's words: the expression grammars with their reserved words, the type rules
// of operands, key schemas, sizes, exact 38-digit numbers. One lock makes every request, and every transaction, happen
// at once. Nothing is persistent, and expired items stay until RemoveExpired.
//
// # Faults
//
// Inject adds rules that say which requests are to suffer, and how:
//
//	db.Inject(dynamotest.Fault{Operation: "PutItem", Do: dynamotest.LoseReply()})
//
// applies the next PutItem and breaks the connection instead of answering. Requests returns the log of everything that
// arrived, what it cost and what its caller was told.
package dynamotest
