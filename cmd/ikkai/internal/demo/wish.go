package demo

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/ikkai-go/idempotency"
)

// wish is what somebody wants done once, however often it is asked for.
type wish interface {
	// name is what the story calls it.
	name() string
	// recordKey is the key that the function's guard makes of it.
	recordKey() string
	effects() []effect
}

// effect is a kind of thing that is done for a wish. Each time it is done leaves a
// row "kind#…" in the function's own table, with an attribute that says for whom.
type effect struct{ table, kind, attribute, value string }

// Order is a payment that a client asks for.
type Order struct {
	Key    string `json:"key"`
	Amount int64  `json:"amount"` // cents
	// Quoted sends the key as the draft has it, as a structured field's string.
	Quoted bool `json:"quoted,omitempty"`
}

// customer is who pays for the order, and for nothing else.
func (o Order) customer() string { return "customer of " + o.Key }

func (o Order) name() string { return o.Key }

// recordKey is that of the caller whose token the event file holds.
func (o Order) recordKey() string {
	return apiKey("payment", []string{"jwt subject", "https://login.example.com/", "shop"}, o.Key)
}

// effects are the charges in the provider's ledger, under any key.
func (o Order) effects() []effect {
	return []effect{{payment.table, "charge", "customer", o.customer()}}
}

func (o Order) header() string {
	if o.Quoted {
		return strconv.Quote(o.Key)
	}
	return o.Key
}

func (o Order) body() any {
	return map[string]any{"amount": o.Amount, "currency": "EUR", "customer": o.customer()}
}

func (o Order) function() function { return payment }

func (o Order) String() string {
	return fmt.Sprintf("%-9s %5d.%02d EUR", o.header(), o.Amount/100, o.Amount%100)
}

// Registration is a user who registers.
type Registration struct {
	Key   string `json:"key"` // a UUID
	Email string `json:"email"`
}

func (r Registration) name() string { return r.Email }

// recordKey is that of anybody: who registers is nobody yet.
func (r Registration) recordKey() string { return apiKey("register", []string{"unscoped"}, r.Key) }

// effects are the accounts and the mails that welcome their users.
func (r Registration) effects() []effect {
	return []effect{{register.table, "user", "email", r.Email}, {register.table, "mail", "to", r.Email}}
}

func (r Registration) header() string { return r.Key }

func (r Registration) body() any { return map[string]any{"email": r.Email, "name": "Ada"} }

func (r Registration) function() function { return register }

func (r Registration) String() string { return fmt.Sprintf("%-9s %s", shorten(r.Key, 9), r.Email) }

// Parcel is an order in a queue, for goods.
type Parcel struct{ ID string }

func (p Parcel) name() string { return p.ID }

func (p Parcel) recordKey() string { return guardKey("order", p.ID) }

// effects are the shipments in the warehouse's ledger, under any key.
func (p Parcel) effects() []effect {
	return []effect{{orders.table, "shipment", "order_id", p.ID}}
}

// letter is the body of a message that orders the parcel.
func (p Parcel) letter() string {
	return textFrom(map[string]any{"order_id": p.ID, "customer": "shop", "items": []any{map[string]any{"sku": "tea", "quantity": 1}}})
}

// Basket is a checkout that a client asks for.
type Basket struct {
	Key      string `json:"key"`
	Quantity int    `json:"quantity"` // of the goods
}

func (b Basket) customer() string { return "customer of " + b.Key }

func (b Basket) email() string { return b.Key + "@example.com" }

func (b Basket) name() string { return b.Key }

// recordKey is that of the caller whose token the event file holds.
func (b Basket) recordKey() string {
	return apiKey("checkout", []string{"jwt subject", "https://login.example.com/", "shop"}, b.Key)
}

// effects are the charges, the mails and the sales, under any key.
func (b Basket) effects() []effect {
	return []effect{
		{checkout.table, "charge", "customer", b.customer()},
		{checkout.table, "mail", "to", b.email()},
		{checkout.table, "sale", "customer", b.customer()},
	}
}

func (b Basket) header() string { return b.Key }

func (b Basket) body() any {
	return map[string]any{"customer": b.customer(), "email": b.email(), "items": []any{map[string]any{"sku": goods, "quantity": b.Quantity}}}
}

func (b Basket) function() function { return checkout }

func (b Basket) String() string { return fmt.Sprintf("%-9s %d %s", b.Key, b.Quantity, goods) }

// goods are what baskets hold.
const goods = "cups"

// Month is a month whose salaries are to be paid, as in "2026-11".
type Month string

func (m Month) name() string { return string(m) }

// recordKey is none: every employee has a record.
func (m Month) recordKey() string { return "" }

// effects are the transfers in the bank's ledger, under any key.
func (m Month) effects() []effect {
	return []effect{{payroll.table, "transfer", "month", m.name()}}
}

// event is what the schedule sends.
func (m Month) event() []byte { return []byte(textFrom(map[string]string{"month": m.name()})) }

// apiKey is the key of a record of an HTTP API's guard.
func apiKey(operation string, scope []string, key string) string {
	return guardKey(operation, textFrom([]any{[][]string{scope}, key}))
}

func guardKey(operation, key string) string {
	record, err := idempotency.Key(operation, key)
	if err != nil {
		panic(err) // the story's keys are usable
	}
	return record
}

// textFrom is the JSON text of what always has one.
func textFrom(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}
