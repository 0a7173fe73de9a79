package simulation

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/idempotent/saga"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/rows"
)

// terms are how an operation makes its transfers.
type terms struct {
	way way
	// optimistic transfers read the balances and write new ones, if the versions are
	// still those that were read. Others add to the balances, if there is enough.
	optimistic bool
	// forGood says that who can't pay is refused for good.
	forGood bool
	// declines is the probability that a step fails for good, or what comes after it.
	declines float64
}

// way is what the writes of a transfer commit with.
type way int

const (
	// withResult is with the record of a run that is over.
	withResult way = iota
	// withStep is with the record of a step. Another step comes after it, and the
	// transfer is undone if the call then fails for good.
	withStep
	// atOnce is with the only record that there is.
	atOnce
	// oldAndNew is a deployment under way: in some processes it is at once, and in
	// others it is with the record of the run.
	oldAndNew
)

// The steps of transfers that have any.
const (
	transferStep = "transfer"
	notifyStep   = "notify"
)

// transfer decides what is different about transfers: there are more of them, and
// fewer calls for each. Money is scarce.
func (s *scenario) transfer(dice *rand.Rand) {
	s.clients, s.requests = 3+dice.IntN(3), 3+dice.IntN(3)
	for n := range 2 + dice.IntN(3) {
		s.accounts = append(s.accounts, account{id: fmt.Sprint("account-", n+1), balance: 100 + dice.IntN(300), version: 1})
	}
	for at := range s.operations {
		op := &s.operations[at]
		op.terms = terms{
			way:        pick(dice, withResult, withStep, withStep, atOnce, oldAndNew),
			optimistic: dice.IntN(3) == 0,
			forGood:    dice.IntN(2) == 0,
			declines:   pick(dice, 0.1, 0.3, 0.6),
		}
		if op.terms.way == withStep {
			op.config.Steps = saga.Steps(transferring, notifying)
		}
		op.orders = newOrders(len(op.orders) + 1 + dice.IntN(2))
		for n := range op.orders {
			o, from := &op.orders[n], dice.IntN(len(s.accounts))
			to := (from + 1 + dice.IntN(len(s.accounts)-1)) % len(s.accounts)
			o.From, o.To, o.Amount = s.accounts[from].id, s.accounts[to].id, 20+dice.IntN(130)
		}
		if dice.IntN(4) == 0 {
			op.orders = ofTenants(op.orders)
		}
	}
}

// transfer is the function of transfers. It pays no heed to its context, nor to its
// lease: what comes too late is for the store to refuse.
func (w *world) transfer(ctx context.Context, o order) (receipt, error) {
	i := invocationOf(ctx)
	limit, _ := ctx.Deadline()
	r := w.open(i, limit)
	defer w.close(r)
	how := i.fate()
	if i.operation.terms.way == withStep {
		return r.transferInSteps(ctx, o, how)
	}
	if err := r.move(ctx, o.movement(), r.refuse(o)); err != nil {
		return receipt{}, err
	}
	return r.finish(how)
}

// The steps of transfers, and what undoes one: also in an invocation whose function does not
// come to it.
var (
	transferring = saga.NewStep(saga.Spec[receipt]{Name: transferStep, Compensate: undoTransfer})
	notifying    = saga.NewStep(saga.Spec[receipt]{Name: notifyStep})
)

func undoTransfer(ctx context.Context, _ saga.Call, done receipt) error {
	i := invocationOf(ctx)
	return (&run{id: done.Run, by: i}).undo(ctx, i.order.movement().back())
}

// transferInSteps ends as it is destined to in one of its steps, or after them.
func (r *run) transferInSteps(ctx context.Context, o order, how end) (receipt, error) {
	if r.by.world.unlucky(r.by.dice, r.by.operation.terms.declines) {
		how = failsForGood
	}
	where := pick(r.by.dice, transferStep, notifyStep, "")
	finish := func(here string) (receipt, error) {
		if here == where {
			return r.finish(how)
		}
		return r.finish(succeeds)
	}
	_, err := transferring.RunFor(ctx, o, func(ctx context.Context, _ saga.Call) (receipt, error) {
		if err := r.move(ctx, o.movement(), r.refuse(o)); err != nil {
			return receipt{}, err
		}
		return finish(transferStep)
	})
	if err != nil {
		return receipt{}, err
	}
	_, err = notifying.Run(ctx, func(context.Context, saga.Call) (receipt, error) {
		r.by.world.sleep(r.by.work())
		r.by.point("while notifying")
		return finish(notifyStep)
	})
	if err != nil {
		return receipt{}, err
	}
	return finish("")
}

// refuse is what it means that the account can't pay.
func (r *run) refuse(o order) error {
	if r.by.operation.terms.forGood {
		return r.declined()
	}
	return &shortError{o.From, o.Amount}
}

// undo moves the money back, which may fail too: also because it is spent.
func (r *run) undo(ctx context.Context, m movement) error {
	if i := r.by; i.world.unlucky(i.dice, i.world.failures/2) {
		return errTryAgain
	}
	return r.move(ctx, m, &shortError{m.from, m.amount})
}

// move enlists the writes that move money, and takes its time before and after. They
// are refused with the error where there is too little.
func (r *run) move(ctx context.Context, m movement, refusal error) error {
	i := r.by
	writes, err := i.additions(m, refusal), error(nil)
	if i.operation.terms.optimistic {
		writes, err = i.replacements(ctx, m, refusal)
	}
	if err != nil {
		return err
	}
	i.world.sleep(i.work())
	i.point("before enlisting")
	if err := dynamostore.Enlist(ctx, writes...); err != nil {
		return err
	}
	i.world.say(i.name, "run %d enlists %v", r.id, m.change())
	i.world.sleep(i.work())
	i.point("after enlisting")
	return nil
}

// additions add to the balances, if there is enough.
func (i *invocation) additions(m movement, refusal error) []dynamostore.Write {
	debit, credit := add(m.from, -m.amount), add(m.to, m.amount)
	debit.Update.ConditionExpression = aws.String("balance >= :needed")
	debit.Update.ExpressionAttributeValues[":needed"] = number(m.amount)
	debit.OnRefused = func(there map[string]types.AttributeValue) error {
		i.world.count(short)
		if there != nil && accountOf(there).balance >= m.amount {
			i.world.broken(Truthful, "%s is refused %d, and has met %d", i.name, m.amount, accountOf(there).balance)
		}
		return refusal
	}
	return []dynamostore.Write{debit, credit}
}

func add(id string, amount int) dynamostore.Write {
	return dynamostore.Write{Update: &types.Update{
		TableName:                 aws.String(accountsTable),
		Key:                       key(id),
		UpdateExpression:          aws.String("ADD balance :change, version :one"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":change": number(amount), ":one": number(1)},
	}}
}

// replacements write the balances anew, if they are still what they were.
func (i *invocation) replacements(ctx context.Context, m movement, refusal error) ([]dynamostore.Write, error) {
	from, err := i.look(ctx, m.from)
	if err != nil {
		return nil, err
	}
	to, err := i.look(ctx, m.to)
	if err != nil {
		return nil, err
	}
	if from.balance < m.amount {
		i.world.count(short)
		return nil, refusal
	}
	return []dynamostore.Write{i.replace(from, from.balance-m.amount), i.replace(to, to.balance+m.amount)}, nil
}

// look reads an account, with the function's own client.
func (i *invocation) look(ctx context.Context, id string) (account, error) {
	found, err := i.process.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: aws.String(accountsTable), Key: key(id)})
	if err != nil {
		return account{}, err
	}
	return accountOf(found.Item), nil
}

// replace writes a balance that was reckoned from what was seen.
func (i *invocation) replace(seen account, balance int) dynamostore.Write {
	write := rows.Update{
		Table:  accountsTable,
		Key:    key(seen.id),
		Set:    []string{"balance = :balance"},
		Values: map[string]types.AttributeValue{":balance": number(balance)},
	}.IfVersion("version", int64(seen.version)).Write()
	because := write.OnRefused
	write.OnRefused = func(there map[string]types.AttributeValue) error {
		i.world.count(stale)
		if there != nil && accountOf(there).version == seen.version {
			i.world.broken(Truthful, "%s is refused version %d, and has met it", i.name, seen.version)
		}
		return because(there)
	}
	return write
}

func key(id string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: id}}
}
