// Package cached keeps finished records of any store in this process's memory: a duplicate
// that comes to the same environment again is answered without a request.
//
//	store := cached.New(table, cached.Limits{})
//
// It goes in front of all others: in front of package sealed it remembers results as they
// are, and in front of package overflow what was fetched.
//
// This package imports the standard library only.
package cached
