package simulation

import (
	"errors"
	"fmt"
	"maps"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/persistence"
)

// bank is the books about the accounts: what is in them, and what has been
// transferred. It learns that from the table, and how often a transfer was applied
// from nothing but the balances.
type bank struct {
	world *world
	total int // of all balances, for ever

	mu       sync.Mutex
	balances map[string]int
	applied  map[string]int // of each key: the transfers made, less those undone
	past     map[string]int // as many as the records that are gone have said
}

const accountsTable = "accounts"

// account is an item of the second table.
type account struct {
	id      string
	balance int
	version int
}

func (w *world) newBank() (*bank, error) {
	b := &bank{world: w, balances: make(map[string]int), applied: make(map[string]int), past: make(map[string]int)}
	w.db.MustCreateTable(accountsTable, "id")
	for _, a := range w.accounts {
		if err := w.db.Seed(accountsTable, a.item()); err != nil {
			return nil, err
		}
		b.balances[a.id] = a.balance
		b.total += a.balance
	}
	return b, nil
}

// audit compares the accounts with what they were, after a request of the invocation
// has been applied, and with what the invocation's record says.
func (b *bank) audit(i *invocation, was, is persistence.Record) {
	w := b.world
	b.mu.Lock()
	defer b.mu.Unlock()
	before := maps.Clone(b.balances)
	change, held := make(map[string]int), 0
	for _, item := range w.db.Items(accountsTable) {
		a := accountOf(item)
		if moved := a.balance - before[a.id]; moved != 0 {
			change[a.id] = moved
		}
		if a.balance < 0 && before[a.id] >= 0 {
			w.broken(Conserved, "%s overdraws %s by %d", i.name, a.id, -a.balance)
		}
		b.balances[a.id] = a.balance
		held += a.balance
	}
	b.follow(i, change, held)
	if is.Owner != was.Owner && is.Attempt <= 1 {
		b.past[i.key] += says(was)
	}
	if says := b.past[i.key] + says(is); b.applied[i.key] != says {
		w.broken(Applied, "%s is applied %d times, and recorded %d times, now with %s", w.names[i.key], b.applied[i.key], says, show(is))
	}
}

// follow enters what the invocation has changed.
func (b *bank) follow(i *invocation, change map[string]int, held int) {
	w, m := b.world, i.order.movement()
	switch {
	case len(change) == 0:
	case held != b.total:
		w.broken(Conserved, "%s changes %v: the accounts hold %d instead of %d", i.name, change, held, b.total)
	case maps.Equal(change, m.change()):
		w.say(i.name, "the money is moved: %v", change)
		w.count(moved)
		i.act()
		b.applied[i.key]++
	case maps.Equal(change, m.back().change()):
		w.say(i.name, "the money is moved back: %v", change)
		w.count(undone)
		b.applied[i.key]--
	default:
		w.broken(Conserved, "%s changes %v, which is not its transfer", i.name, change)
	}
}

// forget enters that a record is gone.
func (b *bank) forget(key string, was persistence.Record) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.past[key] += says(was)
}

// says is how often a transfer is applied according to its record.
func says(r persistence.Record) int {
	_, finished := r.Steps[transferStep]
	_, undone := r.Steps[transferStep+":compensated"]
	if r.Status == persistence.StatusCompleted || !r.Status.Finished() && finished && !undone {
		return 1
	}
	return 0
}

// mustBeApplied checks what a caller relies on who gets a result.
func (b *bank) mustBeApplied(i *invocation) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.applied[i.key] < 1 {
		b.world.broken(Applied, "%s is answered, and its transfer is not applied", i.name)
	}
}

// mustBeShort checks, once all is quiet, a refusal for want of money and the record
// that it leaves: none, or one of a transfer that can't be undone yet, or one whose
// lease was over before and that a run at once does not take over.
func (b *bank) mustBeShort(refused *shortError, name string, left persistence.Record) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if has := b.balances[refused.account]; has >= refused.needs {
		b.world.broken(Open, "%s is refused: %v, which has %d", name, refused, has)
	}
	now := time.Now().Add(clockSkew)
	finished := left.Status.Finished() && !left.Expired(now)
	if finished || left.LeaseLive(now) {
		b.world.broken(Bounded, "%s is refused, and its record is left %s", name, show(left))
	}
}

// missing is how much of the money is gone.
func (b *bank) missing() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	missing := b.total
	for _, balance := range b.balances {
		missing -= balance
	}
	return missing
}

// movement is what a transfer does.
type movement struct {
	from, to string
	amount   int
}

func (o order) movement() movement { return movement{o.From, o.To, o.Amount} }

// back is the movement that undoes it.
func (m movement) back() movement { return movement{m.to, m.from, m.amount} }

func (m movement) change() map[string]int { return map[string]int{m.from: -m.amount, m.to: m.amount} }

// errShort matches every shortError.
var errShort = errors.New("the account is short of money")

// shortError says that an account can't pay.
type shortError struct {
	account string
	needs   int
}

func (e *shortError) Error() string { return fmt.Sprintf("%s can't pay %d", e.account, e.needs) }

// Is matches errShort.
func (e *shortError) Is(target error) bool { return target == errShort }

func (a account) item() map[string]types.AttributeValue {
	return map[string]types.AttributeValue{
		"id":      &types.AttributeValueMemberS{Value: a.id},
		"balance": number(a.balance),
		"version": number(a.version),
	}
}

func accountOf(item map[string]types.AttributeValue) account {
	id, _ := item["id"].(*types.AttributeValueMemberS)
	return account{id.Value, numberIn(item, "balance"), numberIn(item, "version")}
}

func number(n int) types.AttributeValue { return &types.AttributeValueMemberN{Value: strconv.Itoa(n)} }

func numberIn(item map[string]types.AttributeValue, name string) int {
	stored, ok := item[name].(*types.AttributeValueMemberN)
	if !ok {
		panic(fmt.Sprintf("%s of %v is no number", name, item))
	}
	n, err := strconv.Atoi(stored.Value)
	if err != nil {
		panic(err) // only whole amounts are ever written
	}
	return n
}
