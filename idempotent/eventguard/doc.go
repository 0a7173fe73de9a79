// Package eventguard guards functions whose events come from queues, streams and
// topics: each record is run once, and each source is told what is to come back in
// the way that it understands.
//
//	guard, err := idempotent.New(store, idempotent.Config{
//		Operation: "order",
//		Key:       idempotency.MustJMESPath("order_id"),
//	})
//	...
//	handler, err := eventguard.SQS(guard, eventguard.Config{}, place)
//	...
//	lambda.Start(handler)
//
// where place is a func(context.Context, order, events.SQSMessage) error. There is
// one such function for each source:
//
//	                  a record without a Key is recognised by  a Key sees           after a failure
//	SQS, standard     message id                               body                 the others go on
//	SQS, FIFO         message id                               body                 the rest of its group comes back
//	SQS, SNSEnvelope  the notification's id                    the message in it    as the queue
//	SQS, EventBridgeEnvelope  the event's id                   the event in it      as the queue
//	Kafka             cluster, topic, partition, offset, time  value                the rest of its partition comes back
//	Kinesis           stream, shard and sequence number        data                 the rest of the batch comes back
//	DynamoDB          event id                                 the record           the rest of the batch comes back
//	SNS               the notification's id                    message              Lambda tries again
//	EventBridge       the event's id                           the event            Lambda tries again
//
// Those ids are the same in every delivery of a record, and new where a sender sends
// again: against that, name a Key. What belongs to a delivery (receipt handle, receive
// count, time stamps) is part of neither.
//
// # What fn gets
//
// A payload is decoded into T by the rules of encoding/json, which matches names in any
// case and takes the last of several. A Key knows names by one spelling. So that fn never
// acts on another request than the one that is guarded, a payload fails whose objects
// name a member twice, also in two spellings that differ only in case (but for the keys of
// a Go map, and below members that T has no field for); and null, which
// would leave T as it is. T may be a [json.RawMessage], which gets any payload as it is,
// or have an UnmarshalJSON, which reads names by rules of its own.
//
// # Resuming
//
// With [idempotent.Config].KeepEvent the idempotency record of a record keeps, until it is
// finished, an event of its source with that one record (a part of an aggregate by itself, a
// message without its receipt handle), so that it can be resumed without the source (package
// persistence/records). What is resumed keeps no order.
//
// # What counts as done
//
//	outcome                                             the source is told
//	fn returned nil, now or in a recorded run           done
//	completed, its result not stored                    done
//	nothing to do: [idempotent.ErrSkip], Config.Skip    done, and nothing is recorded
//	[idempotent.Permanent], now or in a recorded run    failed, or done: Config.OnPermanent
//	fn's other errors, panics                           failed; the record is released
//	another environment runs it                         failed: that run may die yet
//	key unusable, payload unusable, other fingerprint   failed
//	store failed, lease lost, outcome unknown           failed
//	no time left, or held back behind a failure         failed, and not acquired
//
// Whatever a function of the user does (Dialect, Content, Split, Skip, an
// UnmarshalJSON, an observer, fn): a panic, the end of its goroutine, or an error that
// can't be compared or printed fails its record only.
//
// Of one batch, records of one key run one after another, in its order: the first of two
// contents wins, and the other is a mismatch.
//
// A permanent failure is done, where that is the choice, only once it is recorded:
// after a lost lease or a failed write it comes back. (Where the guard runs a request
// unprotected there is to be no record, and its outcome counts as it is.)
//
// That goes by the verdict on a record ([idempotent.VerdictOf]) and by nothing else; the
// log has its code. A record is never reported as done that is not. The answer of a batch
// names each failure once and is [] without one; errors go to Config.Logger. Where a failed
// record has no id to be named by, the whole batch fails ([*BatchError]): what is done
// is replayed then.
//
// # What to set
//
// ReportBatchItemFailures must be in FunctionResponseTypes of the event source
// mapping. Without it Lambda ignores the answer: the failed messages of a queue are
// deleted, the failures of a shard are passed over. No function can see how its
// mapping is set; where that is not in your hands, use [FailBatch], which works with
// either setting.
//
// The visibility timeout of a queue should be six times the function's timeout, as
// AWS advises. It must outlast the timeout and the guard's ClockSkew: a message that
// comes back earlier meets the lease of its own last run, fails and counts towards
// maxReceiveCount, at last into the dead-letter queue while nothing is wrong with it.
// Let maxReceiveCount be 5 or more.
//
// A stream comes back at once. After a run that was killed its lease lasts for about a
// minute at most (the guard's Lease), and tries until then fail and count towards
// MaximumRetryAttempts: give the mapping retries for longer than that. When the attempts
// are over, Lambda discards the whole batch, also what is behind the failure and was
// never run; BisectBatchOnFunctionError narrows that, and an on-failure destination
// tells of it. The same holds for asynchronous events, which get two more tries by
// default: give them a destination or a dead-letter queue.
//
// An outcome that has expired is run again. So outcomes are kept for as long as a record
// can come back, whatever the guard's TTL: Config.Retention, which has to be set where
// the source keeps more than its defaults. A redrive of a dead-letter queue makes new
// message ids, by which a guard without a Key does not recognise what is done.
//
// The records of a batch share its time, which is divided once, when it arrives: fn's
// context ends as long before the function's deadline as the guard's Reserve says, so
// that what has come of it can be recorded and the batch be answered; and a record that
// would have less time than Config.Slowest comes back without being acquired. A function
// that does not listen to its context may be killed all the same: then all of the batch
// comes back.
//
// # Poison in a FIFO queue
//
// Messages that are held back are delivered all the same, each time together with the
// failure before them, and SQS counts that. So what is behind a poison message in its
// batch reaches maxReceiveCount when the poison does, and goes to the dead-letter
// queue without having run once. What was sent after them then runs: it has overtaken
// them. Nothing is lost, and no guard can help it: order is kept up to the dead-letter
// queue only. What helps:
//
//   - fn returns [idempotent.Permanent] for what will never succeed, and OnPermanent is
//     [AcknowledgePermanent]: the group goes on at once. Somebody must read the log.
//   - a high maxReceiveCount (SQS takes up to 1000), where failures pass by themselves.
//   - a BatchSize of 1, where a group may wait but not be given up in part.
//   - a redrive after an alarm on the dead-letter queue. It runs what never ran, after
//     what has overtaken it: fn must be able to bear that, or have a version to go by.
//
// docs/guarantees.md in this module names the tests that show all of this.
package eventguard
