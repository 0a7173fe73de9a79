package eventguard

import (
	"github.com/aws/aws-lambda-go/events"
)

// Content finds what a message of a queue is about: the payload, which the guard's
// expressions and the function see, and an id that is the same in all deliveries of
// it, which a guard without a Key goes by. Make one for envelopes of your own; never
// take the id from what changes with a delivery, such as receipt handle, receive
// count or time stamps.
type Content func(events.SQSMessage) (payload []byte, id string, err error)

// Body is the content of a message that somebody has sent to the queue, or that
// SNS has delivered raw. The payload is the body, the id the message's id.
//
// That id is new where a sender sends again: against senders' duplicates the guard
// needs a Key. Notifications of S3 are such messages, which S3 may send twice; the
// example S3 has a Key for all their kinds, and skips the s3:TestEvent.
func Body(message events.SQSMessage) (payload []byte, id string, err error) {
	return []byte(message.Body), message.MessageId, nil
}

// SNSEnvelope is the content of a message that an SNS topic has sent to the queue
// without raw delivery. The payload is the notification's message; the id is that of
// the notification, which SNS may send to the queue more than once. A body that is
// no notification is a *PayloadError.
func SNSEnvelope(message events.SQSMessage) (payload []byte, id string, err error) {
	var notification struct {
		Type, MessageID string
		Message         *string
	}
	err = exactly([]byte(message.Body), map[string]any{
		"Type": &notification.Type, "MessageId": &notification.MessageID, "Message": &notification.Message,
	})
	if err != nil {
		return nil, "", misfit("the body is no SNS notification", err)
	}
	if notification.Type != "Notification" || notification.MessageID == "" || notification.Message == nil {
		return nil, "", &PayloadError{Problem: "the body is no SNS notification; is raw message delivery on?"}
	}
	return []byte(*notification.Message), notification.MessageID, nil
}

// EventBridgeEnvelope is the content of a message that an EventBridge rule has
// sent to the queue. The payload is the whole event, as for [EventBridge], so that
// a Key reads detail.order_id and T may be an [Event]; the id is the event's, which
// EventBridge may send to the queue more than once. A body that is no event is a
// *PayloadError, also one that an input transformer has made.
func EventBridgeEnvelope(message events.SQSMessage) (payload []byte, id string, err error) {
	id, err = eventID([]byte(message.Body))
	return []byte(message.Body), id, err
}
