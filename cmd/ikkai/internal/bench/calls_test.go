package bench

import (
	"slices"
	"testing"

	"github.com/ikkai-go/idempotency/cmd/ikkai/internal/figures"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

func TestARoundSendsWhatItsReportSays(t *testing.T) {
	db := dynamotest.New(t)
	client, ctx := db.Client(), t.Context()
	const table = "bench"
	store, err := newStore(ctx, client, table)
	if err != nil {
		t.Fatal(err)
	}
	kit, err := newToolkit(store)
	if err != nil {
		t.Fatal(err)
	}
	same, err := recordRequests(ctx, client, table)
	if err != nil {
		t.Fatal(err)
	}
	c := contest{bare: bareCalls{client, table}, same: same, hand: byHand{same}, toolkit: kit}
	db.ResetLog()
	const rounds = 3
	for n := range rounds {
		if err := c.round(ctx, n); err != nil {
			t.Fatal(err)
		}
	}
	calls := c.calls()
	want := 0
	for _, call := range calls {
		want += rounds * call.Requests
		if call.P50 <= 0 || call.P99 < call.P50 {
			t.Errorf("%s took %v at p50 and %v at p99", call.Name, call.P50, call.P99)
		}
	}
	want += rounds // the replay that fills the cache
	if got := len(db.Requests()); got != want {
		t.Errorf("%d rounds sent %d requests, want %d", rounds, got, want)
	}
	if got, want := len(db.Items(table)), 4*rounds+1; got != want {
		t.Errorf("the rounds left %d records, want %d: the contestants share keys", got, want)
	}
}

func TestWhoBeginsChanges(t *testing.T) {
	var order []string
	named := func(name string) turn {
		return turn{new(figures.Durations), func() error { order = append(order, name); return nil }}
	}
	for n := range 3 {
		if err := byTurns(n, named("a"), named("b"), named("c")); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"a", "b", "c", "b", "c", "a", "c", "a", "b"}
	if !slices.Equal(order, want) {
		t.Errorf("the order is %q, want %q", order, want)
	}
}
