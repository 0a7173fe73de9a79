package rows

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// ErrVersionConflict matches every [*VersionConflictError].
var ErrVersionConflict = errors.New("rows: the row has another version")

// VersionConflictError says that a row is not of the version that was seen: somebody
// has changed it since.
type VersionConflictError struct {
	// Table of the row.
	Table string
	// Seen is the version that the update was made for.
	Seen int64
	// Found is the version that is there; 0 also if there is none, or it is not known.
	Found int64
	// Item that is there; nil if there is none, or the endpoint does not tell.
	Item map[string]types.AttributeValue
}

func (e *VersionConflictError) Error() string {
	if e.Item == nil {
		return fmt.Sprintf("rows: the row of %s does not have version %d", e.Table, e.Seen)
	}
	return fmt.Sprintf("rows: the row of %s has version %d, not %d", e.Table, e.Found, e.Seen)
}

// Is matches [ErrVersionConflict].
func (e *VersionConflictError) Is(target error) bool { return target == ErrVersionConflict }

// ErrNoVersion matches every [*NoVersionError].
var ErrNoVersion = errors.New("rows: what the row has for a version is none")

// NoVersionError says that the attribute of a row's version is something else than a
// whole number of 64 bits. To read the row again does not help.
type NoVersionError struct {
	// Table of the row.
	Table string
	// Attribute is where the version should be.
	Attribute string
	// Item that is there.
	Item map[string]types.AttributeValue
}

func (e *NoVersionError) Error() string {
	return fmt.Sprintf("rows: the attribute %q in the row of %s is no version", e.Attribute, e.Table)
}

// Is matches [ErrNoVersion].
func (e *NoVersionError) Is(target error) bool { return target == ErrNoVersion }

// IfVersion makes the update depend on the version of the row, a number in that
// attribute, and moves it on to seen+1: an optimistic lock. Seen is the version of
// the row that the update was reckoned from; 0 stands for a row without one too, also
// for no row at all. Another version is a [*VersionConflictError]: read again, and
// decide anew. What is no version at all is a [*NoVersionError].
//
// The lock holds among those who keep to it: everybody who writes the row must move
// the version, with this method or otherwise. The seen version must have a next one.
func (u Update) IfVersion(attribute string, seen int64) Update {
	g := guard{
		set:         "#ikkai_version = :ikkai_next",
		condition:   "#ikkai_version = :ikkai_seen",
		placeholder: "#ikkai_version",
		attribute:   attribute,
		values:      item{":ikkai_seen": number(seen), ":ikkai_next": number(seen + 1)},
		holds: func(there item) bool {
			found, ok := versionOf(there, attribute)
			return ok && found == seen
		},
		refused: func(there item) error {
			found, ok := versionOf(there, attribute)
			if !ok {
				return &NoVersionError{Table: u.Table, Attribute: attribute, Item: there}
			}
			return &VersionConflictError{Table: u.Table, Seen: seen, Found: found, Item: there}
		},
	}
	if seen == 0 {
		g.condition = "(attribute_not_exists(#ikkai_version) OR " + g.condition + ")"
	}
	if seen == math.MaxInt64 {
		g.invalid = errors.New("rows: there is no version after the one that was seen")
	}
	return u.with(g)
}

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

// versionOf is the version of a row; 0 if it has none. It is not ok if what the row
// has there is no version.
func versionOf(there item, attribute string) (version int64, ok bool) {
	value, exists := there[attribute]
	if !exists {
		return 0, true
	}
	n, ok := value.(*types.AttributeValueMemberN)
	if !ok {
		return 0, false
	}
	version, err := strconv.ParseInt(n.Value, 10, 64)
	return version, err == nil
}
