package dynamostore_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

func TestWhatIsEnlistedCommitsAsItWasThen(t *testing.T) {
	_, store, books := newBank(t, dynamostore.Config{})
	var enlisted storekit.Enlistment
	ctx := storekit.WithEnlistment(t.Context(), &enlisted)
	values := attributes{":n": number("1")}
	w := books.add("a", "")
	w.Update.ExpressionAttributeValues = values
	if err := dynamostore.Enlist(ctx, w); err != nil {
		t.Fatal(err)
	}
	values[":n"] = number("1000")
	w.Update.Key["id"] = text("b")
	w.Update.UpdateExpression = nil
	opened := books.open("c")
	if err := dynamostore.Enlist(ctx, opened); err != nil {
		t.Fatal(err)
	}
	delete(opened.Put.Item, "id")
	if err := store.Commit(t.Context(), enlisted.Close()); err != nil {
		t.Fatal(err)
	}
	if a, b := books.balance(t, "a"), books.balance(t, "b"); a != "1" || b != "" {
		t.Errorf("the balances are %q and %q", a, b)
	}
	if err := dynamostore.Enlist(ctx, books.add("d", "1")); !errors.Is(err, persistence.ErrNotEnlisted) {
		t.Errorf("after the end: %v", err)
	}
	if err := dynamostore.Enlist(t.Context(), books.add("d", "1")); !errors.Is(err, persistence.ErrNotEnlisted) {
		t.Errorf("outside of a run: %v", err)
	}
}

// Everything that is wrong is told at once, and nothing is enlisted then.
func TestFaultyWritesAreNotEnlisted(t *testing.T) {
	books := ledger{table: "ledger"}
	sized := func(table string, bytes int) dynamostore.Write {
		return dynamostore.Write{Put: &types.Put{TableName: &table, Item: attributes{"id": text("x"), "data": text(strings.Repeat("x", bytes-len("idxdata")))}}}
	}
	numbered := func(n int, w func(i int) dynamostore.Write) (many []dynamostore.Write) {
		for i := range n {
			many = append(many, w(i))
		}
		return many
	}
	key := attributes{"id": text("k")}
	both := books.add("a", "1")
	both.Put = books.open("b").Put
	tests := map[string]struct {
		writes []dynamostore.Write
		want   []string // parts of the error; none for no error
	}{
		"99 items":     {numbered(99, func(i int) dynamostore.Write { return books.add(fmt.Sprint(i), "1") }), nil},
		"100 items":    {numbered(100, func(i int) dynamostore.Write { return books.add(fmt.Sprint(i), "1") }), []string{"100 writes, a transaction has room for 99"}},
		"no action":    {[]dynamostore.Write{{}}, []string{"write 0 has 0 actions"}},
		"two actions":  {[]dynamostore.Write{books.add("a", "1"), both}, []string{"write 1 has 2 actions"}},
		"no table":     {[]dynamostore.Write{{Delete: &types.Delete{Key: key}}}, []string{"write 0 names no table"}},
		"no key":       {[]dynamostore.Write{{Delete: &types.Delete{TableName: &books.table}}}, []string{"write 0 on ledger has no key"}},
		"no item":      {[]dynamostore.Write{{Put: &types.Put{TableName: &books.table}}}, []string{"write 0 on ledger has no key"}},
		"no update":    {[]dynamostore.Write{{Update: &types.Update{TableName: &books.table, Key: key}}}, []string{"write 0 on ledger updates nothing"}},
		"no condition": {[]dynamostore.Write{{ConditionCheck: &types.ConditionCheck{TableName: &books.table, Key: key}}}, []string{"write 0 on ledger checks nothing"}},
		"one item twice": {
			[]dynamostore.Write{books.add("a", "1"), books.add("b", "1"), books.add("a", "2")},
			[]string{"write 2 is on the same item of ledger as write 0"},
		},
		"one item put and deleted": {
			[]dynamostore.Write{books.open("a"), {Delete: &types.Delete{TableName: &books.table, Key: attributes{"id": text("a")}}}},
			[]string{"write 1 is on the same item of ledger as write 0"},
		},
		"one key in two tables":  {[]dynamostore.Write{books.add("a", "1"), ledger{table: "other"}.add("a", "1")}, nil},
		"a number and its text":  {[]dynamostore.Write{{Delete: &types.Delete{TableName: &books.table, Key: attributes{"id": number("1")}}}, books.add("1", "1")}, nil},
		"binary keys":            {[]dynamostore.Write{{Delete: &types.Delete{TableName: &books.table, Key: attributes{"id": &types.AttributeValueMemberB{Value: []byte("1")}}}}, books.add("1", "1")}, nil},
		"puts without known key": {[]dynamostore.Write{books.open("a"), books.open("a")}, nil}, // for DynamoDB to refuse
		"an item of 400 KB":      {[]dynamostore.Write{sized("t", 400<<10)}, nil},
		"one more":               {[]dynamostore.Write{sized("t", 400<<10+1)}, []string{"write 0 puts an item of 409601 bytes into t"}},
		"3.6 MB":                 {numbered(9, func(i int) dynamostore.Write { return sized(fmt.Sprint("t", i), 400<<10) }), nil},
		"as much as there is room for": {
			append(numbered(9, func(i int) dynamostore.Write { return sized(fmt.Sprint("t", i), 400<<10) }), sized("last", (4<<20)-10*(400<<10))), nil,
		},
		"4 MB": {
			append(numbered(9, func(i int) dynamostore.Write { return sized(fmt.Sprint("t", i), 400<<10) }), sized("last", (4<<20)-10*(400<<10)+1)),
			[]string{"the items have 3784705 bytes, a transaction has room for 3784704"},
		},
		"all at once": {[]dynamostore.Write{{}, both, {Put: &types.Put{TableName: aws.String("t")}}}, []string{"write 0 has 0", "write 1 has 2", "write 2 on t has no key"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var enlisted storekit.Enlistment
			err := dynamostore.Enlist(storekit.WithEnlistment(t.Context(), &enlisted), test.writes...)
			if (err == nil) != (len(test.want) == 0) || err != nil && !errors.Is(err, persistence.ErrInvalid) {
				t.Errorf("got %v", err)
			}
			for _, part := range test.want {
				if err != nil && !strings.Contains(err.Error(), part) {
					t.Errorf("got %v, want %q in it", err, part)
				}
			}
			if n := len(enlisted.Close()); err != nil && n != 0 || err == nil && n != len(test.writes) {
				t.Errorf("%d writes are enlisted", n)
			}
		})
	}
}

// Writes are judged with those before them, whoever enlisted them.
func TestParallelPartsOfARunEnlistTogether(t *testing.T) {
	books := ledger{table: "ledger"}
	var (
		enlisted storekit.Enlistment
		parts    sync.WaitGroup
	)
	ctx := storekit.WithEnlistment(t.Context(), &enlisted)
	refused := make(chan error, 200)
	for i := range 200 {
		parts.Go(func() {
			if err := dynamostore.Enlist(ctx, books.add(fmt.Sprint(i%150), "1")); err != nil {
				refused <- err
			}
		})
	}
	parts.Wait()
	if n := len(enlisted.Close()); n != 99 || len(refused) != 101 {
		t.Errorf("%d writes were enlisted and %d refused", n, len(refused))
	}
}

// A size that is reckoned is never more than DynamoDB counts, so nothing is refused
// that it would take; without numbers it is the same.
func TestItemsOfTheApplicationAreReckonedAsDynamoDBCountsThem(t *testing.T) {
	for name, test := range map[string]struct {
		value types.AttributeValue
		less  int // that may be reckoned too little
	}{
		"text":             {text("漢字"), 0},
		"binary":           {&types.AttributeValueMemberB{Value: make([]byte, 77)}, 0},
		"yes":              {&types.AttributeValueMemberBOOL{Value: true}, 0},
		"null":             {&types.AttributeValueMemberNULL{Value: true}, 0},
		"texts":            {&types.AttributeValueMemberSS{Value: []string{"a", "bc"}}, 0},
		"binaries":         {&types.AttributeValueMemberBS{Value: [][]byte{{1}, {2, 3}}}, 0},
		"list":             {&types.AttributeValueMemberL{Value: []types.AttributeValue{text("a"), text("bc")}}, 0},
		"empty list":       {&types.AttributeValueMemberL{}, 0},
		"map":              {&types.AttributeValueMemberM{Value: attributes{"name": text("a"), "é": text("bc")}}, 0},
		"zero":             {number("0"), 0},
		"one":              {number("1"), 0},
		"a hundred":        {number("100"), 0},
		"three digits":     {number("123"), 0},
		"digits astride":   {number("12.345"), 0},
		"digits unaligned": {number("1234.5"), 0},
		"uneven exponent":  {number("12e1"), 1},
		"negative":         {number("-12"), 1},
		"exponent":         {number("+1.20e-7"), 1},
		"a small fraction": {number("0.00012"), 1},
		"38 digits":        {number(strings.Repeat("7", 38)), 0},
		"numbers":          {&types.AttributeValueMemberNS{Value: []string{"1", "-2"}}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			_, store := newStore(t)
			books := newLedger(t, store.client, "ledger")
			item := attributes{"id": text("x"), "value": test.value}
			if err := dynamostore.Apply(t.Context(), store.client, dynamostore.Write{Put: &types.Put{TableName: &books.table, Item: item}}); err != nil {
				t.Fatal(err)
			}
			store.config.Table = books.table
			if reckoned, counted := dynamostore.SizeOfItem(item), tableSize(t, store); reckoned > counted || reckoned < counted-test.less {
				t.Errorf("%d bytes reckoned, DynamoDB counts %d", reckoned, counted)
			}
		})
	}
}

// Outside a guarded call a write is applied as one of several, or alone.
func TestWritesCanBeAppliedByThemselves(t *testing.T) {
	repeatable := func(w dynamostore.Write) dynamostore.Write {
		w.Repeatable = true
		return w
	}
	books := ledger{table: "ledger"}
	missing := dynamostore.Write{Delete: &types.Delete{TableName: &books.table, Key: attributes{"id": text("a")}, ConditionExpression: aws.String("attribute_exists(id)")}}
	check := dynamostore.Write{ConditionCheck: &types.ConditionCheck{TableName: &books.table, Key: attributes{"id": text("a")}, ConditionExpression: aws.String("attribute_not_exists(id)")}}
	garbled := repeatable(books.add("a", "1"))
	garbled.Update.UpdateExpression = aws.String("ADD")
	for name, test := range map[string]struct {
		writes []dynamostore.Write
		sent   string
		is     error
	}{
		"two":                 {[]dynamostore.Write{repeatable(books.open("a")), repeatable(books.open("b"))}, "TransactWriteItems", nil},
		"one":                 {[]dynamostore.Write{books.open("a")}, "TransactWriteItems", nil},
		"one check":           {[]dynamostore.Write{repeatable(check)}, "TransactWriteItems", nil},
		"a repeatable put":    {[]dynamostore.Write{repeatable(books.open("a"))}, "PutItem", nil},
		"a repeatable update": {[]dynamostore.Write{repeatable(books.add("a", "1"))}, "UpdateItem", nil},
		"a repeatable delete": {[]dynamostore.Write{repeatable(missing)}, "DeleteItem", dynamostore.ErrCondition},
		"no expression":       {[]dynamostore.Write{garbled}, "UpdateItem", persistence.ErrInvalid},
		"a refused one":       {[]dynamostore.Write{books.open("b"), missing}, "TransactWriteItems", dynamostore.ErrCondition},
		"no action":           {[]dynamostore.Write{{}}, "", persistence.ErrInvalid},
		"none":                {nil, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			db, store, _ := newBank(t, dynamostore.Config{})
			err := dynamostore.Apply(t.Context(), store.client, test.writes...)
			if (err == nil) != (test.is == nil) || !errors.Is(err, test.is) {
				t.Errorf("got %v, want %v", err, test.is)
			}
			if refused, ok := errors.AsType[*persistence.RefusedError](err); errors.Is(err, dynamostore.ErrCondition) && (!ok || refused.Index != len(test.writes)-1) {
				t.Errorf("got %v", err)
			}
			sent := ""
			for _, r := range db.Requests() {
				sent += r.Operation
			}
			if sent != test.sent {
				t.Errorf("sent %s, want %s", sent, test.sent)
			}
		})
	}
}
