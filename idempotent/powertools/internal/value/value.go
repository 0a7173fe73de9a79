// Package value holds JSON values as the interpreters of Python and JavaScript hold
// them, and reads and writes them as their JSON modules do, byte for byte: order of
// members, integers and floats, lone surrogates.
package value

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"unicode"
)

// Language is one of the two languages.
type Language int

// The languages.
const (
	Python Language = iota
	JavaScript
)

// Value is one of: nil (null), [Undefined], bool, *big.Int (only in Python, which
// tells integers from floats), float64, string, *Array, *Object.
//
// Strings are UTF-8 in which a lone surrogate stands as the three bytes that UTF-8
// would give its code point. In JavaScript, no two of them form a pair.
type Value any

// Undefined is JavaScript's undefined.
type Undefined struct{}

// Array is a list. The languages hold it by reference, and so does this package.
type Array struct{ Items []Value }

// Object is a dict, or an object, in the order in which its members came.
type Object struct {
	names  []string
	values []Value
	places map[string]int // in names; nil while they are few
}

// few are so many members that a map for them costs more than a look at each.
const few = 8

// NewObject returns an empty object.
func NewObject() *Object { return &Object{} }

func (o *Object) place(name string) int {
	if o.places == nil {
		return slices.Index(o.names, name)
	}
	if at, known := o.places[name]; known {
		return at
	}
	return -1
}

// Set sets a member. One that is there keeps its place.
func (o *Object) Set(name string, v Value) {
	if at := o.place(name); at >= 0 {
		o.values[at] = v
		return
	}
	o.names, o.values = append(o.names, name), append(o.values, v)
	switch {
	case o.places != nil:
		o.places[name] = len(o.names) - 1
	case len(o.names) > few:
		o.places = make(map[string]int, 2*few)
		for at, name := range o.names {
			o.places[name] = at
		}
	}
}

// Get returns a member.
func (o *Object) Get(name string) (Value, bool) {
	if at := o.place(name); at >= 0 {
		return o.values[at], true
	}
	return nil, false
}

// Twin returns the name of a member that differs only in case.
func (o *Object) Twin(name string) (twin string, found bool) {
	for _, other := range o.names {
		if other != name && strings.EqualFold(other, name) {
			return other, true
		}
	}
	return "", false
}

// Len returns the number of members.
func (o *Object) Len() int { return len(o.names) }

// Values returns the members in the order in which the language enumerates them.
func (o *Object) Values(l Language) []Value {
	if l == Python {
		return slices.Clone(o.values)
	}
	values := make([]Value, 0, len(o.values))
	for _, name := range o.Names(l) {
		values = append(values, o.values[o.place(name)])
	}
	return values
}

// Names returns the names in the order in which the language enumerates them:
// JavaScript has those that look like an array's index first, in ascending order.
func (o *Object) Names(l Language) []string {
	names := slices.Clone(o.names)
	if l == JavaScript {
		indexFirst(names)
	}
	return names
}

// indexFirst sorts names that look like an array's index before the others.
func indexFirst(names []string) {
	slices.SortStableFunc(names, func(a, b string) int {
		i, isIndexA := index(a)
		j, isIndexB := index(b)
		switch {
		case isIndexA && isIndexB:
			return i - j
		case isIndexA:
			return -1
		case isIndexB:
			return 1
		default:
			return 0
		}
	})
}

// index returns the array index that a name spells: an integer from 0 to 2³²-2,
// without leading zeros.
func index(name string) (int, bool) {
	if name == "" || len(name) > len("4294967294") || name[0] == '0' && name != "0" {
		return 0, false
	}
	n := 0
	for _, c := range []byte(name) {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + int(c-'0')
	}
	return n, n < 1<<32-1
}

// ErrInexact matches every [*InexactError].
var ErrInexact = errors.New("not to be had exactly")

// InexactError says why the result that the other implementation would have is not
// to be had exactly.
type InexactError struct{ Reason string }

func (e *InexactError) Error() string { return e.Reason }

// Is reports whether target is [ErrInexact].
func (e *InexactError) Is(target error) bool { return target == ErrInexact }

// Inexact returns an [*InexactError].
func Inexact(format string, args ...any) error {
	return &InexactError{fmt.Sprintf(format, args...)}
}

// Number returns a number as the language holds one that is a float by its
// computation.
func Number(n int64, l Language) Value {
	if l == Python {
		return big.NewInt(n)
	}
	return float64(n)
}

// IsPythonSpace tells whether Python's strip() removes a character.
func IsPythonSpace(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }
