package simulation_test

import (
	"context"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/internal/proof/simulation"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
)

// Every flaw breaks the rules that it is about, within a few seeds.
func TestAFlawIsFound(t *testing.T) {
	tests := map[string]struct {
		flaw   simulation.Flaw
		breaks []simulation.Rule
	}{
		"acquires without a condition":     {onRequests(careless{put: true}), []simulation.Rule{simulation.Alone, simulation.Final}},
		"takes over without a condition":   {onRequests(careless{takeOver: true}), []simulation.Rule{simulation.Alone}},
		"completes without a condition":    {onRequests(careless{complete: true}), []simulation.Rule{simulation.OwnersOnly}},
		"releases without a condition":     {onRequests(careless{release: true}), []simulation.Rule{simulation.Alone, simulation.Final}},
		"deletes where it is turned away":  {onStore(func(s simulation.Store) simulation.Store { return rude{s} }), []simulation.Rule{simulation.Alone}},
		"releases what it should complete": {onStore(func(s simulation.Store) simulation.Store { return forgetful{s} }), []simulation.Rule{simulation.Truthful}},
		"caches records under way": {onStore(func(s simulation.Store) simulation.Store {
			return &hasty{Store: s, seen: map[string]persistence.Record{}}
		}), []simulation.Rule{simulation.Open}},
		"ignores the payload":                      {onStore(func(s simulation.Store) simulation.Store { return blind{s} }), []simulation.Rule{simulation.Truthful}},
		"leases for as long as the record lives":   {onStore(func(s simulation.Store) simulation.Store { return greedy{s} }), []simulation.Rule{simulation.Bounded}},
		"clocks beyond the allowance":              {simulation.Flaw{ClocksApart: 8 * time.Second}, []simulation.Rule{simulation.Alone}},
		"extends a lease before that is confirmed": {onStore(func(s simulation.Store) simulation.Store { return hopeful{s} }), []simulation.Rule{simulation.Alone}},
		"renews whatever lease there is":           {onRequests(careless{renew: true}), []simulation.Rule{simulation.OwnersOnly}},
		"gives tenants each other's answers":       {simulation.Flaw{Shared: true}, []simulation.Rule{simulation.Truthful}},
		"says of a run without a record that nothing was done": {onVerdicts(func(_ error, v idempotent.Verdict) idempotent.Verdict {
			if v.Code == idempotent.CodeNotStored {
				v.Done = idempotent.DoneNothing
			}
			return v
		}), []simulation.Rule{simulation.Claimed}},
		"says of every failure that all was done": {onVerdicts(func(_ error, v idempotent.Verdict) idempotent.Verdict {
			v.Done = idempotent.DoneAll
			return v
		}), []simulation.Rule{simulation.Claimed}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { mustBreak(t, simulation.Orders, test.flaw, test.breaks...) })
	}
}

// mustBreak runs seeds until one has broken each of the rules.
func mustBreak(t *testing.T, b simulation.Business, f simulation.Flaw, missing ...simulation.Rule) {
	t.Helper()
	const seeds = 100
	for seed := range uint64(seeds) {
		report := simulation.Run(t, b, seed, f)
		for _, v := range report.Violations {
			if i := slices.Index(missing, v.Rule); i >= 0 {
				t.Logf("seed %d: %v", seed, v)
				missing = slices.Delete(slices.Clone(missing), i, i+1)
			}
		}
		if len(missing) == 0 {
			return
		}
	}
	t.Errorf("%d seeds do not break %q", seeds, missing)
}

func onRequests(c careless) simulation.Flaw {
	return simulation.Flaw{Requests: func(api dynamostore.API) dynamostore.API {
		spoilt := c
		spoilt.API = api
		return spoilt
	}}
}

func onStore(wrap func(simulation.Store) simulation.Store) simulation.Flaw {
	return simulation.Flaw{Store: wrap}
}

// onVerdicts says something else of every error than the engine does.
func onVerdicts(says func(error, idempotent.Verdict) idempotent.Verdict) simulation.Flaw {
	return simulation.Flaw{Verdict: func(err error) idempotent.Verdict { return says(err, idempotent.VerdictOf(err)) }}
}

// hopeful takes a renewal for done that it has not asked for.
type hopeful struct{ simulation.Store }

func (hopeful) Renew(context.Context, persistence.Lease) error { return nil }

// careless leaves the conditions of some writes out.
type careless struct {
	dynamostore.API
	put, takeOver, complete, release, renew bool
}

func (c careless) PutItem(ctx context.Context, in *dynamodb.PutItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	if c.put {
		spoilt := *in
		spoilt.ConditionExpression, spoilt.ExpressionAttributeNames = always(in.ConditionExpression, in.ExpressionAttributeNames)
		in = &spoilt
	}
	return c.API.PutItem(ctx, in, opts...)
}

func (c careless) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	careless := c.complete
	switch {
	case in.ReturnValues == types.ReturnValueAllNew:
		careless = c.takeOver
	case renewal(in):
		careless = c.renew
	}
	if careless {
		spoilt := *in
		spoilt.ConditionExpression, spoilt.ExpressionAttributeNames = always(in.ConditionExpression, in.ExpressionAttributeNames)
		in = &spoilt
	}
	return c.API.UpdateItem(ctx, in, opts...)
}

// renewal tells whether a request does nothing but that.
func renewal(in *dynamodb.UpdateItemInput) bool {
	return aws.ToString(in.UpdateExpression) == "SET #l = :lease, #x = :expire"
}

func (c careless) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	if c.release {
		spoilt := *in
		spoilt.ConditionExpression, spoilt.ExpressionAttributeNames = always(in.ConditionExpression, in.ExpressionAttributeNames)
		in = &spoilt
	}
	return c.API.DeleteItem(ctx, in, opts...)
}

// always makes a condition true. Nothing is taken out: DynamoDB refuses what is
// given and not used.
func always(condition *string, names map[string]string) (*string, map[string]string) {
	names = maps.Clone(names)
	if names == nil {
		names = make(map[string]string)
	}
	names["#any"] = "any"
	return aws.String("(" + *condition + ") OR attribute_exists(#any) OR attribute_not_exists(#any)"), names
}

// rude deletes the record that keeps it out.
type rude struct{ simulation.Store }

func (s rude) Acquire(ctx context.Context, c persistence.Claim) (persistence.Record, error) {
	r, err := s.Store.Acquire(ctx, c)
	if err == nil && r.Status == persistence.StatusProcessing && r.Owner != c.Owner {
		_ = s.Release(ctx, r.Lease())
	}
	return r, err
}

// forgetful does not record what was done.
type forgetful struct{ simulation.Store }

func (s forgetful) Complete(ctx context.Context, l persistence.Lease, _ persistence.Outcome) error {
	return s.Release(ctx, l)
}

// hasty remembers whatever it has met.
type hasty struct {
	simulation.Store
	mu   sync.Mutex
	seen map[string]persistence.Record
}

func (s *hasty) Acquire(ctx context.Context, c persistence.Claim) (persistence.Record, error) {
	s.mu.Lock()
	known, met := s.seen[c.Key]
	s.mu.Unlock()
	if met && !known.Expired(c.Now) {
		return known, nil
	}
	r, err := s.Store.Acquire(ctx, c)
	if err == nil {
		s.mu.Lock()
		s.seen[c.Key] = r
		s.mu.Unlock()
	}
	return r, err
}

// blind does not compare payloads.
type blind struct{ simulation.Store }

func (s blind) Acquire(ctx context.Context, c persistence.Claim) (persistence.Record, error) {
	c.Fingerprint = ""
	return s.Store.Acquire(ctx, c)
}

// greedy takes the longest lease it can get.
type greedy struct{ simulation.Store }

func (s greedy) Acquire(ctx context.Context, c persistence.Claim) (persistence.Record, error) {
	c.LeaseUntil = c.ExpiresAt
	return s.Store.Acquire(ctx, c)
}
