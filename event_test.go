package idempotency_test

import (
	"encoding/json"
	"fmt"
	"strings"
)

// gatewayEvent returns an API Gateway HTTP API event (payload format 2.0) of
// about size bytes. As in real life nearly all of it is the body, a JSON document
// written as a string.
func gatewayEvent(size int) []byte {
	var items []string
	for i, length := 0, 900; length < size; i++ {
		item := fmt.Sprintf(`{"sku":"AB-%06d","name":"Green tea \"Sencha\" no. %d","quantity":%d,"price":%d.95,"tags":["tea","緑茶",%t],"gift":null}`,
			i, i, i%7+1, i%90+5, i%2 == 0)
		items = append(items, item)
		length += len(item) + strings.Count(item, `"`) + 2
	}
	body := `{"order_id":"ord-9007199254740993","customer":{"id":4711,"email":"aki@example.com"},"amount":1299,"currency":"JPY","items":[` +
		strings.Join(items, ",") + `]}`
	event, err := json.Marshal(map[string]any{
		"version":        "2.0",
		"routeKey":       "POST /payments",
		"rawPath":        "/payments",
		"rawQueryString": "",
		"headers": map[string]string{
			"accept": "application/json", "content-type": "application/json", "host": "api.example.com",
			"idempotency-key": "5f0c6f0e-6f0b-4a53-9a3d-3a1f6b7e9d10", "user-agent": "shop/3.2 (linux)", "x-forwarded-for": "192.0.2.7",
		},
		"requestContext": map[string]any{
			"accountId": "123456789012", "apiId": "a1b2c3", "stage": "$default", "requestId": "JKJaXmPLvHcESHA=", "timeEpoch": 1583348638390,
			"http": map[string]string{"method": "POST", "path": "/payments", "protocol": "HTTP/1.1", "sourceIp": "192.0.2.7"},
		},
		"body":            body,
		"isBase64Encoded": false,
	})
	if err != nil {
		panic(err)
	}
	return event
}
