package dynamotest

import "errors"

// WithThroughputLimits has tables bear no more than on AWS, as far as that is documented: a partition 3,000 read and 1,000
// write units a second, a table or global index with provisioned capacity what is provisioned, of which the unused part of
// the last five minutes can be used later. What is more is throttled, with DynamoDB's errors and reasons; of a batch it
// stays unprocessed, a transaction is cancelled for it.
//
// A new table with on-demand capacity has four partitions. One that had to refuse requests for a minute (the figure is
// ours; AWS publishes none) is split where it is hot, but never for the sake of one item, and never inside a partition key
// of a table with local indexes: a hot key stays hot. The limits go by the database's clock; see WithClock.
func WithThroughputLimits() Option { return WithThroughputShare(1) }

// WithThroughputShare is WithThroughputLimits with partitions that bear a share of what they do on AWS, more than 0: with 0.1
// a tenth of a load shows what the whole does, for a tenth of the work. What is provisioned is taken as it is.
func WithThroughputShare(share float64) Option {
	if !(share > 0) {
		panic("dynamotest: a share of the throughput must be more than 0")
	}
	return func(db *DB) { db.share = share }
}

// limitsOf is the heat of the table, or of its global index if x is one; a local index shares the table's. nil is without
// limits.
func (c *call) limitsOf(t *table, x *index) *heat {
	if c.share == 0 || c.unlimited {
		return nil
	}
	held, provisioned := &t.items, t.throughput
	if x != nil && !x.local {
		held, provisioned = &x.collection, x.throughput
	}
	if held.heat == nil {
		cut := 0
		for _, other := range t.indexes {
			if other.local && held == &t.items {
				cut = len(t.keys.hashes())
			}
		}
		held.heat = newHeat(c.at, t.billingMode == billingOnDemand, provisioned, c.share, cut)
	}
	return held.heat
}

// admit refuses a request for a place in the table, or in its index if x is one, that exceeds a limit.
func (c *call) admit(t *table, x *index, at place, d direction) error {
	limits := c.limitsOf(t, x)
	if limits == nil {
		return nil
	}
	scope, resource, provisioned := "Table", t.arn(), t.throughput
	if x != nil && !x.local {
		scope, resource, provisioned = "Index", t.arn()+"/index/"+x.name, x.throughput
	}
	rate := provisioned.Read
	if d == writing {
		rate = provisioned.Write
	}
	limit, ok := limits.admit(c.at, at, d, float64(rate))
	if !ok {
		return throttled(t.billingMode != billingOnDemand, throttlingReason{scope + string(d) + limit, resource})
	}
	return nil
}

// take books what a request consumed at a place in the table, or in its index if x is one: in its reply and against the
// limits.
func (c *call) take(t *table, x *index, at place, cost Capacity) {
	if x != nil {
		c.consumed.addIndex(t.name, x, cost)
	} else {
		c.consumed.add(t.name, cost)
	}
	if limits := c.limitsOf(t, x); limits != nil {
		limits.take(at, cost)
	}
}

// isThrottled reports whether err is that of a request that exceeds a limit.
func isThrottled(err error) bool {
	e, ok := errors.AsType[*apiError](err)
	return ok && len(e.throttling) > 0
}
