package samtemplate

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// StackName is the name of the stack that the template is read for, and so the namespace
// of its metrics.
const StackName = "stack"

// Search is a search expression of a dashboard: for all metrics of a name with just these
// dimensions.
type Search struct {
	Namespace  string
	Dimensions []string
	Metric     string
	Statistic  string
}

// Finds tells whether the search finds a metric.
func (s Search) Finds(namespace, metric string, dimensions map[string]string) bool {
	return s.Namespace == namespace && s.Metric == metric &&
		slices.Equal(slices.Sorted(slices.Values(s.Dimensions)), slices.Sorted(maps.Keys(dimensions)))
}

// search is the form that is understood of what CloudWatch has ("Search expression
// syntax", Amazon CloudWatch User Guide), with quotes around what may have other
// characters than letters and digits.
var search = regexp.MustCompile(`^SEARCH\('\{"([^"]+)",([a-z_,]+)\} MetricName="([a-z_]+)"', '(Sum|Average|p[0-9.]+)', [0-9]+\)$`)

// pseudo are the parameters that AWS fills in.
var pseudo = strings.NewReplacer("${AWS::StackName}", StackName, "${AWS::Region}", "us-east-1")

// searchesOf returns the searches of a dashboard's body. A widget for metrics has nothing
// but searches.
func searchesOf(body string) ([]Search, error) {
	var dashboard struct {
		Widgets []struct {
			Type       string
			Properties struct {
				Metrics [][]struct{ Expression string }
			}
		}
	}
	if err := json.Unmarshal([]byte(pseudo.Replace(body)), &dashboard); err != nil {
		return nil, err
	}
	var all []Search
	for _, w := range dashboard.Widgets {
		for _, m := range slices.Concat(w.Properties.Metrics...) {
			parts := search.FindStringSubmatch(m.Expression)
			if parts == nil {
				return nil, fmt.Errorf("the search %q is not understood", m.Expression)
			}
			all = append(all, Search{Namespace: parts[1], Dimensions: strings.Split(parts[2], ","), Metric: parts[3], Statistic: parts[4]})
		}
	}
	return all, nil
}
