package rows_test

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/internal/endpoint"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/rows"
)

type attributes = map[string]types.AttributeValue

func text(s string) types.AttributeValue   { return &types.AttributeValueMemberS{Value: s} }
func number(n string) types.AttributeValue { return &types.AttributeValueMemberN{Value: n} }

// shop is the table of an application, with a key of two attributes that are
// reserved words.
type shop struct {
	*dynamodb.Client
	t     testing.TB
	table string
}

func newShop(t testing.TB, client *dynamodb.Client, table string) shop {
	t.Helper()
	input := &dynamodb.CreateTableInput{TableName: &table, BillingMode: types.BillingModePayPerRequest}
	for name, kind := range map[string]types.KeyType{"key": types.KeyTypeHash, "name": types.KeyTypeRange} {
		input.AttributeDefinitions = append(input.AttributeDefinitions, types.AttributeDefinition{AttributeName: &name, AttributeType: "S"})
		input.KeySchema = append(input.KeySchema, types.KeySchemaElement{AttributeName: &name, KeyType: kind})
	}
	slices.SortFunc(input.KeySchema, func(a, b types.KeySchemaElement) int { return strings.Compare(string(a.KeyType), string(b.KeyType)) })
	if _, err := client.CreateTable(t.Context(), input); err != nil {
		t.Fatal(err)
	}
	return shop{client, t, table}
}

// local is a shop in an embedded database, whose client repeats at once.
func local(t testing.TB) (*dynamotest.DB, shop) {
	t.Helper()
	db := dynamotest.New(t)
	s := newShop(t, db.Client(func(o *dynamodb.Options) {
		o.Retryer = retry.NewStandard(func(o *retry.StandardOptions) {
			o.RateLimiter = ratelimit.None
			o.Backoff = retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return 0, nil })
		})
	}), "shop")
	db.ResetLog()
	return db, s
}

func key(id string) attributes { return attributes{"key": text(id), "name": text("row")} }

func (s shop) apply(writes ...dynamostore.Write) error {
	return dynamostore.Apply(s.t.Context(), s, writes...)
}

func (s shop) must(writes ...dynamostore.Write) {
	s.t.Helper()
	if err := s.apply(writes...); err != nil {
		s.t.Fatal(err)
	}
}

// row is a row as text, "a=1 b=x", without its key; "none" for no row.
func (s shop) row(id string) string {
	s.t.Helper()
	out, err := s.GetItem(s.t.Context(), &dynamodb.GetItemInput{TableName: &s.table, Key: key(id), ConsistentRead: aws.Bool(true)})
	if err != nil {
		s.t.Fatal(err)
	}
	if len(out.Item) == 0 {
		return "none"
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(out.Item)) {
		switch v := out.Item[name].(type) {
		case *types.AttributeValueMemberN:
			parts = append(parts, name+"="+v.Value)
		case *types.AttributeValueMemberSS:
			parts = append(parts, name+"="+strings.Join(slices.Sorted(slices.Values(v.Value)), ","))
		case *types.AttributeValueMemberS:
			if name != "key" && name != "name" {
				parts = append(parts, name+"="+v.Value)
			}
		}
	}
	return strings.Join(parts, " ")
}

func (s shop) email(address, holder string) rows.Unique {
	return rows.Unique{Table: s.table, Key: key(address), Holder: holder}
}

// take changes the stock of an article.
func (s shop) take(id, n string) rows.Update {
	return rows.Update{
		Table: s.table, Key: key(id),
		Set: []string{"stock = stock - :n"}, Condition: "stock >= :n OR backorder = :yes",
		Values: attributes{":n": number(n), ":yes": text("yes")},
		OnRefused: func(there map[string]types.AttributeValue) error {
			return fmt.Errorf("%w: %d attributes", errSoldOut, len(there))
		},
	}
}

var errSoldOut = errors.New("sold out")

// story is what one does to one's rows, by single writes and in a transaction: do
// tells what is done second, to rows that were made first.
type story struct {
	name  string
	first func(s shop)
	do    func(s shop) []dynamostore.Write
	is    error  // of the refusal; nil where it is carried out
	row   string // "a" afterwards
}

var stories = []story{
	{"a value that nobody has", func(shop) {}, func(s shop) []dynamostore.Write { return []dynamostore.Write{s.email("a", "ann").Take()} }, nil, "holder=ann"},
	{"a value of one's own", func(s shop) { s.must(s.email("a", "ann").Take()) }, func(s shop) []dynamostore.Write { return []dynamostore.Write{s.email("a", "ann").Take()} }, nil, "holder=ann"},
	{"a value of somebody else", func(s shop) { s.must(s.email("a", "bob").Take()) }, func(s shop) []dynamostore.Write { return []dynamostore.Write{s.email("a", "ann").Take()} }, rows.ErrNotUnique, "holder=bob"},
	{"release", func(s shop) { s.must(s.email("a", "ann").Take()) }, func(s shop) []dynamostore.Write { return []dynamostore.Write{s.email("a", "ann").Release()} }, nil, "none"},
	{"release of nothing", func(shop) {}, func(s shop) []dynamostore.Write { return []dynamostore.Write{s.email("a", "ann").Release()} }, nil, "none"},
	{"release of somebody else's", func(s shop) { s.must(s.email("a", "bob").Take()) }, func(s shop) []dynamostore.Write { return []dynamostore.Write{s.email("a", "ann").Release()} }, rows.ErrNotUnique, "holder=bob"},
	{"change to a free one", func(s shop) { s.must(s.email("b", "ann").Take()) }, func(s shop) []dynamostore.Write { return s.email("b", "ann").ChangeTo(key("a")) }, nil, "holder=ann"},
	{"change to a taken one", func(s shop) { s.must(s.email("a", "ann").Take()); s.must(s.email("b", "bob").Take()) }, func(s shop) []dynamostore.Write { return s.email("a", "ann").ChangeTo(key("b")) }, rows.ErrNotUnique, "holder=ann"},
	{"change to the same", func(s shop) { s.must(s.email("a", "ann").Take()) }, func(s shop) []dynamostore.Write { return s.email("a", "ann").ChangeTo(key("a")) }, nil, "holder=ann"},

	{"a value for nobody", func(shop) {}, func(s shop) []dynamostore.Write { return []dynamostore.Write{s.email("a", "").Take()} }, persistence.ErrInvalid, "none"},
	{"release by nobody", func(s shop) { s.set("a", "holder", text("")) }, func(s shop) []dynamostore.Write { return []dynamostore.Write{s.email("a", "").Release()} }, persistence.ErrInvalid, "holder="},
	{"change by nobody", func(shop) {}, func(s shop) []dynamostore.Write { return s.email("b", "").ChangeTo(key("a")) }, persistence.ErrInvalid, "none"},

	{"a new row with a version", func(shop) {}, func(s shop) []dynamostore.Write { return s.versioned("a", 0) }, nil, "data=new version=1"},
	{"the version that was seen", func(s shop) { s.put("a", "version", "7") }, func(s shop) []dynamostore.Write { return s.versioned("a", 7) }, nil, "data=new version=8"},
	{"another version", func(s shop) { s.put("a", "version", "8") }, func(s shop) []dynamostore.Write { return s.versioned("a", 7) }, rows.ErrVersionConflict, "version=8"},
	{"a version where none was seen", func(s shop) { s.put("a", "version", "1") }, func(s shop) []dynamostore.Write { return s.versioned("a", 0) }, rows.ErrVersionConflict, "version=1"},
	{"a row that is gone", func(shop) {}, func(s shop) []dynamostore.Write { return s.versioned("a", 7) }, rows.ErrVersionConflict, "none"},
	{"a row without a version", func(s shop) { s.put("a", "stock", "3") }, func(s shop) []dynamostore.Write { return s.versioned("a", 0) }, nil, "data=new stock=3 version=1"},

	{"a version counted from 0", func(s shop) { s.put("a", "version", "0") }, func(s shop) []dynamostore.Write { return s.versioned("a", 0) }, nil, "data=new version=1"},
	{"a version that is text", func(s shop) { s.set("a", "version", text("v1")) }, func(s shop) []dynamostore.Write { return s.versioned("a", 0) }, rows.ErrNoVersion, "version=v1"},
	{"a version that is text where one was seen", func(s shop) { s.set("a", "version", text("7")) }, func(s shop) []dynamostore.Write { return s.versioned("a", 7) }, rows.ErrNoVersion, "version=7"},
	{"a version with a fraction", func(s shop) { s.put("a", "version", "7.5") }, func(s shop) []dynamostore.Write { return s.versioned("a", 7) }, rows.ErrNoVersion, "version=7.5"},
	{"a version beyond 64 bits", func(s shop) { s.put("a", "version", "10000000000000000000000") }, func(s shop) []dynamostore.Write { return s.versioned("a", 0) }, rows.ErrNoVersion, "version=10000000000000000000000"},
	{"the last version", func(s shop) { s.put("a", "version", "9223372036854775806") }, func(s shop) []dynamostore.Write { return s.versioned("a", math.MaxInt64-1) }, nil, "data=new version=9223372036854775807"},
	{"the version after the last", func(s shop) { s.put("a", "version", "9223372036854775807") }, func(s shop) []dynamostore.Write { return s.versioned("a", math.MaxInt64) }, persistence.ErrInvalid, "version=9223372036854775807"},

	{"an ID not seen yet", func(shop) {}, func(s shop) []dynamostore.Write { return s.processed("a", "x") }, nil, "data=new processed=x"},
	{"another ID", func(s shop) { s.must(s.processed("a", "y")...) }, func(s shop) []dynamostore.Write { return s.processed("a", "x") }, nil, "data=new processed=x,y"},
	{"the same ID", func(s shop) { s.must(s.processed("a", "x")...) }, func(s shop) []dynamostore.Write { return s.processed("a", "x") }, rows.ErrProcessed, "data=new processed=x"},

	{"an empty ID", func(shop) {}, func(s shop) []dynamostore.Write { return s.processed("a", "") }, persistence.ErrInvalid, "none"},

	{"a row not there yet", func(shop) {}, func(s shop) []dynamostore.Write { return s.once("a") }, nil, "count=0 status=new"},
	{"a row that is there", func(s shop) { s.must(s.once("a")...); s.put("a", "count", "9") }, func(s shop) []dynamostore.Write { return s.once("a") }, nil, "count=9 status=new"},
	{"a row with fewer attributes", func(s shop) { s.put("a", "count", "9") }, func(s shop) []dynamostore.Write { return s.once("a") }, nil, "count=9 status=new"},
	{"a row of nothing but its key", func(shop) {}, func(s shop) []dynamostore.Write { return []dynamostore.Write{rows.InsertOnce(s.table, key("a"), nil)} }, persistence.ErrInvalid, "none"},

	{"a condition of one's own", func(s shop) { s.put("a", "stock", "3") }, func(s shop) []dynamostore.Write { return []dynamostore.Write{s.take("a", "3").Write()} }, nil, "stock=0"},
	{"that fails", func(s shop) { s.put("a", "stock", "3") }, func(s shop) []dynamostore.Write { return []dynamostore.Write{s.take("a", "4").Write()} }, errSoldOut, "stock=3"},
	{"all of it together", func(s shop) { s.put("a", "stock", "3"); s.put("a", "version", "5") }, func(s shop) []dynamostore.Write {
		return []dynamostore.Write{s.take("a", "2").IfVersion("version", 5).OncePer("processed", "x").Write()}
	}, nil, "processed=x stock=1 version=6"},
	{"all of it, one's own fails", func(s shop) { s.put("a", "stock", "1"); s.put("a", "version", "5") }, func(s shop) []dynamostore.Write {
		return []dynamostore.Write{s.take("a", "2").IfVersion("version", 5).OncePer("processed", "x").Write()}
	}, errSoldOut, "stock=1 version=5"},
	{"all of it, the version fails", func(s shop) { s.put("a", "stock", "3"); s.put("a", "version", "6") }, func(s shop) []dynamostore.Write {
		return []dynamostore.Write{s.take("a", "2").IfVersion("version", 5).OncePer("processed", "x").Write()}
	}, rows.ErrVersionConflict, "stock=3 version=6"},
	{"all of it, counted from 0", func(s shop) { s.put("a", "stock", "3"); s.put("a", "version", "0") }, func(s shop) []dynamostore.Write {
		return []dynamostore.Write{s.take("a", "2").IfVersion("version", 0).OncePer("processed", "x").Write()}
	}, nil, "processed=x stock=1 version=1"},
	{"all of it, counted from 0, one's own fails", func(s shop) { s.put("a", "stock", "1"); s.put("a", "version", "0") }, func(s shop) []dynamostore.Write {
		return []dynamostore.Write{s.take("a", "2").IfVersion("version", 0).OncePer("processed", "x").Write()}
	}, errSoldOut, "stock=1 version=0"},
	{"all of it, the version is text", func(s shop) { s.put("a", "stock", "3"); s.set("a", "version", text("v1")) }, func(s shop) []dynamostore.Write {
		return []dynamostore.Write{s.take("a", "2").IfVersion("version", 0).OncePer("processed", "x").Write()}
	}, rows.ErrNoVersion, "stock=3 version=v1"},
	{"all of it, two versions", func(s shop) { s.put("a", "stock", "3") }, func(s shop) []dynamostore.Write {
		return []dynamostore.Write{s.take("a", "2").IfVersion("version", 0).IfVersion("revision", 0).Write()}
	}, persistence.ErrInvalid, "stock=3"},
	{"all of it, two IDs", func(s shop) { s.put("a", "stock", "3") }, func(s shop) []dynamostore.Write {
		return []dynamostore.Write{s.take("a", "2").OncePer("processed", "x").OncePer("processed", "y").Write()}
	}, persistence.ErrInvalid, "stock=3"},
	{"all of it in one attribute", func(s shop) { s.put("a", "stock", "3") }, func(s shop) []dynamostore.Write {
		return []dynamostore.Write{s.take("a", "2").IfVersion("both", 0).OncePer("both", "x").Write()}
	}, persistence.ErrInvalid, "stock=3"},
	{"all of it, done before", func(s shop) {
		s.put("a", "stock", "3")
		s.must(s.take("a", "2").IfVersion("version", 0).OncePer("processed", "x").Write())
	}, func(s shop) []dynamostore.Write {
		return []dynamostore.Write{s.take("a", "2").IfVersion("version", 0).OncePer("processed", "x").Write()}
	}, rows.ErrProcessed, "processed=x stock=1 version=1"},
	{"every section", func(s shop) { s.put("a", "former", "1"); s.must(s.processed("a", "x")...) }, func(s shop) []dynamostore.Write {
		return []dynamostore.Write{rows.Update{
			Table: s.table, Key: key("a"), Set: []string{"#d = :d"}, Remove: []string{"former"}, Add: []string{"n :n"}, Delete: []string{"#p :x"},
			Names: map[string]string{"#d": "data", "#p": "processed"}, Values: attributes{":d": text("set"), ":n": number("5"), ":x": &types.AttributeValueMemberSS{Value: []string{"x"}}},
		}.IfVersion("version", 0).Write()}
	}, nil, "data=set n=5 version=1"},
}

func (s shop) versioned(id string, seen int64) []dynamostore.Write {
	return []dynamostore.Write{s.change(id).IfVersion("version", seen).Write()}
}

func (s shop) processed(id, processing string) []dynamostore.Write {
	return []dynamostore.Write{s.change(id).OncePer("processed", processing).Write()}
}

func (s shop) change(id string) rows.Update {
	return rows.Update{Table: s.table, Key: key(id), Set: []string{"#d = :new"}, Names: map[string]string{"#d": "data"}, Values: attributes{":new": text("new")}}
}

func (s shop) once(id string) []dynamostore.Write {
	return []dynamostore.Write{rows.InsertOnce(s.table, key(id), attributes{"status": text("new"), "count": number("0")})}
}

// put sets a number in a row.
func (s shop) put(id, attribute, n string) {
	s.t.Helper()
	s.set(id, attribute, number(n))
}

// set sets an attribute of a row.
func (s shop) set(id, attribute string, value types.AttributeValue) {
	s.t.Helper()
	s.must(dynamostore.Write{Update: &types.Update{
		TableName: &s.table, Key: key(id), UpdateExpression: aws.String("SET #a = :n"),
		ExpressionAttributeNames: map[string]string{"#a": attribute}, ExpressionAttributeValues: attributes{":n": value},
	}})
}

// tell runs a story on a new shop, with more writes beside its own.
func (st story) tell(t *testing.T, s shop, more ...dynamostore.Write) {
	t.Helper()
	st.first(s)
	err := s.apply(append(more, st.do(s)...)...)
	if (err == nil) != (st.is == nil) || !errors.Is(err, st.is) {
		t.Errorf("got %v, want %v", err, st.is)
	}
	if got := s.row("a"); got != st.row {
		t.Errorf("the row is %s, want %s", got, st.row)
	}
}

func TestRowsByThemselves(t *testing.T) {
	for _, st := range stories {
		t.Run(st.name, func(t *testing.T) {
			_, s := local(t)
			st.tell(t, s)
		})
	}
}

func TestRowsInATransaction(t *testing.T) {
	for _, st := range stories {
		t.Run(st.name, func(t *testing.T) {
			_, s := local(t)
			st.tell(t, s, s.once("beside")...)
			if beside := s.row("beside"); (beside == "none") != (st.is != nil) {
				t.Errorf("the row beside it is %s", beside)
			}
		})
	}
}

// A lost reply makes the SDK send a write again. None takes its own effect for
// somebody else's; and a refusal of the later try is a fault, because the earlier one may
// be applied yet. Nothing was written then, and the same call again says what is in the way.
func TestRowsRecogniseTheirOwnEffect(t *testing.T) {
	for _, st := range stories {
		t.Run(st.name, func(t *testing.T) {
			db, s := local(t)
			st.first(s)
			requests := len(db.Requests())
			db.Inject(dynamotest.Fault{Request: requests + 1, Do: dynamotest.LoseReply()})
			err, want := s.apply(st.do(s)...), st.is
			if err != nil && !errors.Is(err, persistence.ErrInvalid) {
				fault, doubtful := errors.AsType[*persistence.Fault](err)
				if _, refused := errors.AsType[*persistence.RefusedError](err); !doubtful || refused || fault.Unwritten {
					t.Errorf("got %v (%+v), want a fault that promises nothing", err, fault)
				}
				if got := s.row("a"); got != st.row {
					t.Errorf("the row is %s, want %s", got, st.row)
				}
				if want == nil {
					want = rows.ErrProcessed // the one way to tell of one's own effect
				}
				err = s.apply(st.do(s)...)
			}
			if (err == nil) != (want == nil) || !errors.Is(err, want) {
				t.Errorf("got %v, want %v", err, want)
			}
			if got := s.row("a"); got != st.row {
				t.Errorf("the row is %s, want %s", got, st.row)
			}
		})
	}
}

// An endpoint that gives no items leaves the error less well informed, and of the
// same kind where no other condition comes into question.
func TestRowsWithoutItemsInFailedConditions(t *testing.T) {
	for _, st := range stories {
		if strings.HasPrefix(st.name, "all of it, ") {
			continue // which of several conditions has failed can't be known
		}
		if st.is == rows.ErrNoVersion {
			st.is = rows.ErrVersionConflict // what there is instead can't be known
		}
		t.Run(st.name, func(t *testing.T) {
			db, s := local(t)
			db.Inject(dynamotest.Fault{Times: dynamotest.Always, Do: dynamotest.OmitItem()})
			st.tell(t, s)
		})
	}
}

func TestRowsAtTheExternalEndpoint(t *testing.T) {
	client, set := endpoint.Client()
	if !set {
		t.Skip(endpoint.Variable + " is not set")
	}
	for i, st := range stories {
		t.Run(st.name, func(t *testing.T) {
			st.tell(t, newShop(t, client, fmt.Sprint("shop-", i, "-", time.Now().UnixNano())))
		})
	}
}

// An ID is looked for in a set only. Nothing else passes for "processed before", which
// most callers take for success, or for what the application's own condition means.
func TestProcessingIDsAreKeptInASetOnly(t *testing.T) {
	for name, there := range map[string]types.AttributeValue{
		"a text with the ID in it": text("payment-12"),
		"another text":             text("y"),
		"a number":                 number("1"),
		"a list with the ID":       &types.AttributeValueMemberL{Value: []types.AttributeValue{text("payment-1")}},
	} {
		for told, effects := range map[string][]dynamotest.Fault{"": nil, ", no items": {{Times: dynamotest.Always, Do: dynamotest.OmitItem()}}} {
			t.Run(name+told, func(t *testing.T) {
				db, s := local(t)
				s.put("a", "stock", "3")
				s.set("a", "processed", there)
				before := s.row("a")
				db.Inject(effects...)
				write := s.take("a", "1").OncePer("processed", "payment-1").Write()
				if err := s.apply(write); !errors.Is(err, persistence.ErrInvalid) {
					t.Errorf("by itself: %v", err)
				}
				err := s.apply(append(s.once("beside"), write)...)
				if refused, ok := errors.AsType[*dynamostore.ItemError](err); !ok || refused.Table != s.table {
					t.Errorf("in a transaction: %v", err)
				}
				if after := s.row("a"); after != before {
					t.Errorf("the row is %s, was %s", after, before)
				}
			})
		}
	}
}

// What a write costs by itself; a version takes a transaction.
func TestRequestsAndCapacityOfRows(t *testing.T) {
	_, sample := local(t)
	for name, test := range map[string]struct {
		writes []dynamostore.Write
		want   string
	}{
		"take":        {[]dynamostore.Write{sample.email("a", "ann").Take()}, "UpdateItem 1"},
		"release":     {[]dynamostore.Write{sample.email("a", "ann").Release()}, "DeleteItem 1"},
		"change":      {sample.email("a", "ann").ChangeTo(key("b")), "TransactWriteItems 4"},
		"version":     {sample.versioned("a", 0), "TransactWriteItems 2"},
		"once per ID": {sample.processed("a", "x"), "UpdateItem 1"},
		"insert once": {sample.once("a"), "UpdateItem 1"},
	} {
		t.Run(name, func(t *testing.T) {
			db, s := local(t)
			s.must(test.writes...)
			if r := db.Requests(); len(r) != 1 || fmt.Sprint(r[0].Operation, " ", r[0].Capacity.Write) != test.want {
				t.Errorf("sent %+v, want %s", r, test.want)
			}
		})
	}
}

// The errors say who, what and which version is in the way.
func TestErrorsSayWhatIsThere(t *testing.T) {
	_, s := local(t)
	s.must(s.email("a", "bob").Take())
	s.put("b", "version", "8")
	s.must(s.processed("c", "x")...)

	held, _ := errors.AsType[*rows.NotUniqueError](s.apply(s.email("a", "ann").Take()))
	if held == nil || held.Holder != "bob" || held.Table != "shop" || len(held.Item) != 3 || held.Error() != `rows: the value in shop is held by "bob"` {
		t.Errorf("got %v", held)
	}
	conflict, _ := errors.AsType[*rows.VersionConflictError](s.apply(s.versioned("b", 7)...))
	if conflict == nil || conflict.Seen != 7 || conflict.Found != 8 || len(conflict.Item) != 3 || conflict.Error() != "rows: the row of shop has version 8, not 7" {
		t.Errorf("got %v", conflict)
	}
	gone, _ := errors.AsType[*rows.VersionConflictError](s.apply(s.versioned("none", 7)...))
	if gone == nil || gone.Item != nil || gone.Error() != "rows: the row of shop does not have version 7" {
		t.Errorf("got %v", gone)
	}
	s.set("d", "version", text("v1"))
	other, _ := errors.AsType[*rows.NoVersionError](s.apply(s.versioned("d", 7)...))
	if other == nil || other.Attribute != "version" || len(other.Item) != 3 || other.Error() != `rows: the attribute "version" in the row of shop is no version` {
		t.Errorf("got %v", other)
	}
	processed, _ := errors.AsType[*rows.ProcessedError](s.apply(s.processed("c", "x")...))
	if processed == nil || processed.ID != "x" || len(processed.Item) != 4 || processed.Error() != "rows: the row of shop was updated for x before" {
		t.Errorf("got %v", processed)
	}
}

// What can never be right is refused before anything is sent, and says why.
func TestInvalidRowsSendNothing(t *testing.T) {
	_, sample := local(t)
	for want, writes := range map[string][]dynamostore.Write{
		"rows: the value has no holder":                         {sample.email("a", "").Take()},
		"rows: the processing ID is empty":                      sample.processed("a", ""),
		"rows: there is no version after the one that was seen": sample.versioned("a", math.MaxInt64),
		"rows: the processing ID is empty\nrows: there is no version after the one that was seen": {
			sample.change("a").IfVersion("version", math.MaxInt64).OncePer("processed", "").Write(),
		},
	} {
		db, s := local(t)
		err := s.apply(writes...)
		if !errors.Is(err, persistence.ErrInvalid) || !strings.HasSuffix(err.Error(), ": "+want) || len(db.Requests()) > 0 {
			t.Errorf("got %v after %d requests, want %s", err, len(db.Requests()), want)
		}
	}
}

// Helpers make a new update and leave the one they were given as it was.
func TestAnUpdateCanBeTheStartOfSeveral(t *testing.T) {
	_, s := local(t)
	base := s.change("a")
	base.Set = append(make([]string, 0, 10), base.Set...)
	first := base.IfVersion("version", 0)
	second, third := first.OncePer("processed", "x"), first.OncePer("processed", "y")
	for _, w := range []dynamostore.Write{base.Write(), third.Write(), base.Write()} {
		s.must(w)
	}
	var callers sync.WaitGroup
	for range 2 {
		callers.Go(func() { first.Write() }) // for the race detector
	}
	callers.Wait()
	if err := s.apply(second.Write()); !errors.Is(err, rows.ErrVersionConflict) {
		t.Errorf("got %v", err)
	}
	if got := s.row("a"); got != "data=new processed=y version=1" || len(base.Names) != 1 || len(base.Values) != 1 {
		t.Errorf("the row is %s, the update %+v", got, base)
	}
}

// Of callers that change one row at the same time nobody undoes what another did,
// and a value has one holder.
func TestRowsUnderConcurrency(t *testing.T) {
	_, s := local(t)
	s.put("a", "stock", "20")
	var (
		callers sync.WaitGroup
		holders sync.Map
	)
	for i := range 20 {
		callers.Go(func() {
			for {
				row, err := s.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &s.table, Key: key("a"), ConsistentRead: aws.Bool(true)})
				if err != nil {
					t.Error(err)
					return
				}
				var stock, version int64
				fmt.Sscan(row.Item["stock"].(*types.AttributeValueMemberN).Value, &stock)
				if seen, ok := row.Item["version"].(*types.AttributeValueMemberN); ok {
					fmt.Sscan(seen.Value, &version)
				}
				u := rows.Update{Table: s.table, Key: key("a"), Set: []string{"stock = :n"}, Values: attributes{":n": number(fmt.Sprint(stock - 1))}}
				if err := s.apply(u.IfVersion("version", version).Write()); err == nil {
					break
				} else if !errors.Is(err, rows.ErrVersionConflict) {
					t.Error(err)
					return
				}
			}
			if holder := fmt.Sprint(i); s.apply(s.email("e", holder).Take()) == nil {
				holders.Store(holder, true)
			}
		})
	}
	callers.Wait()
	if got := s.row("a"); got != "stock=0 version=20" {
		t.Errorf("the row is %s", got)
	}
	n := 0
	holders.Range(func(holder, _ any) bool { n++; return s.row("e") == "holder="+holder.(string) })
	if n != 1 {
		t.Errorf("%d holders of one value, which says %s", n, s.row("e"))
	}
}
