// Package batch runs a guarded function for each of many items, such as the employees of a
// payroll. It may be killed at any time, and be started again: what is finished is not run
// again.
//
//	guard, err := idempotent.New(store, idempotent.Config{Operation: "salary", TTL: 90 * 24 * time.Hour})
//	...
//	report, err := batch.Each(ctx, guard, batch.Batch[Employee]{
//		Name: "2026-11",
//		ID:   func(e Employee) string { return e.Number },
//	}, employees, pay)
//
// Every item is a guarded call of its own, with a record of its own: an item of DynamoDB
// holds no more than 400 KB, and each write of it is charged for its whole size, so that
// many steps in one record would be dearer. An item costs what any call does: two writes
// when it runs. Those that are finished already are looked for by the hundred, for half a
// read unit each (Config.NoLookAhead switches that off: then one is a failed write).
//
// [Each] waits for no more than it has time for, and says in its error and its [Report] what
// is left. Started again with the same name, by a schedule, a queue or Lambda's own retries,
// it goes on from there; two starts at the same time share the work.
package batch
