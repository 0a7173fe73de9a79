package idempotenttest

import "github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"

// The faults of single requests. Each is made anew, as effects may be used once.

func diesBefore() fault {
	return fault{before: func(p *process) { p.dies("before its request is sent") }}
}

func diesAfter() fault {
	return fault{after: func(p *process) { p.dies("before the reply is there") }}
}

func (p *process) dies(when string) {
	if p.kill() {
		p.world.Tell("%s dies, %s", p.name, when)
	}
}

func requestLost() fault {
	return fault{name: "is lost on its way", effect: dynamotest.LoseRequest, lose: true}
}

func replyLost() fault {
	return fault{name: "is carried out, and the reply is lost", effect: dynamotest.LoseReply, loseReply: true}
}

func throttled() fault {
	return fault{name: "is throttled", effect: dynamotest.Throttle, lose: true}
}

func failedBefore() fault {
	return fault{name: "gets a 500, and is not carried out", effect: dynamotest.FailBefore, lose: true}
}

func failedAfter() fault {
	return fault{name: "is carried out, and gets a 500", effect: dynamotest.FailAfter, loseReply: true}
}

// held is carried out late: when the test releases it.
func held(by *dynamotest.Held) fault {
	return fault{name: "is held up in the network, and the connection breaks", effect: func() dynamotest.Effect { return dynamotest.ApplyLater(by) }}
}
