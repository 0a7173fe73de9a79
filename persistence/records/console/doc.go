// Package console is a web page for operators: which requests are stuck, what one of them
// has done, and what to do about it. It is package records with windows.
//
//	desk, err := records.New(store, records.Config{})
//	...
//	page, err := console.New(desk, console.Config{Title: "idempotency, eu-central-1"})
//	http.Handle("/ops/", http.StripPrefix("/ops", signIn(page)))
//
// Everything that the page needs is in the program: no build step, nothing from elsewhere.
//
// # Who may do what
//
// [Console] knows no sign-in of its own; whoever hosts it puts one in front, and says with
// [Config.Access] who may read and who may also write. Without Access everybody who gets
// through may read, and nobody may write. For one's own machine there is [Local]: loopback
// only, and a random token in the address that is printed.
//
// A request that another page makes a browser send is refused, whatever cookies come with
// it ([net/http.CrossOriginProtection]), and what changes something has to be JSON besides.
// Pages of other origins can neither frame this one nor read its answers.
//
// # What is shown
//
// Lists and records show sizes; results, outputs of steps, events and the messages of failures
// only when somebody asks for those of one record, and then what [Config.Redact] leaves of them. That somebody
// has asked is logged, as is everything that was done; contents never are.
//
// # What is done
//
// Settling and forgetting are plans of package records: the page says in words what would be
// done, and it is done only once that is confirmed, and only if the record still is what was
// shown. An action on all records that a filter matches says first how many they are, and
// then does it to these and no others.
package console
