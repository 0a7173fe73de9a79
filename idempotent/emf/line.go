package emf

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/ikkai-go/idempotency/idempotent/internal/measure"
)

// print prints the sums of an operation: a line for all of them together with the calls of
// one code, and one for the calls of each further code, since a line has one value for a
// dimension.
func (m *Metrics) print(now time.Time, request string, s *sums) {
	rest := s
	for more := true; more; more = len(rest.calls) > 0 {
		line := m.line(now, request, rest)
		m.mu.Lock()
		_, _ = m.output.Write(line)
		m.mu.Unlock()
		rest = &sums{operation: s.operation, calls: rest.calls[min(1, len(rest.calls)):]}
	}
}

// line is a line with the sums, and the calls of the first code. The format is that of the
// "Specification: Embedded metric format" in the Amazon CloudWatch User Guide.
func (m *Metrics) line(now time.Time, request string, s *sums) []byte {
	var b lineBuilder
	b.raw(`{"_aws":{"Timestamp":`)
	b.number(float64(now.UnixMilli()))
	b.raw(`,"CloudWatchMetrics":[`)
	b.directive(m.namespace, `["operation"]`, s.names())
	if len(s.calls) > 0 {
		b.directive(m.namespace, `["operation","code"]`, []measure.Metric{measure.Calls})
	}
	b.raw(`]}`)
	b.member("operation", dimension(s.operation))
	if len(s.calls) > 0 {
		b.member("code", string(s.calls[0].code))
		b.raw(`,"` + measure.Table[measure.Calls].CloudWatch + `":`)
		b.number(float64(s.calls[0].count))
	}
	for _, metric := range s.names() {
		b.raw(`,"` + measure.Table[metric].CloudWatch + `":`)
		b.values(s, metric)
	}
	if request != "" {
		b.member("request_id", request)
	}
	if m.level != "" {
		b.member("level", m.level)
		b.member("timestamp", now.UTC().Format(time.RFC3339Nano))
	}
	b.raw("}\n")
	return b.line
}

// names are the metrics that have a value, but for the calls.
func (s *sums) names() []measure.Metric {
	var names []measure.Metric
	for metric := range measure.Metrics {
		if s.counts[metric] != 0 || len(s.values[metric]) > 0 {
			names = append(names, metric)
		}
	}
	return names
}

// dimension is an operation as a dimension's value, which has to be ASCII and must not begin with
// a colon.
func dimension(operation string) string {
	quoted := strconv.QuoteToASCII(operation)
	value := quoted[1 : len(quoted)-1]
	if strings.HasPrefix(value, ":") {
		return `\u003a` + value[1:]
	}
	return value
}

// lineBuilder builds a line of JSON.
type lineBuilder struct {
	line       []byte
	directives int
}

func (b *lineBuilder) raw(text string) { b.line = append(b.line, text...) }

func (b *lineBuilder) number(n float64) { b.line = strconv.AppendFloat(b.line, n, 'f', -1, 64) }

func (b *lineBuilder) text(s string) {
	quoted, _ := json.Marshal(s) // a string always encodes
	b.line = append(b.line, quoted...)
}

func (b *lineBuilder) member(name, value string) {
	b.raw(`,"` + name + `":`)
	b.text(value)
}

// directive says which members are metrics, if there are any, and by which dimensions.
func (b *lineBuilder) directive(namespace, dimensions string, metrics []measure.Metric) {
	if len(metrics) == 0 {
		return
	}
	if b.directives++; b.directives > 1 {
		b.raw(",")
	}
	b.raw(`{"Namespace":`)
	b.text(namespace)
	b.raw(`,"Dimensions":[` + dimensions + `],"Metrics":[`)
	for i, metric := range metrics {
		if i > 0 {
			b.raw(",")
		}
		b.raw(`{"Name":"` + measure.Table[metric].CloudWatch + `","Unit":"` + unit(metric) + `"}`)
	}
	b.raw(`]}`)
}

func unit(metric measure.Metric) string {
	if measure.Table[metric].Unit == measure.Time {
		return "Milliseconds"
	}
	return "Count"
}

func (b *lineBuilder) values(s *sums, metric measure.Metric) {
	if measure.Table[metric].Unit != measure.Time {
		b.number(s.counts[metric])
		return
	}
	b.raw("[")
	for i, value := range s.values[metric] {
		if i > 0 {
			b.raw(",")
		}
		b.number(value)
	}
	b.raw("]")
}
