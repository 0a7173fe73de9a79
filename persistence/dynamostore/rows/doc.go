// Package rows makes writes that can't do harm a second time: a second line of
// defence, in the application's own rows, behind the idempotency record.
//
// The record keeps the second arrival of a request out. It does not know of two
// different requests that want the same thing, of writes past the guarded function,
// and of records that have expired. For these there are
//
//	[Unique]           a value that only one holder can have, such as an e-mail address
//	[Update.IfVersion] an update of the version of a row that was read, and no other
//	[Update.OncePer]   an update that a row takes once for each processing ID
//	[InsertOnce]       a row that is made unless it is there
//
// Each gives a [dynamostore.Write]. Within a guarded call [dynamostore.Enlist] commits
// it together with the record; elsewhere [dynamostore.Apply] carries it out by itself.
// Either way a refusal is a [*persistence.RefusedError] around a typed error of this
// package.
//
// # Cost
//
// In a transaction every write takes two units for each KB of its row. By itself a
// write takes one, but for [Update.IfVersion], which always goes in a transaction: a
// second try after a lost reply would meet the version that the first has written.
package rows
