package rows

import (
	"errors"
	"fmt"
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
	// Found is the version that is there; 0 if there is none, or it is not known.
	Found int64
	// Item that is there; nil if there is none, or the endpoint does not tell.
	Item map[string]types.AttributeValue
}

func (e *VersionConflictError) Error() string {
	return fmt.Sprintf("rows: the row of %s has version %d, not %d", e.Table, e.Found, e.Seen)
}

// Is matches [ErrVersionConflict].
func (e *VersionConflictError) Is(target error) bool { return target == ErrVersionConflict }

// IfVersion makes the update depend on the version of the row, a number in that
// attribute, and moves it on to seen+1: an optimistic lock. Seen is the version of
// the row that the update was reckoned from; 0 means that there was none, and must be
// none. Another version is a [*VersionConflictError]: read again, and decide anew.
func (u Update) IfVersion(attribute string, seen int64) Update {
	g := guard{
		set:         "#ikkai_version = :ikkai_next",
		condition:   "#ikkai_version = :ikkai_seen",
		placeholder: "#ikkai_version",
		attribute:   attribute,
		values:      item{":ikkai_seen": number(seen), ":ikkai_next": number(seen + 1)},
		holds:       func(there item) bool { return versionOf(there, attribute) == seen },
		refused: func(there item) error {
			return &VersionConflictError{Table: u.Table, Seen: seen, Found: versionOf(there, attribute), Item: there}
		},
	}
	if seen == 0 {
		g.condition = "attribute_not_exists(#ikkai_version)"
		delete(g.values, ":ikkai_seen")
	}
	return u.with(g)
}

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

// versionOf is the version of a row; 0 if it has none.
func versionOf(there item, attribute string) int64 {
	n, ok := there[attribute].(*types.AttributeValueMemberN)
	if !ok {
		return 0
	}
	version, err := strconv.ParseInt(n.Value, 10, 64)
	if err != nil {
		return 0
	}
	return version
}
