package powertools

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/idempotent/powertools/internal/jmespath"
	"github.com/ikkai-go/idempotency/idempotent/powertools/internal/value"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
)

// Python returns the peer that uses Powertools for AWS Lambda (Python), versions 3.2 to
// 3.37 (aws-lambda-powertools on PyPI). The error joins what is wrong with the options,
// each an [*OptionError].
//
// Results are JSON text in the attribute "data", kept as they are. Python replays
// None for those that it takes for false: null, false, 0, "", [] and {}. A result that
// its parser refuses (300 nested levels, integers of more than 4300 digits) is not
// stored: the call succeeds, and has no replay.
func Python(o Options) (*Peer, error) {
	r := reader{Options: o, language: value.Python}
	d := python{version: r.version(oldestPython, newestPython)}
	if e, err := jmespath.Compile(o.Validation, value.Python); err == nil && e.Calls("powertools_json", "powertools_base64", "powertools_base64_gzip") && d.version.before(functionsInValidation) {
		r.because("Validation", value.Inexact("%q: versions before %v don't know the function, and fail; the version is taken for %v", o.Validation, functionsInValidation, d.version))
	}
	return r.peer(d, pythonHashes, hex.EncodeToString, dynamostore.Format{Encode: pythonResult, Decode: fromPythonResult})
}

var (
	oldestPython = version{3, 2}
	newestPython = version{3, 37}
	// nullsMissing is the first version that takes an object without a value that is
	// not null for missing, as it does a list.
	nullsMissing = version{3, 35}
	// functionsInValidation is the first version that knows Powertools' own functions
	// in a validation; those before fail when they come to one.
	functionsInValidation = version{3, 36}
)

type python struct{ version version }

func (python) language() value.Language { return value.Python }

func (d python) keyed(p *Peer, e event) (string, error) {
	selected, err := p.search(e)
	if err != nil {
		return "", err
	}
	if d.missing(selected) {
		return "", errNoKey
	}
	return d.text(selected, e.budget())
}

// missing is is_missing_idempotency_key.
func (d python) missing(v value.Value) bool {
	isNull := func(v value.Value) bool { return v == nil }
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case *value.Array:
		return !slices.ContainsFunc(v.Items, func(v value.Value) bool { return !isNull(v) })
	case *value.Object:
		if d.version.before(nullsMissing) {
			return v.Len() == 0
		}
		return !slices.ContainsFunc(v.Names(value.Python), func(name string) bool {
			member, _ := v.Get(name)
			return !isNull(member)
		})
	case bool, float64, *big.Int:
		return false
	default:
		return false
	}
}

func (python) text(v value.Value, b *value.Budget) (string, error) {
	return value.Dumps(v, value.Sorted, b)
}

// expiry is int(timestamp).
func (python) expiry(t time.Time) time.Time { return t.Truncate(time.Second) }

var errNotJSON = errors.New("it is not JSON")

// pythonResult keeps the text, if Python reads it too.
func pythonResult(result []byte) (types.AttributeValue, error) {
	if !json.Valid(result) || !utf8.Valid(result) {
		return nil, errNotJSON
	}
	if _, err := value.Parse(string(result), value.Python); err != nil {
		return nil, errors.New("Python does not read it")
	}
	return &types.AttributeValueMemberS{Value: string(result)}, nil
}

func fromPythonResult(v types.AttributeValue) ([]byte, error) {
	switch v := v.(type) {
	case nil: // as Python reads it
		return []byte("null"), nil
	case *types.AttributeValueMemberS:
		if v.Value == "" {
			return []byte("null"), nil
		}
		if !json.Valid([]byte(v.Value)) {
			return nil, errNotJSON // NaN and infinities, which Python writes as well
		}
		return []byte(v.Value), nil
	default:
		return nil, fmt.Errorf("the result is a %T, and Python's is JSON text", v)
	}
}
