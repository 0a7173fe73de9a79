// Package emfspec reads lines in CloudWatch's embedded metric format as CloudWatch does:
// it takes the metrics out of them, and refuses what the specification forbids. It is for
// tests, and knows nothing of what makes the lines.
package emfspec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Datum is a metric with its values, by one set of dimensions.
type Datum struct {
	Namespace  string
	Name       string
	Unit       string
	Dimensions map[string]string
	Values     []float64
}

// Sum adds the values up.
func (d Datum) Sum() (sum float64) {
	for _, v := range d.Values {
		sum += v
	}
	return sum
}

// Limits of the specification ("Specification: Embedded metric format", Amazon CloudWatch
// User Guide), and of names and values as AWS's own libraries keep them. Of the two sizes
// that copies of the specification name for a document, the smaller.
const (
	maxDocument   = 256 << 10
	maxMetrics    = 100
	maxDimensions = 30
	maxValues     = 100
	maxName       = 1024
	maxDimension  = 250
	maxValue      = 1024
	maxNamespace  = 256
)

var (
	namespace = regexp.MustCompile(`^[a-zA-Z0-9._#:/-]+$`)
	printable = regexp.MustCompile(`^[ -~]*[!-~][ -~]*$`) // ASCII, and not only spaces
)

var units = strings.Fields("Seconds Microseconds Milliseconds Bytes Kilobytes Megabytes Gigabytes Terabytes " +
	"Bits Kilobits Megabits Gigabits Terabits Percent Count Bytes/Second Kilobytes/Second Megabytes/Second " +
	"Gigabytes/Second Terabytes/Second Bits/Second Kilobits/Second Megabits/Second Gigabits/Second " +
	"Terabits/Second Count/Second None")

type document struct {
	Timestamp         *int64
	CloudWatchMetrics []directive
}

type directive struct {
	Namespace  string
	Dimensions [][]string
	Metrics    []struct {
		Name              string
		Unit              string
		StorageResolution int
	}
}

// Is tells whether a line is meant to be one in the format.
func Is(line []byte) bool {
	var root struct {
		AWS json.RawMessage `json:"_aws"`
	}
	return json.Unmarshal(line, &root) == nil && root.AWS != nil
}

// Read returns the metrics of a line that is printed now.
func Read(line []byte, now time.Time) ([]Datum, error) {
	if len(line) > maxDocument {
		return nil, fmt.Errorf("%d bytes", len(line))
	}
	if bytes.ContainsRune(bytes.TrimSuffix(line, []byte("\n")), '\n') {
		return nil, errors.New("more than a line")
	}
	var root map[string]json.RawMessage
	if err := json.Unmarshal(line, &root); err != nil {
		return nil, err
	}
	var meta document
	strict := json.NewDecoder(bytes.NewReader(root["_aws"]))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&meta); err != nil {
		return nil, fmt.Errorf("_aws: %w", err)
	}
	if meta.Timestamp == nil {
		return nil, errors.New("no Timestamp")
	}
	if at := time.UnixMilli(*meta.Timestamp); at.Before(now.AddDate(0, 0, -14)) || at.After(now.Add(2*time.Hour)) {
		return nil, fmt.Errorf("the Timestamp is %v", at)
	}
	if len(meta.CloudWatchMetrics) == 0 {
		return nil, errors.New("no metrics")
	}
	var all []Datum
	for _, d := range meta.CloudWatchMetrics {
		data, err := d.read(root)
		if err != nil {
			return nil, err
		}
		all = append(all, data...)
	}
	return all, nil
}

func (d directive) read(root map[string]json.RawMessage) ([]Datum, error) {
	switch {
	case len(d.Namespace) > maxNamespace || !namespace.MatchString(d.Namespace):
		return nil, fmt.Errorf("the namespace is %q", d.Namespace)
	case len(d.Metrics) == 0 || len(d.Metrics) > maxMetrics:
		return nil, fmt.Errorf("%d metrics in a directive", len(d.Metrics))
	case len(d.Dimensions) == 0:
		return nil, errors.New("no set of dimensions")
	}
	var all []Datum
	for _, names := range d.Dimensions {
		dimensions, err := read(names, root)
		if err != nil {
			return nil, err
		}
		for _, m := range d.Metrics {
			values, err := valuesOf(root[m.Name])
			switch {
			case err != nil:
				return nil, fmt.Errorf("the metric %q: %w", m.Name, err)
			case len(m.Name) > maxName || !printable.MatchString(m.Name) || dimensions[m.Name] != "":
				return nil, fmt.Errorf("a metric is called %q", m.Name)
			case m.Unit != "" && !slices.Contains(units, m.Unit):
				return nil, fmt.Errorf("the metric %q has the unit %q", m.Name, m.Unit)
			case m.StorageResolution != 0 && m.StorageResolution != 1 && m.StorageResolution != 60:
				return nil, fmt.Errorf("the metric %q has the resolution %d", m.Name, m.StorageResolution)
			}
			all = append(all, Datum{d.Namespace, m.Name, m.Unit, maps.Clone(dimensions), values})
		}
	}
	return all, nil
}

// read returns the dimensions of a set.
func read(names []string, root map[string]json.RawMessage) (map[string]string, error) {
	if len(names) > maxDimensions {
		return nil, fmt.Errorf("%d dimensions in a set", len(names))
	}
	dimensions := make(map[string]string)
	for _, name := range names {
		var value string
		if err := json.Unmarshal(root[name], &value); err != nil {
			return nil, fmt.Errorf("the dimension %q: %w", name, err)
		}
		if len(name) > maxDimension || !printable.MatchString(name) || len(value) > maxValue || !printable.MatchString(value) {
			return nil, fmt.Errorf("the dimension %q is %q", name, value)
		}
		dimensions[name] = value
	}
	return dimensions, nil
}

// valuesOf returns the values of a metric: a number, or up to a hundred.
func valuesOf(member json.RawMessage) ([]float64, error) {
	var one float64
	if err := json.Unmarshal(member, &one); err == nil {
		return []float64{one}, nil
	}
	var many []float64
	if err := json.Unmarshal(member, &many); err != nil {
		return nil, err
	}
	if len(many) == 0 || len(many) > maxValues {
		return nil, fmt.Errorf("%d values", len(many))
	}
	return many, nil
}
