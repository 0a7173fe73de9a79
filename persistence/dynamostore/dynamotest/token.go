package dynamotest

import (
	"crypto/sha256"
	"encoding/json"
	"time"
)

// tokenLifetime is for how long a client request token is known ("TransactWriteItems", API reference).
const tokenLifetime = 10 * time.Minute

// tokens are the client request tokens of the last ten minutes.
type tokens struct {
	uses map[string]tokenUse
	// oldest first, so that nobody has to look for what is over.
	order []tokenTime
}

type tokenTime struct {
	token string
	at    time.Time
}

// tokenUse is a transaction that went through under a client request token.
type tokenUse struct {
	request [sha256.Size]byte
	at      time.Time
	items   []tokenItem
}

// tokenItem is an item that the transaction was about: a replay reads it, and pays for that.
type tokenItem struct {
	table string
	place place
}

// use is the one that the token had in the last ten minutes.
func (t *tokens) use(token string, now time.Time) (tokenUse, bool) {
	t.forget(now)
	use, used := t.uses[token]
	return use, used && now.Sub(use.at) < tokenLifetime
}

func (t *tokens) remember(token string, use tokenUse) {
	if t.uses == nil {
		t.uses = make(map[string]tokenUse)
	}
	t.uses[token] = use
	t.order = append(t.order, tokenTime{token, use.at})
}

// forget drops what is over.
func (t *tokens) forget(now time.Time) {
	for len(t.order) > 0 && now.Sub(t.order[0].at) >= tokenLifetime {
		// Unless it was used again since.
		if oldest := t.order[0]; t.uses[oldest.token].at.Equal(oldest.at) {
			delete(t.uses, oldest.token)
		}
		t.order = t.order[1:]
	}
}

// digest identifies what the request does, so that another one under the same token is noticed.
func (in *transactWriteInput) digest() [sha256.Size]byte {
	items, err := json.Marshal(in.Items)
	if err != nil {
		panic(err) // it was decoded from JSON
	}
	return sha256.Sum256(items)
}

// replay answers a request whose token was used in the last ten minutes: it is not carried out again, only the items are
// read. nil if the token is new.
func (in *transactWriteInput) replay(c *call) (any, error) {
	if in.Token == nil {
		return nil, nil
	}
	use, used := c.tokens.use(*in.Token, c.at)
	if !used {
		return nil, nil
	}
	if use.request != in.digest() {
		return nil, failure("IdempotentParameterMismatchException", "Error in processing the request. The request was rejected because "+
			"the idempotent token was already used with different parameters.")
	}
	for _, i := range use.items {
		size := 0
		if t, ok := c.tables[i.table]; ok {
			size = t.items.get(i.place).size
		}
		c.consumed.add(i.table, transactional(size))
	}
	return transactOutput{ConsumedCapacity: c.consumed.reportTransaction(in.ReturnConsumedCapacity)}, nil
}

func (in *transactWriteInput) remember(c *call, writes []write) {
	if in.Token == nil {
		return
	}
	use := tokenUse{request: in.digest(), at: c.at}
	for _, w := range writes {
		use.items = append(use.items, tokenItem{w.table.name, w.table.items.place(w.key)})
	}
	c.tokens.remember(*in.Token, use)
}

// ForgetTokens forgets all client request tokens, as time does after ten minutes.
func (db *DB) ForgetTokens() {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.tokens = tokens{}
}
