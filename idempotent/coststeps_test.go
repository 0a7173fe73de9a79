package idempotent_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/internal/lab"
	"github.com/ikkai-go/idempotency/idempotent/saga"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

// These tests hold the parts of docs/cost.md about steps and transactions to what
// happens.

var (
	withSteps   = idempotent.Config{Steps: saga.Steps(lab.Named[string]("a"), lab.Named[string]("b"), lab.Named[string]("c"))}
	once        = idempotent.Config{Steps: saga.Steps(onceStep)}
	reversible  = idempotent.Config{Steps: saga.Steps(undoableStep)}
	onlyEnlists = idempotent.Config{OnlyEnlists: true}
	lookFirst   = idempotent.Config{OnlyEnlists: true, ReadFirst: true}
)

// labKey is for the lab that a step is run in.
type labKey struct{}

// Steps of which more is declared than the name; their lab is the context's.
var (
	onceStep = saga.NewStep(saga.Spec[string]{
		Name: "a", AtMostOnce: true,
		Reconcile: func(ctx context.Context, _ saga.Call) (string, bool, error) {
			return ctx.Value(labKey{}).(*costLab).text(), true, nil
		},
	})
	undoableStep = saga.NewStep(saga.Spec[string]{
		Name: "a",
		Compensate: func(ctx context.Context, _ saga.Call, _ string) error {
			if ctx.Value(labKey{}).(*costLab).down {
				return errTryAgain
			}
			return nil
		},
	})
)

var stepPaths = map[string]costPath{
	"one step":                       {config: withSteps, does: steps("a")},
	"three steps":                    {config: withSteps, does: steps("a", "b", "c")},
	"two first steps at a time":      {config: withSteps, does: parallelSteps, together: 2},
	"a step that runs at most once":  {config: once, does: atMostOnce},
	"handler error after a step":     {config: withSteps, does: steps("a"), fails: errTryAgain},
	"resume, with one step to go":    {config: withSteps, does: fragileSteps, before: afterAFailure},
	"resume, with `ReadFirst`":       {config: idempotent.Config{Steps: withSteps.Steps, ReadFirst: true}, does: fragileSteps, before: afterAFailure},
	"interrupted, found to be done":  {config: once, does: atMostOnce, before: afterAFailure},
	"one step undone":                {config: reversible, does: undoable},
	"one step that can't be undone":  {config: reversible, does: undoable, before: func(l *costLab) { l.down = true }},
	"... and is undone at last":      {config: reversible, does: undoable, before: afterAFailure},
	"replay of a call with one step": {config: withSteps, does: steps("a"), before: finishedRun},
}

var transactionPaths = map[string]costPath{
	"completion with one write":                 {does: enlisting("x")},
	"completion with three writes":              {does: enlisting("x", "y", "z")},
	"... the reply to it lost":                  {does: enlisting("x"), before: loseTransaction},
	"... refused, an ordinary error":            {does: enlistingNew(nil), before: occupied},
	"... refused, a permanent failure":          {does: enlistingNew(idempotent.Permanent(errTryAgain)), before: occupied},
	"... after the lease was lost":              {does: enlisting("x"), before: overtaken, call: func(l *costLab) { l.here.resume() }},
	"a step with one write":                     {config: withSteps, does: enlistingStep},
	"replay":                                    {does: enlisting("x"), before: finishedRun},
	"`OnlyEnlists`, first run":                  {config: onlyEnlists, does: enlisting("x")},
	"`OnlyEnlists`, nothing enlisted":           {config: onlyEnlists},
	"`OnlyEnlists`, permanent failure":          {config: onlyEnlists, does: enlisting("x"), fails: idempotent.Permanent(errTryAgain)},
	"`OnlyEnlists`, handler error":              {config: onlyEnlists, does: enlisting("x"), fails: errTryAgain},
	"`OnlyEnlists`, refused, an ordinary error": {config: onlyEnlists, does: enlistingNew(errTryAgain), before: occupied},
	"`OnlyEnlists`, duplicate":                  {config: onlyEnlists, does: enlisting("x"), before: finishedRun},
	"... with `ReadFirst`, first run":           {config: lookFirst, does: enlisting("x")},
	"... with `ReadFirst`, duplicate":           {config: lookFirst, does: enlisting("x"), before: finishedRun},
	"`OnlyEnlists`, the reply to it lost":       {config: onlyEnlists, does: enlisting("x"), before: loseTransaction},
}

// step is a step with an output of as many bytes as the lab wants.
func (l *costLab) step(ctx context.Context, s *saga.Step[string]) error {
	_, err := s.Run(ctx, func(context.Context, saga.Call) (string, error) { return l.text(), nil })
	return err
}

func (l *costLab) text() string { return strings.Repeat("x", max(l.output-len(`""`), 0)) }

func steps(names ...string) func(context.Context, *costLab) error {
	return func(ctx context.Context, l *costLab) (err error) {
		for _, name := range names {
			err = cmp.Or(err, l.step(ctx, lab.Named[string](name)))
		}
		return err
	}
}

func parallelSteps(ctx context.Context, l *costLab) error {
	var group sync.WaitGroup
	errs := make([]error, 2)
	for i := range errs {
		group.Go(func() { errs[i] = steps([]string{"a", "b"}[i])(ctx, l) })
	}
	group.Wait()
	return errors.Join(errs...)
}

// fragileSteps needs a service for its second step.
func fragileSteps(ctx context.Context, l *costLab) error {
	if err := steps("a")(ctx, l); err != nil {
		return err
	}
	if l.down {
		return errTryAgain
	}
	return steps("b")(ctx, l)
}

// atMostOnce loses the answer while the service is down.
func atMostOnce(ctx context.Context, l *costLab) error {
	_, err := onceStep.Run(ctx, func(context.Context, saga.Call) (string, error) {
		if l.down {
			return "", errTryAgain
		}
		return l.text(), nil
	})
	return err
}

// undoable has to undo its step, which needs a service.
func undoable(ctx context.Context, l *costLab) error {
	err := l.step(ctx, undoableStep)
	return cmp.Or(err, idempotent.Permanent(errTryAgain))
}

// afterAFailure is a run in another environment, while the service was down.
func afterAFailure(l *costLab) {
	l.down = true
	l.there.invoke(costEvent)
	l.down = false
}

func (l *costLab) enlist(ctx context.Context, puts ...*types.Put) error {
	writes := make([]dynamostore.Write, len(puts))
	for i, put := range puts {
		writes[i] = dynamostore.Write{Put: put}
	}
	return dynamostore.Enlist(ctx, writes...)
}

// put writes an item of as many bytes as the lab wants.
func (l *costLab) put(id string) *types.Put {
	return &types.Put{TableName: aws.String(stock), Item: l.itemOf(id)}
}

// stock is the table of the application.
const stock = "stock"

func (l *costLab) itemOf(id string) map[string]types.AttributeValue {
	room := l.item - len("id") - len(id) - len("text")
	return map[string]types.AttributeValue{
		"id":   &types.AttributeValueMemberS{Value: id},
		"text": &types.AttributeValueMemberS{Value: strings.Repeat("x", max(room, 0))},
	}
}

func enlisting(ids ...string) func(context.Context, *costLab) error {
	return func(ctx context.Context, l *costLab) error {
		puts := make([]*types.Put, len(ids))
		for i, id := range ids {
			puts[i] = l.put(id)
		}
		return l.enlist(ctx, puts...)
	}
}

// enlistingNew wants its item to be a new one.
func enlistingNew(refused error) func(context.Context, *costLab) error {
	return func(ctx context.Context, l *costLab) error {
		put := l.put("x")
		put.ConditionExpression = aws.String("attribute_not_exists(id)")
		return dynamostore.Enlist(ctx, dynamostore.Write{Put: put, OnRefused: func(map[string]types.AttributeValue) error { return refused }})
	}
}

func enlistingStep(ctx context.Context, l *costLab) error {
	_, err := lab.Named[string]("a").Run(ctx, func(ctx context.Context, _ saga.Call) (string, error) {
		return l.text(), l.enlist(ctx, l.put("x"))
	})
	return err
}

// overtaken is a run that goes on after another environment has finished.
func overtaken(l *costLab) {
	l.here.begin(costEvent)
	time.Sleep(leaseOver)
	l.there.invoke(costEvent)
}

func occupied(l *costLab) {
	if err := l.db.Seed(stock, l.itemOf("x")); err != nil {
		l.t.Error(err)
	}
}

func loseTransaction(l *costLab) {
	l.db.Inject(dynamotest.Fault{Operation: "TransactWriteItems", Do: dynamotest.LoseReply()})
}

// newStepLab is a cost lab with a table of the application.
func newStepLab(t *testing.T, path costPath, output, item, result int) *costLab {
	t.Helper()
	l := newCostLab(t, dynamostore.Config{}, path, result)
	l.output, l.item = output, item
	l.sizes["F"] = float64(readCostPage(t).finishedSize("the defaults", result)) // unless it turns out to be another
	l.db.MustCreateTable(stock, "id")
	return l
}

// Requests and units of every path with steps or transactions, around the borders of
// the units: that of the record after its first step, that of the record when it is
// finished (it loses its lease and gets a result), and that of the application's items.
func TestRequestsAndCapacityOfStepsAndTransactions(t *testing.T) {
	page := readCostPage(t)
	empty := page.finishedSize("the defaults", 0)
	shrinks := page.processingSize("the defaults") - empty
	first := page.processingSize("the defaults") + page.firstEntry() + page.entry("finished", formula{"t": 1})
	for _, table := range []struct {
		title                   string
		paths                   map[string]costPath
		outputs, items, results []int
	}{
		{"path with steps", stepPaths, []int{2, 1024 - first, 1025 - first, 3000}, []int{0}, []int{0, shrinks, shrinks + 1, 3000}},
		{"path with a transaction", transactionPaths, []int{1024 - first, 1025 - first}, []int{100, 1024, 1025}, []int{0, 1024 - empty, 1025 - empty}},
	} {
		rows := page.table(table.title)
		if len(rows) != len(table.paths) {
			t.Errorf("the page has %d rows %q, the test %d", len(rows), table.title, len(table.paths))
		}
		for _, row := range rows {
			path, known := table.paths[row[0]]
			if !known {
				t.Errorf("nothing takes the path %q", row[0])
				continue
			}
			t.Run(row[0], func(t *testing.T) {
				for _, output := range table.outputs {
					for _, item := range table.items {
						for _, result := range table.results {
							synctest.Test(t, func(t *testing.T) {
								checkPath(newStepLab(t, path, output, item, result), path, row)
							})
						}
					}
				}
			})
		}
	}
}

// The outputs of all steps are in every later write.
func TestStepsAddUpAsTheModelSays(t *testing.T) {
	const many = 10
	path := costPath{config: idempotent.Config{Steps: saga.Steps(lab.FamilyNamed[string]("step/"))}, does: func(ctx context.Context, l *costLab) (err error) {
		for i := range many {
			err = cmp.Or(err, l.step(ctx, lab.Named[string](fmt.Sprint("step/", i))))
		}
		return err
	}}
	synctest.Test(t, func(t *testing.T) {
		l := newStepLab(t, path, 1024, 0, 0)
		taken := l.bill(path).used.Write
		completion := math.Ceil(l.sizes[withEntries(many)] / 1024)
		readCostPage(t).says("Ten steps whose outputs have a KB each take 2 + 3 + … + %v = %v write units, and the completion takes %v more",
			completion, taken-1-completion, completion)
	})
}

// Entries are as long as the page says, to the byte, whatever comes before them.
func TestEntriesHaveTheSizeThatTheModelSays(t *testing.T) {
	page := readCostPage(t)
	failure := errTryAgain.Error()
	failed := float64(len("errorString") + len(failure))
	for _, story := range []struct {
		path    costPath
		entries []string // of the page, in the order in which they are written
		sizes   formula
	}{
		{costPath{config: withSteps, does: steps("a", "b")}, []string{"finished", "finished"}, formula{"o": 50}},
		{costPath{config: withSteps, does: withInput}, []string{"finished, with an `Input`"}, formula{"o": 50}},
		{costPath{config: once, does: atMostOnce}, []string{"started, `AtMostOnce`", "finished"}, formula{"o": 50}},
		{
			costPath{config: reversible, does: undoable},
			[]string{"finished, with a `Compensate`", "the call is being undone", "undone"}, formula{"o": 50, "e": failed},
		},
		{
			costPath{config: reversible, does: undoable, before: func(l *costLab) { l.down = true }},
			[]string{"finished, with a `Compensate`", "the call is being undone", "could not be undone"}, formula{"o": 50, "e": failed},
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := newStepLab(t, story.path, 50, 0, 0)
			l.bill(story.path)
			story.sizes["t"] = 1
			want := l.sizes["P"] + float64(page.firstEntry())
			for i, entry := range story.entries {
				want += float64(page.entry(entry, story.sizes))
				if got := l.sizes[withEntries(i+1)]; got != want {
					t.Errorf("%v, after entry %d: %v bytes, the page says %v", story.entries, i+1, got, want)
				}
			}
		})
	}
	if rows := page.table("entry"); len(rows) != 7 {
		t.Errorf("the page has %d entries, the test knows 7", len(rows))
	}
}

// withInput is a step whose output depends on something.
func withInput(ctx context.Context, l *costLab) error {
	_, err := lab.Named[string]("a").RunFor(ctx, "any", func(context.Context, saga.Call) (string, error) { return l.text(), nil })
	return err
}
