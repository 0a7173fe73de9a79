package demo

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWhatTheClientGetsOfLambdasAnswer(t *testing.T) {
	tests := []struct {
		name string
		raw  string
		want Answer
	}{
		{"a response", `{"statusCode":201,"headers":null,"body":"{\"id\":\"pay_1\"}"}`, Answer{Status: 201, Body: `{"id":"pay_1"}`}},
		{"a replay", `{"statusCode":201,"headers":{"Idempotent-Replayed":"true"},"body":"{}"}`, Answer{Status: 201, Replayed: true, Body: "{}"}},
		{"told to wait", `{"statusCode":409,"headers":{"Retry-After":"2"},"body":""}`, Answer{Status: 409, RetryAfter: ms(2000)}},
		{"an error", `{"errorMessage":"no route","errorType":"OpError"}`, Answer{Status: 500, Failure: "OpError: no route"}},
		{"a time-out", "Task timed out after 2.00 seconds\n", Answer{Status: 500, Failure: "Task timed out after 2.00 seconds"}},
		{"nothing", "", Answer{Status: 500}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := answerOf([]byte(test.raw))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRequestsAreSentAsLambdaDeliversThem(t *testing.T) {
	tests := []struct {
		sent            Sent
		key, body, path string
	}{
		{Order{Key: "order-1", Amount: 1250}, "order-1", `{"amount":1250,"currency":"EUR","customer":"customer of order-1"}`, "/payments"},
		{Order{Key: "order-1", Amount: 1250, Quoted: true}, `"order-1"`, `{"amount":1250,"currency":"EUR","customer":"customer of order-1"}`, "/payments"},
		{Basket{Key: "basket-1", Quantity: 2}, "basket-1", `{"customer":"customer of basket-1","email":"basket-1@example.com","items":[{"quantity":2,"sku":"cups"}]}`, "/checkouts"},
		{Registration{Key: "c1a2f0de", Email: "ada@example.com"}, "c1a2f0de", `{"email":"ada@example.com","name":"Ada"}`, "/users"},
	}
	templates := make(map[function]event)
	for _, f := range functions {
		if f.event == "" {
			continue
		}
		template, err := readEvent(filepath.Join("..", "..", "..", "..", filepath.FromSlash(f.event)))
		if err != nil {
			t.Fatal(err)
		}
		templates[f] = template
	}
	for _, test := range tests {
		t.Run(test.sent.String(), func(t *testing.T) {
			sent, err := templates[test.sent.function()].with(test.sent)
			if err != nil {
				t.Fatal(err)
			}
			var got struct {
				Version         string
				RawPath         string
				Headers         map[string]string
				Body            string
				IsBase64Encoded bool
			}
			if err := json.Unmarshal(sent, &got); err != nil {
				t.Fatal(err)
			}
			if got.Version != "2.0" || got.RawPath != test.path || got.Headers["content-type"] != "application/json" {
				t.Errorf("the event has lost what does not depend on the request: %s", sent)
			}
			if got.Headers["idempotency-key"] != test.key || got.Body != test.body || got.IsBase64Encoded {
				t.Errorf("the event is not that of the request: %s", sent)
			}
		})
	}
}
