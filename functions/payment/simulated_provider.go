package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// simulatedProvider stands in for a payment provider. It keeps a ledger in the
// payments table, one row "charge#…" for each charge made, so that anybody can
// count from outside how often a customer has paid.
type simulatedProvider struct {
	ledger      *table
	mood        mood
	ignoresKeys bool
	calls       atomic.Int64
}

// mood is how the provider behaves.
type mood string

const (
	prompt    mood = ""         // charges at once
	slow      mood = "slow"     // charges after a second
	hanging   mood = "hang"     // charges and never answers
	flaky     mood = "flaky"    // fails the first call in this process, and charges nothing
	declining mood = "declined" // declines everything
)

// newSimulatedProvider takes the values of SIMULATED_PROVIDER and
// PROVIDER_IDEMPOTENT. The latter is "off" for a provider that makes a charge for
// each call; any other makes one for each key, as real ones do.
func newSimulatedProvider(ledger *table, behaviour, keys string) (*simulatedProvider, error) {
	p := &simulatedProvider{ledger: ledger, mood: mood(behaviour), ignoresKeys: keys == "off"}
	switch p.mood {
	case prompt, slow, hanging, flaky, declining:
		return p, nil
	default:
		return nil, fmt.Errorf("SIMULATED_PROVIDER is %q, which is none of slow, hang, flaky and declined", behaviour)
	}
}

// Charge implements [Provider].
func (p *simulatedProvider) Charge(ctx context.Context, key string, o order) (string, error) {
	switch calls := p.calls.Add(1); {
	case p.mood == declining:
		return "", &DeclinedError{Reason: "insufficient funds"}
	case p.mood == flaky && calls == 1:
		return "", errors.New("provider: connection reset")
	case p.mood == slow:
		if err := wait(ctx, time.Second); err != nil {
			return "", err
		}
	}
	id, err := p.charge(ctx, key, o)
	if err == nil && p.mood == hanging {
		// The worst moment: the customer has paid and nobody hears of it. The
		// context's end changes nothing; Lambda has to kill the process.
		time.Sleep(neverInLambda)
	}
	return id, err
}

// neverInLambda is longer than any invocation may take.
const neverInLambda = 24 * time.Hour

// charge makes the charge and writes it to the ledger.
func (p *simulatedProvider) charge(ctx context.Context, key string, o order) (string, error) {
	id := "ch_" + digest(key)
	if p.ignoresKeys {
		id = "ch_" + rand.Text()
	}
	row, err := p.ledger.add(ctx, "charge#"+id, attributes{
		"idempotency_key": text(key),
		"amount":          number(o.Amount),
		"currency":        text(o.Currency),
		"customer":        text(o.Customer),
		"created_at":      text(time.Now().UTC().Format(time.RFC3339Nano)),
	})
	if err != nil {
		return "", err
	}
	if charged, err := orderOf(row); err != nil || charged != o {
		return "", errors.Join(err, errOtherOrder)
	}
	return id, nil
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
