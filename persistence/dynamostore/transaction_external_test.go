package dynamostore_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/ikkai-go/idempotency/internal/endpoint"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
)

// forgetful is a network that loses the replies to as many transactions.
type forgetful struct {
	next dynamodb.HTTPClient
	lose atomic.Int32
}

func (f *forgetful) Do(r *http.Request) (*http.Response, error) {
	response, err := f.next.Do(r)
	if err != nil || r.Header.Get("X-Amz-Target") != "DynamoDB_20120810.TransactWriteItems" || f.lose.Add(-1) < 0 {
		return response, err
	}
	response.Body.Close()
	return nil, syscall.ECONNRESET
}

// The essentials of transactions once more, at a database that is not ours.
func TestTransactionsAtTheExternalEndpoint(t *testing.T) {
	client, set := endpoint.Client()
	if !set {
		t.Skip(endpoint.Variable + " is not set")
	}
	network := &forgetful{next: client.Options().HTTPClient}
	client = dynamodb.New(client.Options(), func(o *dynamodb.Options) { o.HTTPClient = network }, impatient)
	books := newLedger(t, client, "ledger-"+rand.Text())
	for name, config := range map[string]dynamostore.Config{"default table": {}, "composite table": composite()} {
		for _, call := range transactionals {
			t.Run(name+" "+call.name, func(t *testing.T) {
				config.Table = "idempotency-" + rand.Text()
				store := newTable(t, client, config)
				account := rand.Text()
				do := call.begin(t, store)
				if err := do(t.Context(), books.add(account, "100"), books.open(account+"!"), books.open(account+"!!"), books.add(account, "1")); !errors.Is(err, persistence.ErrInvalid) {
					t.Errorf("one item twice: %v", err)
				}
				if err := dynamostore.Apply(t.Context(), client, books.open(account+"?")); err != nil {
					t.Fatal(err)
				}
				err := do(t.Context(), books.add(account, "10"), books.open(account+"?"))
				refused, _ := errors.AsType[*persistence.RefusedError](err)
				condition, _ := errors.AsType[*dynamostore.ConditionError](err)
				if refused == nil || refused.Index != 1 || condition == nil || len(condition.Item) != 1 {
					t.Errorf("refused: %v", err)
				}
				network.lose.Store(2)
				if err := do(t.Context(), books.add(account, "1"), books.open(account+"!")); err != nil {
					t.Errorf("replies lost: %v", err)
				}
				if network.lose.Load() >= 0 {
					t.Error("no reply was lost")
				}
				if got := books.balance(t, account); got != "1" {
					t.Errorf("the balance is %s", got)
				}
				if r, found := recordOf(t, store); !call.recorded(r, found) {
					t.Errorf("the record is %+v, %v", r, found)
				}
				if !call.record {
					return
				}
				if err := do(t.Context(), books.add(account, "1"), books.open(account+"!")); err != nil {
					t.Errorf("again: %v", err)
				}
				if got := books.balance(t, account); got != "1" {
					t.Errorf("again: the balance is %s", got)
				}
			})
		}
	}
	t.Run("one of many completes at once", func(t *testing.T) {
		store := newTable(t, client, dynamostore.Config{Table: "idempotency-" + rand.Text()})
		account := rand.Text()
		var callers sync.WaitGroup
		for i := range 10 {
			callers.Go(func() {
				c := claim(fmt.Sprint("caller-", i))
				r, err := store.CompleteAtOnce(t.Context(), c, completed(c.Owner), writes(books.add(account, "1"), books.open(account+"!")))
				if err != nil || string(r.Result) != r.Owner {
					t.Errorf("got %+v, %v", r, err)
				}
			})
		}
		callers.Wait()
		if got := books.balance(t, account); got != "1" {
			t.Errorf("the balance is %s", got)
		}
	})
}
