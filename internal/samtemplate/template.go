// Package samtemplate reads of template.yaml what the tests of the sample functions hold
// it to: which lines of the log raise an alarm, and what a function may do with a table.
package samtemplate

import (
	"fmt"
	"os"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Template is a SAM template. It is not changed, so it is safe for concurrent use.
type Template struct {
	// Filters are its metric filters.
	Filters []Filter
	// Searches are those of its dashboards for metrics.
	Searches []Search
	// statements are those of the policies, by the logical ID of what has them.
	statements map[string][]Statement
	// roles are the logical IDs of the roles of functions that bring their own.
	roles map[string]string
	// alarmed are the names of the metrics that have an alarm.
	alarmed map[string]bool
}

// Filter is a metric filter.
type Filter struct {
	ID         string // the logical one
	Metric     string
	Dimensions map[string]string // name to selector, such as "$.operation"
	Pattern    Pattern
}

// Alarmed tells whether the template has an alarm on the filter's metric.
func (t *Template) Alarmed(f Filter) bool { return t.alarmed[f.Metric] }

// Matches counts the lines that each filter counts, by its logical ID; those that count
// none are left out.
func (t *Template) Matches(lines [][]byte) map[string]int {
	counts := make(map[string]int)
	for _, f := range t.Filters {
		for _, line := range lines {
			if f.Pattern.Matches(line) {
				counts[f.ID]++
			}
		}
	}
	return counts
}

// Read reads a template.
func Read(file string) (*Template, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return parse(content)
}

// resource is what of a resource is looked at.
type resource struct {
	Type       string `yaml:"Type"`
	Properties struct {
		DashboardBody         string                 `yaml:"DashboardBody"`
		FilterPattern         string                 `yaml:"FilterPattern"`
		MetricTransformations []metricTransformation `yaml:"MetricTransformations"`
		MetricName            string                 `yaml:"MetricName"`
		Metrics               []struct {
			MetricStat struct {
				Metric struct {
					MetricName string `yaml:"MetricName"`
				} `yaml:"Metric"`
			} `yaml:"MetricStat"`
		} `yaml:"Metrics"`
		Role     yaml.Node   `yaml:"Role"`
		Policies []yaml.Node `yaml:"Policies"`
	} `yaml:"Properties"`
}

type metricTransformation struct {
	MetricName string `yaml:"MetricName"`
	Dimensions []struct {
		Key   string `yaml:"Key"`
		Value string `yaml:"Value"`
	} `yaml:"Dimensions"`
}

func parse(content []byte) (*Template, error) {
	var whole struct {
		Resources map[string]yaml.Node `yaml:"Resources"`
	}
	if err := yaml.Unmarshal(content, &whole); err != nil {
		return nil, err
	}
	t := &Template{statements: map[string][]Statement{}, roles: map[string]string{}, alarmed: map[string]bool{}}
	for id, node := range whole.Resources {
		if err := t.add(id, &node); err != nil {
			return nil, fmt.Errorf("%s: %w", id, err)
		}
	}
	return t, nil
}

func (t *Template) add(id string, node *yaml.Node) error {
	var kind struct {
		Type string `yaml:"Type"`
	}
	if err := node.Decode(&kind); err != nil {
		return err
	}
	switch kind.Type {
	case "AWS::Logs::MetricFilter", "AWS::CloudWatch::Alarm", "AWS::CloudWatch::Dashboard", "AWS::Serverless::Function", "AWS::IAM::Role":
	default:
		return nil
	}
	var r resource
	if err := node.Decode(&r); err != nil {
		return err
	}
	switch properties := r.Properties; r.Type {
	case "AWS::Logs::MetricFilter":
		return t.addFilter(id, properties.FilterPattern, properties.MetricTransformations)
	case "AWS::CloudWatch::Alarm":
		t.alarmed[properties.MetricName] = true
		for _, m := range properties.Metrics {
			t.alarmed[m.MetricStat.Metric.MetricName] = true
		}
	case "AWS::CloudWatch::Dashboard":
		searches, err := searchesOf(properties.DashboardBody)
		t.Searches = append(t.Searches, searches...)
		return err
	default:
		// "!GetAtt OrdersRole.Arn"
		t.roles[id], _, _ = strings.Cut(properties.Role.Value, ".")
		for _, policy := range properties.Policies {
			statements, err := statementsOf(&policy)
			if err != nil {
				return err
			}
			t.statements[id] = append(t.statements[id], statements...)
		}
	}
	return nil
}

func (t *Template) addFilter(id, text string, to []metricTransformation) error {
	pattern, err := ParsePattern(text)
	if err != nil {
		return err
	}
	if len(to) != 1 {
		return fmt.Errorf("there are %d metric transformations, and CloudWatch takes one", len(to))
	}
	f := Filter{ID: id, Metric: to[0].MetricName, Dimensions: map[string]string{}, Pattern: pattern}
	for _, d := range to[0].Dimensions {
		f.Dimensions[d.Key] = d.Value
	}
	t.Filters = append(t.Filters, f)
	return nil
}
