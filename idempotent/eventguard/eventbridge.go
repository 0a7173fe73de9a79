package eventguard

import (
	"context"
	"encoding/json"
	"time"

	"github.com/ikkai-go/idempotency/idempotent"
)

// Event is an EventBridge event whose detail is decoded.
type Event[Detail any] struct {
	// Version to Resources are what EventBridge's user guide has under "event structure". An ID
	// is the same in every delivery of its event.
	Version    string    `json:"version"`
	ID         string    `json:"id"`
	DetailType string    `json:"detail-type"`
	Source     string    `json:"source"`
	AccountID  string    `json:"account"`
	Time       time.Time `json:"time"`
	Region     string    `json:"region"`
	Resources  []string  `json:"resources"`
	// Detail is the producer's own part.
	Detail Detail `json:"detail"`
	// ReplayName names the replay of an archive that the event is part of.
	ReplayName string `json:"replay-name,omitempty"`
}

// EventBridge returns a handler for the events that a rule sends to the function,
// for lambda.Start. fn gets the event decoded from JSON into T, such as an [Event].
//
// Requests are recognised by what the guard's Key selects from the whole event
// (detail.order_id), or, without one, by the event's id. That is the same in every
// delivery: in Lambda's tries of an asynchronous call, where two rules send the
// function the same event, and in the replay of an archive. So a replay runs what
// was not done, and nothing twice; the guard's TTL is how long it is remembered. To
// have each replay run everything once, use the Key
//
//	[id, "replay-name" || 'live']
//
// fn's own error, and one that says why it did not run, is the handler's: Lambda
// then tries again. A panic goes on. The error of EventBridge itself is an
// [idempotent.ErrConfig].
func EventBridge[T any](guard *idempotent.Guard, config Config, fn func(context.Context, T) error) (func(context.Context, json.RawMessage) error, error) {
	p, err := newProcessor(guard, config, single, fn == nil)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, event json.RawMessage) error {
		r := ruled(event)
		r.run = decoded(fn)
		return p.single(ctx, &r)
	}, nil
}

// ruled returns the record of an event that a rule has sent.
func ruled(event json.RawMessage) record {
	id, err := eventID(event)
	return record{
		id:      id,
		content: func() ([]byte, string, error) { return event, id, err },
		alone:   func() any { return event },
	}
}

// eventID returns the id of an EventBridge event.
func eventID(event []byte) (string, error) {
	var envelope struct{ ID, DetailType, Source string }
	err := exactly(event, map[string]any{
		"id": &envelope.ID, "detail-type": &envelope.DetailType, "source": &envelope.Source,
	})
	if err != nil {
		return "", misfit("no EventBridge event", err)
	}
	if envelope.ID == "" || envelope.DetailType == "" || envelope.Source == "" {
		return "", &PayloadError{Problem: "no EventBridge event: id, source or detail-type is missing; is there an input transformer?"}
	}
	return envelope.ID, nil
}
