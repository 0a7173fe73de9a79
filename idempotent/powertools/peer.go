package powertools

import (
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/powertools/internal/jmespath"
	"github.com/ikkai-go/idempotency/idempotent/powertools/internal/value"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
)

// Peer is a function that uses Powertools, as far as its records go. It is immutable
// and safe for concurrent use.
type Peer struct {
	prefix       string
	eventKey     *jmespath.Expression // nil for the whole event
	validation   *jmespath.Expression // nil where nothing is compared
	digest       digest
	raiseOnNoKey bool
	expiresAfter time.Duration
	table        dynamostore.Config
	dialect      dialect
	sorts        bool // the event itself, as sort() does in JavaScript
}

// dialect is what the languages do in different ways.
type dialect interface {
	language() value.Language
	// keyed returns what is hashed for the key. The error says that there is no key,
	// or that the peer fails.
	keyed(p *Peer, e event) (string, error)
	// text returns what is hashed of a value.
	text(v value.Value, b *value.Budget) (string, error)
	// expiry rounds to a whole second.
	expiry(t time.Time) time.Time
}

// peer returns the peer that the options describe.
func (r *reader) peer(d dialect, hashes map[string]func(string) []byte, encodeDigest func([]byte) string, format dynamostore.Format) (*Peer, error) {
	format.Expiry = func(t time.Time) int64 { return d.expiry(t).Unix() }
	p := &Peer{
		prefix:       r.prefix(),
		eventKey:     r.expression("EventKey", r.EventKey),
		validation:   r.expression("Validation", r.Validation),
		digest:       digest{new: r.hash(hashes), encode: encodeDigest},
		raiseOnNoKey: r.RaiseOnNoKey,
		expiresAfter: r.expiry(),
		table:        r.table(format),
		dialect:      d,
	}
	if p.digest.new != nil {
		r.checkKey(p.prefix, len(p.digest.of("")))
	}
	if err := errors.Join(r.faults...); err != nil {
		return nil, err
	}
	p.sorts = r.language == value.JavaScript && (p.eventKey.Calls("sort") || p.validation.Calls("sort"))
	return p, nil
}

// Table describes the table in the peer's format, for dynamostore.New and
// dynamostore.CreateTable. [Peer.Store] is what a guard should have: it can't be given
// steps.
func (p *Peer) Table() dynamostore.Config {
	c := p.table
	format := *c.Format
	c.Format = &format
	return c
}

// Config returns c with the peer's way to recognise requests, and, where c leaves them
// open, its TTL and what it does about requests without a key.
func (p *Peer) Config(c idempotent.Config) idempotent.Config {
	c.Dialect = p
	if c.TTL == 0 {
		c.TTL = p.expiresAfter
	}
	if !p.raiseOnNoKey {
		c.RunWithoutKey = true
	}
	return c
}

// Identify finds what a guard recognises a payload by: the key is the id of the peer's record,
// the fingerprint its validation hash. Its error matches one of
// [idempotency.ErrMissing], where the peer runs without a record or raises
// IdempotencyKeyError; [ErrInexact]; and [idempotency.ErrPayload], where the peer
// fails before it runs.
func (p *Peer) Identify(payload []byte) (key, fingerprint string, err error) {
	e, err := p.parse(payload)
	if err != nil {
		return "", "", err
	}
	key, fingerprint, err = p.identify(e)
	if err != nil || !p.sorts {
		return key, fingerprint, err
	}
	// The peer evaluates both once more for the result, on the event as it is by then.
	if again, validation, err := p.identify(e); err == nil && (again != key || validation != fingerprint) {
		return "", "", fault("key", value.Inexact("sort() sorts the list in the event itself, so that the result gets another key than the record in progress"))
	}
	return key, fingerprint, nil
}

func (p *Peer) identify(e event) (key, fingerprint string, err error) {
	keyed, err := p.dialect.keyed(p, e)
	if err != nil {
		return "", "", fault("key", err)
	}
	if p.validation == nil {
		return p.key(keyed), "", nil
	}
	// The same event, as the evaluation of the key has left it.
	selected, err := p.validation.Search(e.value, e.budget())
	if err != nil {
		return "", "", fault("validation", err)
	}
	text, err := p.dialect.text(selected, e.budget())
	if err != nil {
		return "", "", fault("validation", err)
	}
	return p.key(keyed), p.digest.of(text), nil
}

// Key is the key of a request whose key a caller has chosen: the id of a record whose EventKey has selected
// just this string. Where the peer has a Validation, the error matches [ErrInexact]: there
// is no event to validate, and the peer refuses a record without a validation.
func (p *Peer) Key(selected string) (string, error) {
	if p.validation != nil {
		return "", fault("key", value.Inexact("there is a Validation, and a key alone has nothing to validate"))
	}
	if selected == "" {
		return "", fmt.Errorf("powertools: %w: the key is empty", idempotency.ErrMissing)
	}
	if !utf8.ValidString(selected) {
		return "", fmt.Errorf("powertools: %w: the key is not UTF-8", idempotency.ErrPayload)
	}
	text, err := p.dialect.text(selected, value.NewBudget(len(selected)))
	if err != nil {
		return "", fault("key", err)
	}
	return p.key(text), nil
}

// HashInput returns the text that is hashed for the key of an event, to compare it
// with what the peer hashes. The errors are those of [Peer.Identify].
func (p *Peer) HashInput(payload []byte) (string, error) {
	e, err := p.parse(payload)
	if err != nil {
		return "", err
	}
	text, err := p.dialect.keyed(p, e)
	if err != nil {
		return "", fault("key", err)
	}
	return text, nil
}

// Expiry returns the whole second at which a record expires that is to last until then.
func (p *Peer) Expiry(until time.Time) time.Time { return p.dialect.expiry(until) }

// event is a payload as the peer holds it.
type event struct {
	value value.Value
	size  int // bytes of the payload
}

func (e event) budget() *value.Budget { return value.NewBudget(e.size) }

func (p *Peer) parse(payload []byte) (event, error) {
	if !utf8.Valid(payload) {
		return event{}, fmt.Errorf("powertools: %w: the event is not UTF-8", idempotency.ErrPayload)
	}
	v, err := value.Parse(string(payload), p.dialect.language())
	if err != nil {
		return event{}, fault("event", err)
	}
	return event{v, len(payload)}, nil
}

func (p *Peer) key(text string) string { return p.prefix + "#" + p.digest.of(text) }

// search evaluates the EventKey.
func (p *Peer) search(e event) (value.Value, error) {
	if p.eventKey == nil {
		return e.value, nil
	}
	return p.eventKey.Search(e.value, e.budget())
}

// errNoKey says that the peer finds no key.
var errNoKey = errors.New("no key is found in the event")

// fault says of which kind an error is. It never quotes the payload.
func fault(what string, err error) error {
	switch {
	case errors.Is(err, errNoKey):
		return fmt.Errorf("powertools: %w: %w", idempotency.ErrMissing, err)
	case errors.Is(err, ErrInexact):
		return fmt.Errorf("powertools: %s: %w: %w", what, ErrInexact, err)
	default:
		return fmt.Errorf("powertools: %w: %s: %w", idempotency.ErrPayload, what, err)
	}
}
