package powertools

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/ikkai-go/idempotency/idempotent/powertools/internal/jmespath"
	"github.com/ikkai-go/idempotency/idempotent/powertools/internal/value"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
)

// Options are the settings of the function that is replaced, or whose table is shared.
// Names in parentheses are Powertools' own, for Python and for TypeScript.
type Options struct {
	// FunctionName is the Lambda function's name (AWS_LAMBDA_FUNCTION_NAME), which
	// begins the keys. Required, unless KeyPrefix makes it needless.
	FunctionName string

	// Function is the module and the qualified name of the Python function that the
	// decorator stands on, such as "app.lambda_handler". Required for Python, unless
	// there is a KeyPrefix; not for TypeScript, whose keys don't have it.
	Function string

	// KeyPrefix begins the keys instead (key_prefix, keyPrefix). Defaults to none.
	KeyPrefix string

	// EventKey selects what identifies a request, in JMESPath (event_key_jmespath,
	// eventKeyJmesPath): in UTF-8, at most 4096 bytes, nested at most 200 levels deep.
	// Defaults to the whole event.
	EventKey string

	// Validation selects what must not differ between the tries of a request, in
	// JMESPath (payload_validation_jmespath, payloadValidationJmesPath), with the same
	// limits. Defaults to nothing.
	Validation string

	// Hash names the hash function as the peer does (hash_function, hashFunction):
	// md5, sha1, sha224, sha256, sha384, sha512, and for Python sha3_224 to sha3_512,
	// blake2b and blake2s, for TypeScript sha3-224 to sha3-512, sha512-224, sha512-256,
	// blake2b512 and blake2s256. Defaults to "md5".
	Hash string

	// RaiseOnNoKey refuses requests without a key (raise_on_no_idempotency_key,
	// throwOnNoIdempotencyKey); otherwise they run unprotected. For TypeScript it also
	// decides what is no key. Defaults to false.
	RaiseOnNoKey bool

	// ExpiresAfter is how long a record lasts (expires_after_seconds,
	// expiresAfterSeconds), in whole seconds. Defaults to an hour.
	ExpiresAfter time.Duration

	// Version is the peer's, such as "3.37.0". It decides where versions differ; see
	// docs/powertools.md. Defaults to the oldest one known, under which the fewest
	// requests run without a record.
	Version string

	// Table describes the table. Empty names of attributes take the peer's defaults
	// (id, expiration, in_progress_expiration, status, data, validation), and those of
	// the attributes that only this module has begin with "ikkai_". Where there is a
	// SortKey (sort_key_attr, sortKeyAttr), PartitionValue (static_pk_value,
	// staticPkValue) defaults to "idempotency#" and the FunctionName. Compress and
	// Format can't be set.
	Table dynamostore.Config
}

// ErrOptions matches every [*OptionError].
var ErrOptions = errors.New("powertools: invalid options")

// OptionError is one fault of the [Options]; [Python] and [TypeScript] join all they
// find. It matches [ErrInexact] too where the setting is a good one, but not to be had
// exactly.
type OptionError struct {
	Field   string // of the Options
	Problem string // what is wrong with it
	Err     error  // the cause, if there is one
}

func (e *OptionError) Error() string {
	return fmt.Sprintf("powertools: Options.%s %s", e.Field, e.Problem)
}

// Is reports whether target is [ErrOptions].
func (e *OptionError) Is(target error) bool { return target == ErrOptions }

// Unwrap returns the cause.
func (e *OptionError) Unwrap() error { return e.Err }

// ErrInexact matches the errors of what Powertools does in a way that is not to be had
// exactly: of settings and of payloads.
var ErrInexact = value.ErrInexact

const defaultExpiry = time.Hour

// reader turns options into a peer and collects what is wrong with them.
type reader struct {
	Options
	language value.Language
	faults   []error
}

func (r *reader) fault(field, format string, args ...any) {
	r.faults = append(r.faults, &OptionError{Field: field, Problem: fmt.Sprintf(format, args...)})
}

func (r *reader) because(field string, err error) {
	r.faults = append(r.faults, &OptionError{Field: field, Problem: err.Error(), Err: err})
}

func (r *reader) prefix() string {
	switch {
	case r.KeyPrefix != "":
		return r.KeyPrefix
	case r.FunctionName == "":
		r.fault("FunctionName", "is missing: the keys begin with it")
	case r.language == value.Python && r.Function == "":
		r.fault("Function", "is missing: the keys have it, such as app.lambda_handler")
	case r.language == value.Python:
		return r.FunctionName + "." + r.Function
	}
	return r.FunctionName
}

// checkKey tells whether keys with a prefix can be stored as they are.
func (r *reader) checkKey(prefix string, digest int) {
	field, most := "FunctionName", maxPartitionKey
	if r.KeyPrefix != "" {
		field = "KeyPrefix"
	}
	if r.Table.Attributes.SortKey != "" {
		most = maxSortKey
	}
	switch {
	case !utf8.ValidString(prefix):
		r.fault(field, "is not UTF-8, or Function is not: the keys begin with them")
	case len(prefix)+len("#")+digest > most:
		r.fault(field, "makes keys longer than %d bytes, which DynamoDB does not take", most)
	}
}

// The longest keys that DynamoDB takes, in bytes (its developer guide, "Quotas").
const (
	maxPartitionKey = 2048
	maxSortKey      = 1024
)

func (r *reader) expression(field, text string) *jmespath.Expression {
	if text == "" {
		return nil
	}
	e, err := jmespath.Compile(text, r.language)
	if err != nil {
		r.because(field, fmt.Errorf("%q: %w", text, err))
	}
	return e
}

func (r *reader) expiry() time.Duration {
	switch {
	case r.ExpiresAfter == 0:
		return defaultExpiry
	case r.ExpiresAfter < time.Second || r.ExpiresAfter%time.Second != 0:
		r.fault("ExpiresAfter", "is %v, and must be whole seconds", r.ExpiresAfter)
	}
	return r.ExpiresAfter
}

// version is the major and minor number of a version.
type version struct{ major, minor int }

func (v version) before(other version) bool {
	return v.major < other.major || v.major == other.major && v.minor < other.minor
}

func (v version) String() string { return fmt.Sprintf("%d.%d", v.major, v.minor) }

func (r *reader) version(oldest, newest version) version {
	if r.Version == "" {
		return oldest
	}
	parts := strings.SplitN(r.Version, ".", 3)
	if len(parts) < 2 {
		r.fault("Version", "is %q, and must be like %v.0", r.Version, newest)
		return oldest
	}
	major, errMajor := strconv.Atoi(parts[0])
	minor, errMinor := strconv.Atoi(parts[1])
	v := version{major, minor}
	switch {
	case errMajor != nil || errMinor != nil:
		r.fault("Version", "is %q, and must be like %v.0", r.Version, newest)
	case v.before(oldest), newest.before(v):
		r.because("Version", value.Inexact("%q: known are %v to %v", r.Version, oldest, newest))
	}
	return v
}

// table returns the description of the table, in the peer's format.
func (r *reader) table(f dynamostore.Format) dynamostore.Config {
	c := r.Table
	if c.Compress {
		r.fault("Table", "has Compress, which the peer can't read")
		c.Compress = false
	}
	if c.Format != nil {
		r.fault("Table", "has a Format, and this package gives it its own")
	}
	a := &c.Attributes
	for name, byDefault := range map[*string]string{
		&a.Key: "id", &a.ExpireAt: "expiration", &a.LeaseUntil: "in_progress_expiration",
		&a.Status: "status", &a.Result: "data", &a.Fingerprint: "validation",
		&a.Owner: "ikkai_owner", &a.Attempt: "ikkai_attempt", &a.Version: "ikkai_version",
		&a.ResultEncoding: "ikkai_result", &a.Steps: "ikkai_steps",
	} {
		if *name == "" {
			*name = byDefault
		}
	}
	if a.SortKey != "" && c.PartitionValue == "" {
		if r.FunctionName == "" {
			r.fault("FunctionName", "is missing: the table's partition value has it")
		}
		c.PartitionValue = "idempotency#" + r.FunctionName
	}
	f.InProgress = "INPROGRESS"
	f.SettledBy = "ikkai_settled_by"
	c.Format = &f
	return c
}

// trim removes what JavaScript's trim removes.
func trim(s string) string {
	return strings.TrimFunc(s, func(r rune) bool { return unicode.IsSpace(r) && r != '\u0085' || r == '\ufeff' })
}
