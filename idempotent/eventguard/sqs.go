package eventguard

import (
	"context"
	"strings"
	"sync"

	"github.com/aws/aws-lambda-go/events"

	"github.com/ikkai-go/idempotency/idempotent"
)

// SQS returns a handler for the batches of a queue, for lambda.Start. It runs fn
// for each message that has not been done before, and answers with those that are
// to come back: the ones that failed, that another environment is still running,
// and that there was no time for. fn gets the payload that Config.Content finds,
// decoded from JSON into T; a [json.RawMessage] gets it as it is, JSON or not.
//
// Messages of a FIFO queue run in the order of their group. After a failure the
// rest of the group is neither run nor acquired and comes back too; other groups go
// on. The message itself tells the kind of its queue.
//
// Requests are recognised by what the guard's Key selects from the payload, or,
// without one, by the id that Config.Content finds. Messages of one batch that are
// the same request run one after another, also those of different groups, so that one
// is run and the others are replays.
//
// A panic in fn or in Config.Content fails its message only, and is logged with its
// stack. The context
// of fn ends a moment before the function's deadline, so that there is time to
// answer; SQS waits for every fn that it has started.
//
// The error is an [idempotent.ErrConfig]. The handler's own error is a *BatchError;
// it is safe for concurrent use if fn is.
func SQS[T any](guard *idempotent.Guard, config Config, fn func(context.Context, T, events.SQSMessage) error) (func(context.Context, events.SQSEvent) (events.SQSEventResponse, error), error) {
	p, err := newProcessor(guard, config, queue, fn == nil)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, event events.SQSEvent) (events.SQSEventResponse, error) {
		records := make([]record, len(event.Records))
		for i, message := range event.Records {
			records[i] = messageRecord(p, message, fn)
		}
		ids, err := p.failed(ctx, p.lanes(ctx, records, lanesOf(event.Records, records)))
		return events.SQSEventResponse{BatchItemFailures: items[events.SQSBatchItemFailure](ids)}, err
	}, nil
}

func messageRecord[T any](p processor, message events.SQSMessage, fn func(context.Context, T, events.SQSMessage) error) record {
	var payload []byte
	var id string
	err := contain(func() (err error) {
		payload, id, err = p.config.Content(message)
		return err
	})
	if err != nil {
		return record{id: message.MessageId, err: err}
	}
	return record{
		id:       message.MessageId,
		identity: p.guard.Identify(payload, id),
		run: func(ctx context.Context) error {
			decoded, err := decode[T](payload)
			if err != nil {
				return err
			}
			return fn(ctx, decoded, message)
		},
	}
}

// lane is a part of a batch whose records run one after another, by index.
type lane struct {
	records []int
	ordered bool // stop at the first failure
}

// lanesOf divides a batch into what may run at the same time: the groups of a FIFO
// queue, and of a standard queue the requests.
func lanesOf(messages []events.SQSMessage, records []record) []lane {
	type group struct{ queue, name string }
	var lanes []lane
	known := make(map[any]int)
	for i, message := range messages {
		var of any = records[i].identity
		ordered := fifo(message)
		switch {
		case ordered:
			of = group{message.EventSourceARN, message.Attributes["MessageGroupId"]}
		case records[i].err != nil:
			of = i // nothing is known of it
		}
		at, seen := known[of]
		if !seen {
			at = len(lanes)
			known[of] = at
			lanes = append(lanes, lane{ordered: ordered})
		}
		lanes[at].records = append(lanes[at].records, i)
	}
	return lanes
}

// fifo tells whether a message comes from a FIFO queue: the names of such queues
// end in ".fifo", and only they number their messages. A group id alone does not
// tell, standard queues have them for fairness.
func fifo(message events.SQSMessage) bool {
	_, numbered := message.Attributes["SequenceNumber"]
	return numbered || strings.HasSuffix(message.EventSourceARN, ".fifo")
}

// lanes runs the lanes of a batch, some at the same time.
func (p processor) lanes(ctx context.Context, records []record, lanes []lane) verdicts {
	w := p.config.window(ctx)
	v := verdicts{records: records, errs: make([]error, len(records)), total: len(records)}
	waiting := make(chan lane, len(lanes))
	for _, l := range lanes {
		waiting <- l
	}
	close(waiting)
	turns := turnsOf(records)
	var workers sync.WaitGroup
	for range min(p.config.Concurrency, len(lanes)) {
		workers.Go(func() {
			for l := range waiting {
				p.lane(ctx, w, v, l, turns)
			}
		})
	}
	workers.Wait()
	return v
}

// turns has a lock for each request: two lanes of a FIFO queue may hold the same one,
// and would turn each other away.
type turns map[idempotent.Identity]chan struct{}

func turnsOf(records []record) turns {
	all := make(turns)
	for _, r := range records {
		all[r.identity] = make(chan struct{}, 1)
	}
	return all
}

func (p processor) lane(ctx context.Context, w window, v verdicts, l lane, turns turns) {
	stopped := false
	for _, i := range l.records {
		if stopped {
			v.errs[i] = ErrHeldBack
			continue
		}
		turn := turns[v.records[i].identity]
		turn <- struct{}{}
		v.errs[i] = p.attempt(ctx, w, v.records[i])
		<-turn
		stopped = l.ordered && v.errs[i] != nil
	}
}
