package powertools

import (
	"encoding/base64"
	"errors"
	"math"
	"time"

	"github.com/ikkai-go/idempotency/idempotent/powertools/internal/value"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
)

// TypeScript returns the peer that uses Powertools for AWS Lambda (TypeScript), version
// 2.35 (@aws-lambda-powertools/idempotency on npm). The error joins what is wrong with
// the options, each an [*OptionError].
//
// Results are DynamoDB values in the attribute "data", as the marshaller of the AWS
// SDK for JavaScript makes them. So a replay is the same JSON value as the response,
// but not the same bytes: members come in another order, and numbers in JavaScript's
// spelling. A result that would be read back as another value, or that DynamoDB
// refuses, is not stored: the call succeeds, and has no replay. Such are numbers that a
// double does not hold or that are beyond ±(2⁵³-1), -0, lone surrogates, names of
// members that are empty or there twice, and more than 31 nested levels.
func TypeScript(o Options) (*Peer, error) {
	o.KeyPrefix = trim(o.KeyPrefix)
	r := reader{Options: o, language: value.JavaScript}
	r.version(oldestTypeScript, newestTypeScript)
	if o.Function != "" {
		r.fault("Function", "is not for TypeScript, whose keys don't have it")
	}
	return r.peer(typeScript{}, nodeHashes, base64.StdEncoding.EncodeToString, dynamostore.Format{Encode: marshall, Decode: unmarshall})
}

var (
	oldestTypeScript = version{2, 30}
	newestTypeScript = version{2, 35}
)

type typeScript struct{}

func (typeScript) language() value.Language { return value.JavaScript }

// keyed follows shouldSkipIdempotency and getHashedIdempotencyKey. What only
// isMissingIdempotencyKey takes for missing is hashed all the same, with a warning,
// unless it is to be refused.
func (d typeScript) keyed(p *Peer, e event) (string, error) {
	if p.eventKey != nil && !p.raiseOnNoKey {
		selected, err := p.search(e)
		if err != nil {
			return "", err
		}
		if _, undefined := selected.(value.Undefined); undefined || selected == nil {
			return "", errNoKey
		}
	}
	selected, err := p.search(e)
	if err != nil {
		return "", err
	}
	if p.raiseOnNoKey && d.missing(selected) {
		return "", errNoKey
	}
	return d.text(selected, e.budget())
}

// missing is isMissingIdempotencyKey: what JavaScript takes for false, and lists and
// objects in which all is false.
func (typeScript) missing(v value.Value) bool {
	switch v := v.(type) {
	case *value.Array:
		for _, item := range v.Items {
			if !falsy(item) {
				return false
			}
		}
		return true
	case *value.Object:
		for _, name := range v.Names(value.JavaScript) {
			if member, _ := v.Get(name); !falsy(member) {
				return false
			}
		}
		return true
	default:
		return falsy(v)
	}
}

// falsy is JavaScript's !v.
func falsy(v value.Value) bool {
	switch v := v.(type) {
	case nil, value.Undefined:
		return true
	case bool:
		return !v
	case float64:
		return v == 0 || math.IsNaN(v)
	case string:
		return v == ""
	default:
		return false
	}
}

var errUndefined = errors.New("undefined can't be hashed")

func (typeScript) text(v value.Value, b *value.Budget) (string, error) {
	text, defined, err := value.StringifySorted(v, b)
	if err == nil && !defined {
		err = errUndefined
	}
	return text, err
}

// expiry is Math.round of seconds.
func (typeScript) expiry(t time.Time) time.Time {
	return t.Add(time.Second / 2).Truncate(time.Second)
}
