package dynamotest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

const maxTransactionActions = 100

// transaction is an input made of several actions that stand or fall together.
type transaction interface{ actions() int }

// noReason is the reason of an action that did not stop its transaction.
var noReason = cancellationReason{Code: "None"}

func (r cancellationReason) stops() bool { return r.Code != noReason.Code }

type (
	transactWriteInput struct {
		Items                       []transactWriteAction `json:"TransactItems"`
		Token                       *string               `json:"ClientRequestToken"`
		ReturnConsumedCapacity      string
		ReturnItemCollectionMetrics string
	}
	transactWriteAction struct {
		Put            *putRequest
		Update         *updateRequest
		Delete         *deleteRequest
		ConditionCheck *checkRequest
	}
	transactOutput struct {
		Responses             []itemResponse                 `json:",omitempty"`
		ConsumedCapacity      []wireCapacity                 `json:",omitempty"`
		ItemCollectionMetrics map[string][]collectionMetrics `json:",omitempty"`
	}
	itemResponse struct {
		Item wireItem `json:",omitzero"`
	}
)

func (in *transactWriteInput) actions() int { return len(in.Items) }

func (in *transactWriteInput) subjects() []string {
	var tables []string
	for _, a := range in.Items {
		for _, m := range a.members() {
			for _, name := range m.request.subjects() {
				if !slices.Contains(tables, name) {
					tables = append(tables, name)
				}
			}
		}
	}
	return tables
}

// member is one member of an action that is set.
type member struct {
	name    string
	request interface {
		subjects() []string
		check(faults *constraints, prefix string)
		prepare(c *call) (write, error)
		named() []namedItem
	}
}

// members are the members of the action that are set: exactly one, if all is well.
func (a transactWriteAction) members() []member {
	var set []member
	if a.ConditionCheck != nil {
		set = append(set, member{"conditionCheck", a.ConditionCheck})
	}
	if a.Put != nil {
		set = append(set, member{"put", a.Put})
	}
	if a.Delete != nil {
		set = append(set, member{"delete", a.Delete})
	}
	if a.Update != nil {
		set = append(set, member{"update", a.Update})
	}
	return set
}

func (in *transactWriteInput) check() error {
	var faults constraints
	checkActions(&faults, len(in.Items), in.Items == nil)
	checkEnum(&faults, in.ReturnConsumedCapacity, "returnConsumedCapacity", "INDEXES", "TOTAL", "NONE")
	checkEnum(&faults, in.ReturnItemCollectionMetrics, "returnItemCollectionMetrics", "SIZE", "NONE")
	if in.Token != nil {
		faults.addIf(len(*in.Token) < 1, quoted(*in.Token), "clientRequestToken", "Member must have length greater than or equal to 1")
		faults.addIf(len(*in.Token) > 36, quoted(*in.Token), "clientRequestToken", "Member must have length less than or equal to 36")
	}
	for i, a := range in.Items {
		at := fmt.Sprintf("transactItems.%d.member.", i+1)
		for _, m := range a.members() {
			m.request.check(&faults, at+m.name+".")
		}
		faults.addIf(a.Update != nil && a.Update.Update == nil, "null", at+"update.updateExpression", "Member must not be null")
	}
	if err := faults.err(); err != nil {
		return err
	}
	for _, a := range in.Items {
		switch len(a.members()) {
		case 0:
			return invalid("Invalid Request: TransactWriteRequest should contain Delete or Put or Update request")
		case 1:
		default:
			return invalid("TransactItems can only contain one of Check, Put, Update or Delete")
		}
	}
	return nil
}

func checkActions(faults *constraints, count int, missing bool) {
	faults.addIf(missing, "null", "transactItems", "Member must not be null")
	faults.addIf(!missing && count < 1, "'[]'", "transactItems", "Member must have length greater than or equal to 1")
	faults.addIf(count > maxTransactionActions, "'[…]'", "transactItems", "Member must have length less than or equal to 100")
}

func (in *transactWriteInput) apply(c *call) (any, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	if seen, err := in.replay(c); seen != nil || err != nil {
		return seen, err
	}
	writes, reasons, err := in.prepareAll(c)
	if err != nil {
		return nil, err
	}
	changes := make([]change, len(writes))
	total := 0
	for i, w := range writes {
		if reasons[i].stops() {
			continue
		}
		ch, err := w.settle(c, 2)
		if err != nil {
			reasons[i] = reasonFor(err)
			continue
		}
		changes[i] = ch
		total += max(ch.after.size(), w.key.size())
	}
	if err := cancellation(reasons); err != nil {
		return nil, err
	}
	if total > maxTransactionSize {
		return nil, invalid("Transaction request size exceeds 4 MB")
	}
	store(changes)
	in.remember(c, writes)
	out := transactOutput{ConsumedCapacity: c.consumed.reportTransaction(in.ReturnConsumedCapacity)}
	if in.ReturnItemCollectionMetrics == "SIZE" {
		out.ItemCollectionMetrics = metricsByTable(changes)
	}
	return out, nil
}

// prepareAll checks all actions. Faults of their expressions and tables are the request's own; items and keys that don't
// fit become reasons.
func (in *transactWriteInput) prepareAll(c *call) ([]write, []cancellationReason, error) {
	writes := make([]write, len(in.Items))
	reasons := make([]cancellationReason, len(in.Items))
	for i, a := range in.Items {
		w, err := a.members()[0].request.prepare(c)
		reasons[i] = noReason
		if err != nil {
			if _, ofItem := errors.AsType[keyError](err); !ofItem {
				return nil, nil, err
			}
			reasons[i] = reasonFor(err)
			continue
		}
		for _, other := range writes[:i] {
			if other.table == w.table && document(other.key).equal(document(w.key)) {
				return nil, nil, errRepeatedItem
			}
		}
		writes[i] = w
	}
	return writes, reasons, nil
}

var errRepeatedItem = invalid("Transaction request cannot include multiple operations on one item")

// reasonFor is the error of one action as the reason of its transaction's end.
func reasonFor(err error) cancellationReason {
	e := asAPIError(err)
	reason := cancellationReason{Code: "ValidationError", Message: e.message, Item: e.item.wire()}
	switch e.code() {
	case "ConditionalCheckFailedException":
		reason.Code = "ConditionalCheckFailed"
	case "ProvisionedThroughputExceededException":
		reason.Code = "ProvisionedThroughputExceeded"
	case "ThrottlingException":
		reason.Code = "ThrottlingError"
	}
	return reason
}

// cancellation is the error for a transaction with these reasons; nil if there are none.
func cancellation(reasons []cancellationReason) error {
	if slices.ContainsFunc(reasons, cancellationReason.stops) {
		return cancelled(reasons)
	}
	return nil
}

func cancelled(reasons []cancellationReason) *apiError {
	codes := make([]string, len(reasons))
	for i, r := range reasons {
		codes[i] = r.Code
	}
	e := failure("TransactionCanceledException", "Transaction cancelled, please refer cancellation reasons for specific reasons [%s]", strings.Join(codes, ", "))
	e.reasons = reasons
	return e
}

type (
	transactGetInput struct {
		Items                  []transactGetAction `json:"TransactItems"`
		ReturnConsumedCapacity string
	}
	transactGetAction struct {
		Get *getRequest
	}
)

func (in *transactGetInput) actions() int { return len(in.Items) }

func (in *transactGetInput) subjects() []string {
	var tables []string
	for _, a := range in.Items {
		if a.Get != nil && a.Get.Table != nil && !slices.Contains(tables, *a.Get.Table) {
			tables = append(tables, *a.Get.Table)
		}
	}
	return tables
}

func (in *transactGetInput) apply(c *call) (any, error) {
	var faults constraints
	checkActions(&faults, len(in.Items), in.Items == nil)
	for i, a := range in.Items {
		prefix := fmt.Sprintf("transactItems.%d.member.get", i+1)
		faults.addIf(a.Get == nil, "null", prefix, "Member must not be null")
		if a.Get != nil {
			a.Get.check(&faults, prefix+".")
		}
	}
	checkEnum(&faults, in.ReturnConsumedCapacity, "returnConsumedCapacity", "INDEXES", "TOTAL", "NONE")
	if err := faults.err(); err != nil {
		return nil, err
	}
	if in.repeats() {
		return nil, errRepeatedItem
	}
	responses := make([]itemResponse, len(in.Items))
	reasons := make([]cancellationReason, len(in.Items))
	for i, a := range in.Items {
		_, selected, err := a.Get.read(c, transactional)
		reasons[i] = noReason
		if err != nil {
			if _, ofItem := errors.AsType[keyError](err); !ofItem && !isThrottled(err) {
				return nil, err
			}
			reasons[i] = reasonFor(err)
			continue
		}
		responses[i] = itemResponse{selected.wire()}
	}
	if err := cancellation(reasons); err != nil {
		return nil, err
	}
	return transactOutput{Responses: responses, ConsumedCapacity: c.consumed.reportTransaction(in.ReturnConsumedCapacity)}, nil
}

// repeats reports whether two actions read one item.
func (in *transactGetInput) repeats() bool {
	for i, a := range in.Items {
		for _, b := range in.Items[:i] {
			first, err1 := a.Get.Key.item()
			second, err2 := b.Get.Key.item()
			if err1 == nil && err2 == nil && plainTableName(*a.Get.Table) == plainTableName(*b.Get.Table) && document(first).equal(document(second)) {
				return true
			}
		}
	}
	return false
}
