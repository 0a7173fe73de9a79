package dynamostore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// Write is a write of the application that commits in a transaction: the
// [storekit.Write] of this store. Exactly one of Put, Update, Delete and
// ConditionCheck is set.
type Write struct {
	Put            *types.Put
	Update         *types.Update
	Delete         *types.Delete
	ConditionCheck *types.ConditionCheck

	// OnRefused says what it means in the application's words that the condition
	// did not hold, such as "out of stock". It is given the item that is there:
	// nil if there is none, and also if ReturnValuesOnConditionCheckFailure is
	// NONE (left empty, it becomes ALL_OLD) or the endpoint does not tell. Its
	// error becomes [persistence.RefusedError.Err]. Defaults to a [*ConditionError],
	// which is also what a nil error stands for.
	OnRefused func(there map[string]types.AttributeValue) error

	// Repeatable says that the write may be sent twice: its condition recognises
	// its own effect. [Apply] then sends it without a transaction, at half the
	// price, where it is the only one.
	Repeatable bool

	// Invalid, if set, is why the write can never be carried out. It is then refused
	// with it ([persistence.ErrInvalid]) before anything is sent. For functions that
	// make writes and return no error.
	Invalid error
}

// Enlist adds writes to the transaction in which the guarded call that ctx belongs
// to records how it, or its current step, ended. They are carried out then, all of
// them with the record or none: not before, not if the function fails, and not if
// the lease is lost.
//
// An error that wraps [persistence.ErrInvalid] joins all that is wrong with the
// writes; nothing is enlisted then. A transaction takes at most 99 writes beside the
// record, on as many items, and 4 MB, of which 400 KB are left for the record. What
// can't be seen in the requests (the size of an item after its update, the key of an
// item to put) is for DynamoDB to refuse later. [persistence.ErrNotEnlisted] where
// there is no such call.
//
// The maps of a write are copied; the attribute values in them are not and must
// not be changed any more.
func Enlist(ctx context.Context, writes ...Write) error {
	enlisted := make([]storekit.Write, len(writes))
	for i, w := range writes {
		enlisted[i] = w.sent()
	}
	return storekit.Enlist(ctx, func(all []storekit.Write) error {
		_, err := besideRecord.admit(all)
		return err
	}, enlisted...)
}

// sent is a copy of the write, in the form in which it is sent.
func (w Write) sent() Write {
	switch {
	case w.Put != nil:
		put := *w.Put
		put.Item = maps.Clone(put.Item)
		put.ExpressionAttributeNames = maps.Clone(put.ExpressionAttributeNames)
		put.ExpressionAttributeValues = maps.Clone(put.ExpressionAttributeValues)
		orAllOld(&put.ReturnValuesOnConditionCheckFailure)
		w.Put = &put
	case w.Update != nil:
		update := *w.Update
		update.Key = maps.Clone(update.Key)
		update.ExpressionAttributeNames = maps.Clone(update.ExpressionAttributeNames)
		update.ExpressionAttributeValues = maps.Clone(update.ExpressionAttributeValues)
		orAllOld(&update.ReturnValuesOnConditionCheckFailure)
		w.Update = &update
	case w.Delete != nil:
		remove := *w.Delete
		remove.Key = maps.Clone(remove.Key)
		remove.ExpressionAttributeNames = maps.Clone(remove.ExpressionAttributeNames)
		remove.ExpressionAttributeValues = maps.Clone(remove.ExpressionAttributeValues)
		orAllOld(&remove.ReturnValuesOnConditionCheckFailure)
		w.Delete = &remove
	case w.ConditionCheck != nil:
		check := *w.ConditionCheck
		check.Key = maps.Clone(check.Key)
		check.ExpressionAttributeNames = maps.Clone(check.ExpressionAttributeNames)
		check.ExpressionAttributeValues = maps.Clone(check.ExpressionAttributeValues)
		orAllOld(&check.ReturnValuesOnConditionCheckFailure)
		w.ConditionCheck = &check
	}
	return w
}

// orAllOld asks for the item in the way of a condition, unless that is decided.
func orAllOld(asked *types.ReturnValuesOnConditionCheckFailure) {
	if *asked == "" {
		*asked = types.ReturnValuesOnConditionCheckFailureAllOld
	}
}

// space is what writes of the application may take of a transaction.
type space struct{ writes, bytes int }

var (
	wholeTransaction = space{maxActions, maxTransaction}
	besideRecord     = space{maxActions - 1, maxTransaction - maxItem}
)

// admit returns the writes in this store's terms, or all that is wrong with them.
func (s space) admit(enlisted []storekit.Write) ([]Write, error) {
	writes := make([]Write, len(enlisted))
	var strange []error
	for i, given := range enlisted {
		w, ours := given.(Write)
		if !ours {
			strange = append(strange, fmt.Errorf("%w: write %d is a %T, not a dynamostore.Write", persistence.ErrInvalid, i, given))
		}
		writes[i] = w
	}
	if len(strange) > 0 {
		return nil, errors.Join(strange...)
	}
	return writes, s.check(writes)
}

// check returns all that is wrong with the writes of one transaction, as far as it
// can be seen in the requests. Nothing is refused that DynamoDB would take.
func (s space) check(writes []Write) error {
	var faults []error
	if len(writes) > s.writes {
		faults = append(faults, fmt.Errorf("%d writes, a transaction has room for %d", len(writes), s.writes))
	}
	bytes := 0
	keys := keyNames(writes)
	firstOn := make(map[string]int, len(writes))
	for i, w := range writes {
		if err := w.check(); err != nil {
			faults = append(faults, fmt.Errorf("write %d %w", i, err))
			continue
		}
		t := w.target()
		bytes += sizeOfItem(t.attributes)
		place, known := t.place(keys[t.table])
		if !known {
			continue
		}
		if first, taken := firstOn[place]; taken {
			faults = append(faults, fmt.Errorf("write %d is on the same item of %s as write %d", i, t.table, first))
			continue
		}
		firstOn[place] = i
	}
	if bytes > s.bytes {
		faults = append(faults, fmt.Errorf("the items have %d bytes, a transaction has room for %d", bytes, s.bytes))
	}
	if len(faults) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %w", persistence.ErrInvalid, errors.Join(faults...))
}

// check returns what is wrong with a write by itself.
func (w Write) check() error {
	actions := 0
	for _, set := range []bool{w.Put != nil, w.Update != nil, w.Delete != nil, w.ConditionCheck != nil} {
		if set {
			actions++
		}
	}
	if actions != 1 {
		return fmt.Errorf("has %d actions: want one of Put, Update, Delete and ConditionCheck", actions)
	}
	t := w.target()
	switch size := sizeOfItem(t.attributes); {
	case w.Invalid != nil:
		return fmt.Errorf("is invalid: %w", w.Invalid)
	case t.table == "":
		return errors.New("names no table")
	case len(t.attributes) == 0:
		return fmt.Errorf("on %s has no key", t.table)
	case size > maxItem:
		return fmt.Errorf("puts an item of %d bytes into %s, DynamoDB allows %d", size, t.table, maxItem)
	case w.Update != nil && aws.ToString(w.Update.UpdateExpression) == "":
		return fmt.Errorf("on %s updates nothing", t.table)
	case w.ConditionCheck != nil && aws.ToString(w.ConditionCheck.ConditionExpression) == "":
		return fmt.Errorf("on %s checks nothing", t.table)
	}
	return nil
}

// target is the item that a write is about.
type target struct {
	table      string
	attributes item // its key, or all of an item to put
	keyed      bool // only its key
}

func (w Write) target() target {
	switch {
	case w.Put != nil:
		return target{aws.ToString(w.Put.TableName), w.Put.Item, false}
	case w.Update != nil:
		return target{aws.ToString(w.Update.TableName), w.Update.Key, true}
	case w.Delete != nil:
		return target{aws.ToString(w.Delete.TableName), w.Delete.Key, true}
	case w.ConditionCheck != nil:
		return target{aws.ToString(w.ConditionCheck.TableName), w.ConditionCheck.Key, true}
	default:
		return target{}
	}
}

// keyNames are the names of the key attributes of the writes' tables, where a key
// shows them.
func keyNames(writes []Write) map[string][]string {
	names := make(map[string][]string)
	for _, w := range writes {
		if t := w.target(); t.keyed && names[t.table] == nil {
			names[t.table] = slices.Sorted(maps.Keys(t.attributes))
		}
	}
	return names
}

// place identifies the item; not known where the names of its key are not.
func (t target) place(keys []string) (place string, known bool) {
	var b strings.Builder
	fmt.Fprintf(&b, "%q", t.table)
	for _, name := range keys {
		switch v := t.attributes[name].(type) {
		case *types.AttributeValueMemberS:
			fmt.Fprintf(&b, " S%q", v.Value)
		case *types.AttributeValueMemberN:
			fmt.Fprintf(&b, " N%q", v.Value)
		case *types.AttributeValueMemberB:
			fmt.Fprintf(&b, " B%q", v.Value)
		default:
			return "", false // no key that DynamoDB would take
		}
	}
	return b.String(), len(keys) > 0
}

// isOn tells whether the write is on the item with that key.
func (w Write) isOn(table string, key item) bool {
	t := w.target()
	names := slices.Sorted(maps.Keys(key))
	there, known := t.place(names)
	place, _ := target{table: table, attributes: key}.place(names)
	return known && there == place
}

// action is the write as a part of a transaction.
func (w Write) action() types.TransactWriteItem {
	return types.TransactWriteItem{Put: w.Put, Update: w.Update, Delete: w.Delete, ConditionCheck: w.ConditionCheck}
}
