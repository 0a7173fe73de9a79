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
//	Kinesis           stream, shard and sequence number        data                 the rest of the batch comes back
//	DynamoDB          event id                                 the record           the rest of the batch comes back
//	SNS               the notification's id                    message              Lambda tries again
//	EventBridge       the event's id                           the event            Lambda tries again
//
// Those ids are the same in every delivery of a record, and new where a sender sends
// again: against that, name a Key. What belongs to a delivery (receipt handle, receive
// count, time stamps) is part of neither.
//
// # What counts as done
//
//	outcome                                             the source is told
//	fn returned nil, now or in a recorded run           done
//	completed, its result not stored                    done
//	[idempotent.Permanent], now or in a recorded run    failed, or done: Config.OnPermanent
//	fn's other errors, panics                           failed; the record is released
//	another environment runs it                         failed: that run may die yet
//	key unusable, payload unusable, other fingerprint   failed
//	store failed, lease lost, outcome unknown           failed
//	no time left, or held back behind a failure         failed, and not acquired
//
// A record is never reported as done that is not. The answer of a batch names each
// failure once and is [] without one; errors go to Config.Logger. Where a failed
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
// A stream comes back at once. After a run that was killed its lease lasts for
// ClockSkew more, and tries until then fail and count towards MaximumRetryAttempts:
// let the guard's Wait be a little longer than its ClockSkew. When the attempts are
// over, Lambda discards the whole batch, also what is behind the failure and was
// never run; BisectBatchOnFunctionError narrows that, and an on-failure destination
// tells of it. The same holds for asynchronous events, which get two more tries by
// default: give them a destination or a dead-letter queue.
//
// The guard's TTL must be longer than a record can come back: the retention of the
// queue or stream, and the time in which somebody redrives a dead-letter queue (which
// makes new message ids) or replays an archive. An outcome that has expired is run
// again.
//
// # What shows it
//
//	requirement                                      test
//	a failure, or garbage, fails alone               TestOneFailureFailsAlone
//	[] and never null, each id once, never empty     TestTheAnswerIsWhatLambdaUnderstands, TestAMessageWithoutAnIdFailsTheBatch
//	which outcomes count as done                     TestWhatCountsAsDone
//	in progress elsewhere is failed                  TestWhatCountsAsDone, TestAKilledRunIsNeverAcknowledged
//	keys: by the body, by the message, by neither    TestReport54IdentityIsStableAcrossDeliveries
//	equal requests in one batch run once             TestEqualRequestsOfABatchRunOnce
//	bounded concurrency, inside the deadline         TestMessagesRunAtTheSameTimeUpToTheBound, TestWhatThereIsNoTimeForComesBackUnacquired
//	a panic fails its record only                    TestAPanicFailsItsMessageOnly
//	order within a group, other groups go on         TestAFailureHoldsItsGroupOnly, TestNoQueueLosesAMessage
//	lowest failed sequence number                    TestAShardStopsAtItsFirstFailure, TestNoShardLosesARecord
//	ids for sending                                  TestIdsForSendingAreAcceptedAndDistinct
//	envelopes, SNS, EventBridge                      TestEnvelopes, TestAsynchronousEventsRunOnce
//
// The two tests of queues and shards play random worlds in virtual time, with
// failing handlers, a faulty DynamoDB and environments that are killed.
package eventguard
