package main

import (
	"time"

	"github.com/ikkai-go/idempotency/persistence/records"
)

// message is what people are told of a request that needs one of them: where it is, and nothing of
// what is in it.
type message struct {
	Key       string         `json:"key"`
	Operation string         `json:"operation,omitempty"`
	Tenant    string         `json:"tenant,omitempty"`
	Why       string         `json:"why"`
	State     records.State  `json:"state,omitempty"`
	Stuck     records.Reason `json:"stuck,omitempty"`
	Attempt   int            `json:"attempt,omitempty"`
	StartedAt time.Time      `json:"started_at,omitzero"`
	ExpiresAt time.Time      `json:"expires_at,omitzero"`
	Function  string         `json:"function,omitempty"`
	RequestID string         `json:"request_id,omitempty"`
	Version   string         `json:"version,omitempty"`
	Steps     []step         `json:"steps,omitempty"`
}

type step struct {
	Name  string        `json:"name"`
	Phase records.Phase `json:"phase"`
}

func messageOf(c records.Case) message {
	r := c.Record
	m := message{
		Key: r.Key, Operation: r.Operation, Tenant: r.Tenant, Why: c.Why, State: r.State, Stuck: r.Stuck, Attempt: r.Attempt,
		StartedAt: r.StartedAt, ExpiresAt: r.ExpiresAt, Function: r.Function, RequestID: r.RequestID, Version: r.Version,
	}
	for _, s := range r.Steps {
		m.Steps = append(m.Steps, step{s.Name, s.Phase})
	}
	return m
}
