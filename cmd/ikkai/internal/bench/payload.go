package bench

import (
	"encoding/json"
	"fmt"
	"strings"
)

// payment is a JSON payload of about that many bytes: an id in the middle of
// line items that have strings, numbers, a nested object and a flag.
func payment(id string, size int) []byte {
	half := strings.Join(lineItems((size-100)/2), ",")
	return fmt.Appendf(nil, `{"customer":"c-1042","before":[%s],"payment_id":%q,"amount":1250,"after":[%s]}`, half, id, half)
}

// lineItems are objects of about that many bytes in all.
func lineItems(size int) []string {
	var items []string
	for written := 0; ; {
		item := fmt.Sprintf(`{"sku":"A-%05d","name":"Büchse \"klein\"","price":19.90,"count":%d,"tax":{"rate":0.19,"included":true}}`, len(items), len(items)%9)
		if written += len(item) + 1; written > size {
			return items
		}
		items = append(items, item)
	}
}

// httpEvent is an HTTP API's event with that body.
func httpEvent(body []byte) []byte {
	quoted, err := json.Marshal(string(body))
	if err != nil {
		panic(err) // strings always have a JSON form
	}
	return fmt.Appendf(nil, `{"version":"2.0","routeKey":"POST /payments","rawPath":"/payments","headers":{"content-type":"application/json"},"isBase64Encoded":false,"body":%s}`, quoted)
}
