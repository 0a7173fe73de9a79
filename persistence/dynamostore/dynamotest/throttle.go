package dynamotest

import (
	"context"
	"net/http"
	"slices"
	"strings"
)

// throttlingReason says what was throttled and why, as the SDK's types.ThrottlingReason does.
type throttlingReason struct {
	Reason   string `json:"reason"`
	Resource string `json:"resource"`
}

// Throttle answers as DynamoDB does when a request meets a hot partition: ThrottleFor with the reason for that, of reading or
// writing according to the operation, e.g. "TableWriteKeyRangeThroughputExceeded".
func Throttle() Effect { return ThrottleFor() }

// ThrottleFor answers as DynamoDB does when a request exceeds its capacity: ThrottlingException for a table with on-demand
// capacity, ProvisionedThroughputExceededException for one with provisioned capacity, each with ThrottlingReasons. (A
// transaction can also be cancelled for the like: Cancel("ThrottlingError", "None").)
// The reasons are those of types.ThrottlingReason, e.g. "IndexReadProvisionedThroughputExceeded"; without any it is the one
// of Throttle.
func ThrottleFor(reasons ...string) Effect {
	return Effect{name: "throttled", before: func(_ context.Context, x *exchange) {
		given := reasons
		if len(given) == 0 {
			given = []string{"Table" + string(directionOf(x.logged.Operation)) + "KeyRangeThroughputExceeded"}
		}
		var told []throttlingReason
		for _, reason := range given {
			told = append(told, throttlingReason{reason, x.resource()})
		}
		x.settle(throttled(x.isProvisioned(), told...), nil)
	}}
}

func directionOf(operation string) direction {
	if strings.Contains(operation, "Get") || operation == "Query" || operation == "Scan" {
		return fetching
	}
	return writing
}

// isProvisioned reports whether the capacity of the request's first table is provisioned.
func (x *exchange) isProvisioned() bool {
	x.db.mu.Lock()
	defer x.db.mu.Unlock()
	if len(x.logged.Tables) == 0 {
		return false
	}
	t, known := x.db.tables[x.logged.Tables[0]]
	return known && t.billingMode == "PROVISIONED"
}

// throttled is the error for a request that exceeds its capacity. No page of AWS says which of the two errors comes for
// which reason; that it goes by the capacity mode is what reports of users show.
func throttled(provisioned bool, reasons ...throttlingReason) *apiError {
	e := failure("ThrottlingException", "Throughput exceeds the current capacity of your table or index. DynamoDB is automatically scaling your table "+
		"or index so please try again shortly. If exceptions persist, check if you have a hot key: "+
		"https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html")
	if provisioned {
		e = failure("ProvisionedThroughputExceededException", "The level of configured provisioned throughput for one or more global secondary "+
			"indexes of the table was exceeded. Consider increasing your provisioning level for the under-provisioned global secondary indexes with "+
			"the UpdateTable API")
		if !slices.ContainsFunc(reasons, func(r throttlingReason) bool { return strings.HasPrefix(r.Reason, "Index") }) {
			e.message = "The level of configured provisioned throughput for the table was exceeded. " +
				"Consider increasing your provisioning level with the UpdateTable API."
		}
	}
	e.status = http.StatusBadRequest
	e.throttling = reasons
	return e
}
