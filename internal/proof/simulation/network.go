package simulation

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

// network is the way from the processes to DynamoDB and back.
type network struct{ world *world }

// RoundTrip implements [http.RoundTripper].
func (n network) RoundTrip(r *http.Request) (*http.Response, error) {
	w, i := n.world, invocationOf(r.Context())
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	i.point("before sending " + operation)
	if err := w.pause(r.Context(), latency(i.dice)); err != nil {
		return nil, err
	}
	w.count(requests)
	var held dynamotest.Held
	effect, faulty := i.fault(operation, &held)
	// Nobody else runs between here and the request's arrival: the plan is this
	// request's own. The audit comes before any delay of the reply.
	w.db.ClearFaults()
	if w.flaw.Tokenless {
		w.db.ForgetTokens()
	}
	applied := false
	w.db.Inject(dynamotest.Fault{Do: dynamotest.After(func(r dynamotest.Request) {
		applied = r.Applied
		w.audit(i)
	})})
	if w.bare {
		w.db.Inject(dynamotest.Fault{Do: dynamotest.OmitItem()})
	}
	if faulty {
		w.db.Inject(dynamotest.Fault{Do: effect})
	}
	response, err := w.db.RoundTrip(r)
	w.say(i.name, "%s: %s", operation, describe(response, err, effect))
	if heard := err == nil && response.StatusCode == http.StatusOK; operation == transaction {
		if applied && !heard {
			w.count(unheard)
		}
		if i.leased && w.stands(i.key).Owner != i.owner {
			w.count(zombies)
		}
	}
	w.later(i, operation, &held)
	i.point("after sending " + operation)
	if err != nil {
		return nil, err
	}
	if err := w.pause(r.Context(), latency(i.dice)); err != nil {
		return nil, err
	}
	return response, nil
}

// fault draws what goes wrong with a request, if anything does.
func (i *invocation) fault(operation string, held *dynamotest.Held) (dynamotest.Effect, bool) {
	w := i.world
	if !w.unlucky(i.dice, w.faults) {
		return dynamotest.Effect{}, false
	}
	delay := func() time.Duration { return w.distinct(between(i.dice, 100*time.Millisecond, 4*time.Second)) }
	effects := []func() dynamotest.Effect{
		dynamotest.LoseRequest,
		dynamotest.LoseReply,
		dynamotest.FailBefore,
		dynamotest.FailAfter,
		dynamotest.Throttle,
		dynamotest.TransactionConflict,
		dynamotest.OmitItem,
		func() dynamotest.Effect { return dynamotest.DelayBefore(delay()) },
		func() dynamotest.Effect { return dynamotest.DelayAfter(delay()) },
		func() dynamotest.Effect { return dynamotest.ApplyLater(held) },
	}
	if operation == transaction {
		effects = append(effects, dynamotest.OmitReasons,
			func() dynamotest.Effect { return dynamotest.Cancel() },
			func() dynamotest.Effect {
				return dynamotest.Fail("TransactionInProgressException", "", http.StatusBadRequest)
			})
	}
	drawn := pick(i.dice, effects...)()
	w.count("fault: " + drawn.String())
	return drawn, true
}

// transaction is the operation that commits the application's writes.
const transaction = "TransactWriteItems"

// later lets a request that is held back arrive at last, as late as it likes.
func (w *world) later(i *invocation, operation string, held *dynamotest.Held) {
	after := between(i.dice, time.Millisecond, 20*time.Second)
	w.ended.Go(func() {
		w.sleep(after)
		for _, request := range held.Release() {
			w.say(i.name, "%s arrives late, applied: %t", operation, request.Applied)
			if request.Applied {
				w.count(late)
			}
			w.audit(i)
		}
	})
}

func latency(dice *rand.Rand) time.Duration {
	return between(dice, 500*time.Microsecond, 10*time.Millisecond)
}

func describe(response *http.Response, err error, effect dynamotest.Effect) string {
	what := fmt.Sprint(err)
	if err == nil {
		what = response.Status
	}
	if fault := effect.String(); fault != "" {
		what += " (" + fault + ")"
	}
	return what
}
