package dynamostore

import (
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// shape is what all writes have in common that change the same attributes on the same
// condition: the texts and the names. Those who are given one must not change it.
type shape struct {
	condition, expression *string
	names                 map[string]string
}

// shapes are the shapes of a store's writes. There are no more than there are ways through
// the code of this package: what a user chooses are names and values. Safe for concurrent use.
type shapes struct {
	mu    sync.RWMutex
	known map[string]*shape // by all that is in it
}

// shape returns the update's. The text that finds it is put together without an
// allocation, as a rule.
func (u *update) shape() *shape {
	var room [256]byte
	text := room[:0]
	for _, placeholder := range u.used {
		text = append(text, placeholder...)
	}
	for _, condition := range u.conditions {
		text = append(append(text, '?'), condition...)
	}
	for _, set := range u.sets {
		text = append(append(append(append(text, '='), set.path...), '='), set.value...)
	}
	for _, placeholder := range u.removes {
		text = append(append(text, '-'), placeholder...)
	}
	all := u.schema.shapes
	all.mu.RLock()
	known := all.known[string(text)]
	all.mu.RUnlock()
	if known != nil {
		return known
	}
	made := u.newShape()
	all.mu.Lock()
	defer all.mu.Unlock()
	all.known[string(text)] = made
	return made
}

func (u *update) newShape() *shape {
	expression := ""
	for i, set := range u.sets {
		if i > 0 {
			expression += ", "
		}
		expression += set.path + " = " + set.value
	}
	expression = "SET " + expression
	if len(u.removes) > 0 {
		expression += " REMOVE " + strings.Join(u.removes, ", ")
	}
	return &shape{
		condition:  aws.String(strings.Join(u.conditions, " AND ")),
		expression: &expression,
		names:      u.schema.names(u.used...),
	}
}
