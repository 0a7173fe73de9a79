package demo

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestWhatTheClientGetsOfLambdasAnswer(t *testing.T) {
	tests := []struct {
		name string
		raw  string
		want Answer
	}{
		{"a response", `{"statusCode":201,"headers":null,"body":"{\"id\":\"pay_1\"}"}`, Answer{Status: 201, Body: `{"id":"pay_1"}`}},
		{"told to wait", `{"statusCode":409,"headers":{"Retry-After":"2"},"body":""}`, Answer{Status: 409, RetryAfter: ms(2000)}},
		{"an error", `{"errorMessage":"no route","errorType":"OpError"}`, Answer{Status: 500, Failure: "OpError: no route"}},
		{"a time-out", "Task timed out after 2.00 seconds\n", Answer{Status: 500, Failure: "Task timed out after 2.00 seconds"}},
		{"nothing", "", Answer{Status: 500}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := answerOf([]byte(test.raw))
			if diff := cmp.Diff(test.want, got, cmpopts.IgnoreUnexported(Answer{})); diff != "" {
				t.Error(diff)
			}
			if string(got.raw) != test.raw {
				t.Errorf("kept %q of %q", got.raw, test.raw)
			}
		})
	}
}

func TestOrdersAreSentAsLambdaDeliversThem(t *testing.T) {
	template, err := readEvent(filepath.Join("..", "..", "..", "..", filepath.FromSlash(eventFile)))
	if err != nil {
		t.Fatal(err)
	}
	sent, err := template.with(Order{Key: "order-1", Amount: 1250})
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Version         string
		RouteKey        string
		Headers         map[string]string
		Body            string
		IsBase64Encoded bool
	}
	if err := json.Unmarshal(sent, &got); err != nil {
		t.Fatal(err)
	}
	if got.Version != "2.0" || got.RouteKey != "POST /payments" || got.Headers["content-type"] != "application/json" {
		t.Errorf("the event has lost what does not depend on the order: %s", sent)
	}
	if got.Headers["idempotency-key"] != "order-1" || got.Body != `{"amount":1250,"currency":"EUR","customer":"customer of order-1"}` || got.IsBase64Encoded {
		t.Errorf("the event is not that of the order: %s", sent)
	}
	again, err := template.with(Order{Key: "order-2", Amount: 1})
	if err != nil {
		t.Fatal(err)
	}
	var other struct{ Headers map[string]string }
	if err := json.Unmarshal(again, &other); err != nil || other.Headers["idempotency-key"] != "order-2" {
		t.Errorf("the template keeps the order it was used for: %s", again)
	}
}
