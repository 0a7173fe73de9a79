// Package dynamotest is an embedded Amazon DynamoDB for tests: in-process, without Docker or Java, with faults on request.
//
// A DB is a set of tables in memory behind DynamoDB's JSON 1.0 protocol. The SDK's own client talks to it with no socket,
// goroutine or real clock involved, so that it also runs inside a testing/synctest bubble:
//
//	db := dynamotest.New(t)
//	db.MustCreateTable("payments", "id")
//	handler := newHandler(db.Client()) // the code under test
//
// DB.Serve serves the same database over HTTP, for other processes and languages. Programs without a test use Open. The
// command ikkai dynamodb serves one for local development.
//
// It refuses what DynamoDB refuses, in DynamoDB's words: the expression grammars with their reserved words, the type rules
// of operands, key schemas, sizes, exact 38-digit numbers. One lock makes every request, and every transaction, happen
// at once. A request costs what it reads and writes, however much is stored. What is not served is refused, not ignored; the
// README beside this file says what that is.
//
// # Faults
//
// DB.Inject adds rules that say which requests are to suffer, and how:
//
//	db.Inject(dynamotest.Fault{Operation: "PutItem", Key: "id=order-17", Do: dynamotest.LoseReply()})
//
// applies the next PutItem of that item and breaks the connection instead of answering. DB.Requests is the log of what
// arrived, what it cost and what its caller was told; DB.Unmet says which faults have not happened.
//
// # Time
//
// The clock is time.Now, which is virtual in a synctest bubble, or that of WithClock. Client request tokens are known for ten
// minutes of it. Items that expire stay until DB.RemoveExpired, as they may for days in DynamoDB.
//
// # Throughput
//
// WithThroughputLimits has tables bear no more than on AWS, so that a hot key throttles.
//
// # Memory
//
// Tables hold what is put into them. The log keeps the newest ten thousand requests at least, tokens those of ten
// minutes.
//
// What is here was compared with the documentation of AWS and with suites whose expectations were recorded on DynamoDB; it was
// not itself run beside DynamoDB on AWS.
package dynamotest
