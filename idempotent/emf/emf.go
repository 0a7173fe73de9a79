// Package emf turns what guards tell into CloudWatch metrics, by lines in the embedded
// metric format. It needs no agent, no permission and no request: a Lambda function
// prints a line, and CloudWatch Logs makes metrics of it.
//
//	guard, err := idempotent.New(store, emf.Watch(idempotent.Config{Operation: "payment", Key: key}))
//
// That is all there is to switch on, for every entry point: the outermost part of what the
// guard does in an invocation (a batch of messages, or a single call) collects what happens
// in it, and prints one line when it ends, also where a panic ends it. docs/metrics.md has
// the table of metrics. Their dimensions are the operation and, for calls, the code: a key
// or the id of a request is never one, since each value would be a metric that is charged
// for. Each further code or operation in an invocation has a line of its own, and so have
// each hundred durations and each minute of a long run.
//
// The lines go to the standard output by themselves, not through a logger, and pass
// Lambda's log level filter whatever its level is. What a process has not printed when it
// is killed, by a timeout for instance, is lost: that is the invocation that was under
// way. The run that takes its place counts as taken over.
package emf

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/internal/measure"
)

// Config says how metrics are printed. The zero value is what [Watch] uses.
type Config struct {
	// Namespace of the metrics in CloudWatch: up to 256 of the characters A to Z, a to z, 0
	// to 9 and . _ # : / -, and not one of AWS's own, which begin with AWS/. Defaults to the environment variable AWS_EMF_NAMESPACE, which
	// AWS's own libraries read, and without it to "idempotency".
	Namespace string
	// Output gets the lines, each in one Write. Defaults to the standard output. What it
	// fails to write is lost: no call fails for the sake of its metrics.
	Output io.Writer
}

// ErrConfig is what a [Config] is refused with.
var ErrConfig = errors.New("emf: invalid configuration")

const (
	defaultNamespace = "idempotency"
	maxNamespace     = 256
)

// isNamespace tells whether CloudWatch takes a name for a namespace. By hand: a regular
// expression of it would take a millisecond of each cold start.
func isNamespace(name string) bool {
	return name != "" && len(name) <= maxNamespace && !strings.HasPrefix(name, "AWS/") && !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || 'z' < r) && (r < 'A' || 'Z' < r) && (r < '0' || '9' < r) && !strings.ContainsRune("._#:/-", r)
	})
}

// Metrics prints the metrics of any number of guards. It is safe for concurrent use, also
// by the concurrent invocations of a Lambda managed instance.
type Metrics struct {
	namespace string
	level     string // of the lines; empty where the filter passes what has none

	mu     sync.Mutex // of output
	output io.Writer
}

// New returns metrics as config describes them. A fault of the config is [ErrConfig].
func New(config Config) (*Metrics, error) {
	m := &Metrics{
		namespace: cmp.Or(config.Namespace, os.Getenv("AWS_EMF_NAMESPACE"), defaultNamespace),
		level:     level(os.Getenv("AWS_LAMBDA_LOG_LEVEL")),
		output:    config.Output,
	}
	if m.output == nil {
		m.output = os.Stdout
	}
	if !isNamespace(m.namespace) {
		return nil, fmt.Errorf("%w: %.300q is no namespace of CloudWatch", ErrConfig, m.namespace)
	}
	return m, nil
}

// level is what a line says of its level. Lambda takes a line without one for INFO, and
// drops it where the function's log level is higher.
func level(filter string) string {
	switch filter {
	case "WARN", "ERROR", "FATAL":
		return filter
	default:
		return ""
	}
}

var byEnvironment = sync.OnceValues(func() (*Metrics, error) { return New(Config{}) })

// Watch returns a config whose guard's metrics are printed as the zero [Config] says. It
// panics where AWS_EMF_NAMESPACE is no namespace: a function must not run unseen.
//
// Hooks that the config has, Observe and Trace, are called as before.
func Watch(config idempotent.Config) idempotent.Config {
	m, err := byEnvironment()
	if err != nil {
		panic(err)
	}
	return m.Watch(config)
}

// Watch returns a config whose guard's metrics are printed. Hooks that the config has,
// Observe and Trace, are called as before.
func (m *Metrics) Watch(config idempotent.Config) idempotent.Config {
	return measure.Watch(config, m.observe, m.trace)
}
