package dynamotest

// knownDifferences are the behaviours that some other endpoint is known not to have: which one, and why ours stays. At
// DYNAMODB_ENDPOINT they are reported, not failed; against the embedded database they count like all others. Measured
// with dynoxide 3.2.0 (crate dynoxide-rs) and dynalite 4.0.0 (npm).
var knownDifferences = map[string]string{
	"condition size(:s) = :three":                                             "dynoxide takes only paths; dynalite agrees with us",
	"condition l [ 0 ] = :one":                                                "dynoxide allows no spaces inside brackets; dynalite agrees with us",
	"condition Attribute_exists(n)":                                           "dynoxide folds case; the developer guide says function names are case-sensitive",
	"condition attribute_type(s, :n)":                                         "dynoxide does not check the operand; dynalite agrees with us",
	"condition attribute_type(s, :notype)":                                    "dynoxide does not check the type name; dynalite agrees with us",
	"condition n < :yes":                                                      "dynoxide and dynalite do not check; the API reference defines order for strings, numbers and binaries only, and other emulators measured the refusal",
	"condition n BETWEEN :yes AND :yes":                                       "as for <",
	"condition n = n":                                                         "dynoxide does not check; dynalite agrees with us",
	"condition " + abbreviated(tooManyCandidates):                             "dynoxide and dynalite do not count; the API reference allows IN at most 100 values",
	"update DELETE ns :ns":                                                    "dynoxide compares the spelling of numbers, so 1.0 does not remove 1",
	"query id = :none":                                                        "dynoxide and dynalite find nothing; DynamoDB refuses an empty key in any request",
	"a transaction reads items together":                                      "dynoxide adds the key to projected items; dynalite has no transactions",
	"condition absent <> lost":                                                "dynalite takes two missing attributes for equal; dynoxide agrees with us",
	"condition NOT NOT n = :n":                                                "dynalite's grammar lacks it; the documented grammar has NOT condition",
	"condition l[99999999999999999999] = :n":                                  "dynalite does not check the range; dynoxide refuses it too",
	"condition " + abbreviated(tooLong):                                       "dynalite has no limit; the developer guide says 4 KB",
	"update SET n = (n + :n) - :one":                                          "dynalite's grammar lacks it; dynoxide agrees with us",
	"update REMOVE l[0], l[1]":                                                "dynalite removes one by one, each shifting the next; the developer guide removes what the indexes meant before",
	"update SET n = :big + :small":                                            "dynalite rounds; the developer guide makes more than 38 digits an error",
	"update SET n = :huge + :huge":                                            "dynalite does not check sums; the developer guide gives the range",
	"value number +5":                                                         "dynalite refuses the sign; dynoxide agrees with us",
	"value nesting of 32 levels":                                              "dynalite allows one more; dynoxide agrees with us",
	"an update can nest as deep as a put":                                     "dynalite checks only expression values; dynoxide agrees with us",
	"select says what comes back":                                             "dynalite allows ALL_PROJECTED_ATTRIBUTES without an index",
	"select COUNT excludes a projection":                                      "dynalite allows it",
	"time to live is set and shown":                                           "dynalite has no TTL calls",
	"a transaction does all of its actions":                                   noTransactions,
	"a repeated token does not repeat the transaction":                        noTransactions,
	"a cancelled transaction leaves its token free":                           noTransactions,
	"too large an item refuses a transaction if put, cancels it if updated":   noTransactions,
	"what an action's item forbids cancels its transaction":                   noTransactions,
	"what is wrong with a transaction's request refuses it":                   noTransactions,
	"a cancelled transaction does nothing and gives a reason for each action": noTransactions,
	"capacity of a transaction on 20 bytes":                                   noTransactions,
	"capacity of a transaction on 1024 bytes":                                 noTransactions,
	"capacity of a transaction on 1025 bytes":                                 noTransactions,
	"capacity of a transaction on 4096 bytes":                                 noTransactions,
	"capacity of a transaction on 4097 bytes":                                 noTransactions,
	"capacity of a transaction on 8193 bytes":                                 noTransactions,
	"a failed condition gives the item only if asked":                         "dynalite never gives it",
}

const noTransactions = "dynalite has no transactions"
