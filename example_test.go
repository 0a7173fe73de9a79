package idempotency_test

import (
	"errors"
	"fmt"

	"github.com/ikkai-go/idempotency"
)

func Example() {
	orderID := idempotency.MustJMESPath("powertools_json(body).order_id")

	first, err := orderID.Key("payment", []byte(`{"body":"{\"order_id\":\"ord-1\",\"amount\":5}"}`))
	if err != nil {
		fmt.Println(err)
	}
	retry, err := orderID.Key("payment", []byte(`{"body":"{ \"amount\":5.0, \"order_id\":\"\\u006frd-1\" }"}`))
	if err != nil {
		fmt.Println(err)
	}
	fmt.Println(first)
	fmt.Println(first == retry)
	// Output:
	// payment#7a8c7a36b0796ea527a39ba7be1f825c1fb57c6f75b24d5afd813e366286aec6
	// true
}

func ExampleJMESPath() {
	_, err := idempotency.JMESPath("keys(headers)")
	fmt.Println(err)
	_, err = idempotency.JMESPath("id || 'anonymous'")
	fmt.Println(err)
	// Output:
	// JMESPath expression "keys(headers)": keys() has no stable order; name the members of the object
	// JMESPath expression "id || 'anonymous'": it reads nothing of the payload, so that all events would be one request
}

func ExampleMustJMESPath() {
	fromHeaderOrBody := idempotency.MustJMESPath(`headers."idempotency-key" || powertools_json(body).request_id`)
	fmt.Println(fromHeaderOrBody)
	// Output:
	// headers."idempotency-key" || powertools_json(body).request_id
}

func ExampleWholePayload() {
	whole := idempotency.WholePayload()
	first, _ := whole.Key("report", []byte(`{"month": "2026-11", "pages": 3}`))
	retry, _ := whole.Key("report", []byte(`{"pages": 3.0, "month": "2026-11"}`))
	other, _ := whole.Key("report", []byte(`{"month": "2026-11", "pages": 3, "sent": "09:41:07"}`))
	fmt.Println(whole, first == retry, first == other)
	// Output:
	// @ true false
}

func ExampleExpression_Canonical() {
	order := idempotency.MustJMESPath("{id: id, lines: lines[*].[sku, quantity]}")
	canonical, err := order.Canonical([]byte(`{"id": 9007199254740993, "lines": [{"sku": "\u0041", "quantity": 2.0, "price": 7}]}`))
	fmt.Println(string(canonical), err)
	// Output:
	// {"id":9007199254740993,"lines":[["A",2]]} <nil>
}

func ExampleExpression_Key() {
	id := idempotency.MustJMESPath("id")
	key, err := id.Key("payment", []byte(`{"id": "ord-1"}`))
	fmt.Println(key, err)

	_, err = id.Key("payment", []byte(`{"other": 1}`))
	fmt.Println(err, errors.Is(err, idempotency.ErrMissing))
	_, err = id.Key("payment", []byte(`{"id": "\ud800"}`))
	fmt.Println(err, errors.Is(err, idempotency.ErrPayload))
	// Output:
	// payment#7a8c7a36b0796ea527a39ba7be1f825c1fb57c6f75b24d5afd813e366286aec6 <nil>
	// JMESPath expression "id": what it selects is null or empty true
	// JMESPath expression "id": string that is not Unicode text true
}

func ExampleExpression_Verbatim() {
	key, err := idempotency.MustJMESPath("id").Verbatim().Key("payment", []byte(`{"id": "ord-1"}`))
	fmt.Println(key, err)
	// Output:
	// payment#=ord-1 <nil>
}

func ExampleExpression_Fingerprint() {
	amount := idempotency.MustJMESPath("[amount, currency]")
	five, _ := amount.Fingerprint([]byte(`{"amount": 5, "currency": "JPY"}`))
	same, _ := amount.Fingerprint([]byte(`{"currency": "JPY", "amount": 5.00}`))
	six, _ := amount.Fingerprint([]byte(`{"amount": 6, "currency": "JPY"}`))
	fmt.Println(five == same, five == six)
	// Output:
	// true false
}

func ExampleExpression_String() {
	fmt.Println(idempotency.MustJMESPath("detail.id").String())
	// Output:
	// detail.id
}

func ExampleKey() {
	made, _ := idempotency.Key("payment", "ord-1")
	selected, _ := idempotency.MustJMESPath("id").Key("payment", []byte(`{"id": "ord-1"}`))
	fmt.Println(made == selected)
	// Output:
	// true
}

func ExampleTenantKey() {
	key, _ := idempotency.Key("payment", "ord-1")
	blue, _ := idempotency.TenantKey("blue", key)
	fmt.Println(key)
	fmt.Println(blue)
	_, err := idempotency.TenantKey("green", blue)
	fmt.Println(err)
	// Output:
	// payment#7a8c7a36b0796ea527a39ba7be1f825c1fb57c6f75b24d5afd813e366286aec6
	// payment#@blue#7a8c7a36b0796ea527a39ba7be1f825c1fb57c6f75b24d5afd813e366286aec6
	// tenant "green": the key has a tenant already
}

func ExampleItemKey() {
	fmt.Println(idempotency.ItemKey("payroll", "2026-11", "e-1"))
	// Output:
	// payroll#a0874446de14b6efc6e1310710deebeb94e7bc2bcd9dc507f0d9b871c28ebf9c <nil>
}

func ExampleCheckOperation() {
	fmt.Println(idempotency.CheckOperation("payment"))
	fmt.Println(idempotency.CheckOperation("payment#1"))
	// Output:
	// <nil>
	// operation name "payment#1": "#" ends the operation within a key
}
