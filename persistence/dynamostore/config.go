package dynamostore

import (
	"errors"
	"fmt"
	"reflect"
	"time"
	"unicode/utf8"
)

// Config describes the table. Only Table is required.
type Config struct {
	// Table is the table's name or ARN. Required.
	Table string

	// Attributes are the names of the record's attributes.
	Attributes Attributes

	// PartitionValue is the fixed partition key value of a table with a sort
	// key, such as the application's name: the idempotency key is then the sort
	// key. Required if Attributes.SortKey is set, and only then.
	PartitionValue string

	// RequestTimeout is how long a request may take before it counts as lost and
	// is sent again, within the context's deadline. DynamoDB answers in
	// milliseconds; what takes longer is a connection that died while the
	// environment was frozen, or a reply that will not come. Defaults to a second.
	RequestTimeout time.Duration

	// Compress stores a result as gzip where the finished item then takes at
	// least one write unit less (a unit is 1 KB of 1024 bytes, a begun one counts
	// whole: DynamoDB's developer guide, "DynamoDB read and write operations").
	// That is also what makes some results over 400 KB fit. Replays stay identical
	// to the byte. A result over 8 MiB is stored as it is, or is too large.
	// Defaults to false: results stay readable in the console.
	//
	// Stores without the option read compressed results too. Versions of this
	// module from before it refuse them as [persistence.ErrUnreadable]: have all
	// environments on a version that knows it before switching it on.
	Compress bool

	// Format, if set, is that of another toolkit which uses the same table. Defaults to
	// this package's own.
	Format *Format
}

// Attributes are the names of a record's attributes; empty fields take their
// defaults. Reserved words are fine, equal names are not.
type Attributes struct {
	// Key is the partition key. Defaults to "idempotency_key".
	Key string
	// SortKey is the sort key of a table that has one. Defaults to none.
	SortKey string
	// Status defaults to "status".
	Status string
	// Owner defaults to "owner".
	Owner string
	// LeaseUntil defaults to "lease_until".
	LeaseUntil string
	// ExpireAt is the table's TTL attribute. Defaults to "expire_at".
	ExpireAt string
	// Fingerprint defaults to "fingerprint".
	Fingerprint string
	// Result defaults to "result".
	Result string
	// ResultEncoding defaults to "result_encoding".
	ResultEncoding string
	// Steps defaults to "steps".
	Steps string
	// Attempt defaults to "attempt".
	Attempt string
	// Version defaults to "version".
	Version string
	// StartedAt defaults to "started_at".
	StartedAt string
	// Function defaults to "function".
	Function string
	// RequestID defaults to "request_id".
	RequestID string
	// Event defaults to "event".
	Event string
}

var defaultAttributes = Attributes{
	Key:            "idempotency_key",
	Status:         "status",
	Owner:          "owner",
	LeaseUntil:     "lease_until",
	ExpireAt:       "expire_at",
	Fingerprint:    "fingerprint",
	Result:         "result",
	ResultEncoding: "result_encoding",
	Steps:          "steps",
	Attempt:        "attempt",
	Version:        "version",
	StartedAt:      "started_at",
	Function:       "function",
	RequestID:      "request_id",
	Event:          "event",
}

// ErrConfig matches every fault that [New] finds in a Config.
var ErrConfig = errors.New("dynamostore: invalid configuration")

const defaultRequestTimeout = time.Second

func (c Config) withDefaults() Config {
	c.Attributes = c.Attributes.withDefaults()
	if c.RequestTimeout == 0 {
		c.RequestTimeout = defaultRequestTimeout
	}
	return c
}

func (a Attributes) withDefaults() Attributes {
	names, defaults := reflect.ValueOf(&a).Elem(), reflect.ValueOf(defaultAttributes)
	for i := range names.NumField() {
		if names.Field(i).String() == "" {
			names.Field(i).Set(defaults.Field(i))
		}
	}
	return a
}

// check returns all that is wrong with a config whose defaults are filled in.
func (c Config) check() error {
	var faults []error
	if c.Table == "" {
		faults = append(faults, fmt.Errorf("%w: Table is missing", ErrConfig))
	}
	if (c.Attributes.SortKey == "") != (c.PartitionValue == "") {
		faults = append(faults, fmt.Errorf("%w: Attributes.SortKey (%q) and PartitionValue (%q) go together", ErrConfig, c.Attributes.SortKey, c.PartitionValue))
	}
	if !utf8.ValidString(c.PartitionValue) {
		faults = append(faults, fmt.Errorf("%w: PartitionValue is %q, which is not UTF-8: it would be another's", ErrConfig, c.PartitionValue))
	}
	if len(c.PartitionValue) > maxPartitionKey {
		faults = append(faults, fmt.Errorf("%w: PartitionValue has %d bytes, DynamoDB allows %d", ErrConfig, len(c.PartitionValue), maxPartitionKey))
	}
	if c.RequestTimeout < 0 {
		faults = append(faults, fmt.Errorf("%w: RequestTimeout is %v", ErrConfig, c.RequestTimeout))
	}
	fieldOf := make(map[string]string)
	if c.Format != nil {
		if err := c.Format.check(c); err != nil {
			faults = append(faults, err)
		}
		fieldOf[c.Format.SettledBy] = "Format.SettledBy"
	}
	names := reflect.ValueOf(c.Attributes)
	for i := range names.NumField() {
		field, name := names.Type().Field(i).Name, names.Field(i).String()
		switch other, taken := fieldOf[name]; {
		case name == "":
		case !utf8.ValidString(name):
			faults = append(faults, fmt.Errorf("%w: Attributes.%s is %q, which is not UTF-8", ErrConfig, field, name))
		case taken:
			faults = append(faults, fmt.Errorf("%w: %s and Attributes.%s are both %q", ErrConfig, other, field, name))
		case len(name) > maxAttributeName:
			faults = append(faults, fmt.Errorf("%w: Attributes.%s has %d bytes, the limit is %d", ErrConfig, field, len(name), maxAttributeName))
		default:
			fieldOf[name] = "Attributes." + field
		}
	}
	return errors.Join(faults...)
}

// DynamoDB's limits, from its developer guide ("Quotas").
const (
	writeUnit        = 1 << 10   // bytes
	maxItem          = 400 << 10 // bytes, names included
	maxPartitionKey  = 2048      // bytes
	maxSortKey       = 1024      // bytes
	maxAttributeName = 255       // bytes; the limit of key attributes, kept for all
	maxActions       = 100       // writes of one transaction
	maxTransaction   = 4 << 20   // bytes, all items of one transaction
)
