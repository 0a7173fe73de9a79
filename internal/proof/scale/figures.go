package scale

import (
	"slices"
	"time"
)

// figures are the pictures of docs/scale.md, of the reports that are recorded now and of those of the build before the
// guard yielded under throttles.
func figures(now, before []*Report) []chart {
	return []chart{
		{
			Name: "scale-others", Title: "500 other requests a second, while one key has a storm",
			Description: "Requests answered in each second. A storm of 5,000 duplicates of one key lasts from second 5 to second 15. " +
				"Before, the other requests were answered less and less during it; now they are as without it.",
			Unit: "other requests answered in the second; the storm is from 5 to 15",
			Lines: []line{
				{"now", "good", answered(now, "storm", "others", 20)},
				{"before: claims as patient as completions, pauses of the SDK", "stop", answered(before, "storm", "others", 20)},
			},
		},
		{
			Name: "scale-storm", Title: "5,000 duplicates a second of one key",
			Description: "Duplicates answered in each second of the storm. With the defaults, and with Cached, all of them are; before, about 1,000.",
			Unit:        "duplicates answered in the second",
			Lines: []line{
				{"now, with the defaults", "good", answered(now, "storm", "storm", 20)},
				{"now, with Cached", "wait", answered(now, "storm, Cached", "storm", 20)},
				{"before, with the defaults", "stop", answered(before, "storm", "storm", 20)},
			},
		},
		{
			Name: "scale-throttled", Title: "A table that bears less than it is asked for",
			Description: "What 1,000 provisioned write units a second answer where 800 requests a second want 1,600, from second 5 to 25, and then 300 again. " +
				"About 500 a second are answered, and all of them again a few seconds after the load has gone.",
			Unit: "requests in the second",
			Lines: []line{
				{"asked for, on average", "wait", asked(60)},
				{"answered", "good", sum(answered(now, "throttled table", "usual", 60), answered(now, "throttled table", "more", 60))},
			},
		},
		{
			Name: "scale-launch", Title: "A launch with 50,000 new keys a second",
			Description: "New keys answered in each second. A new on-demand table answers about 2,000, as much as it bears; one with the capacity ready, and with the environments for it, all of them.",
			Unit:        "new keys answered in the second; they come from 5 to 15",
			Lines: []line{
				{"a new on-demand table, 1,000 environments", "stop", answered(now, "launch, new on-demand table", "new", 20)},
				{"120,000 write units ready, 4,000 environments", "good", answered(now, "launch, 120,000 write units ready", "new", 20)},
			},
		},
	}
}

func reportOf(reports []*Report, scenario string) *Report {
	at := slices.IndexFunc(reports, func(r *Report) bool { return r.Scenario == scenario })
	return reports[at]
}

// answered is how many requests of a stream were answered in each of so many seconds, at the size of the whole.
func answered(reports []*Report, scenario, stream string, seconds int) []float64 {
	r := reportOf(reports, scenario)
	values := make([]float64, seconds)
	for second, s := range r.Seconds {
		if second < seconds {
			values[second] = float64(s.Answered[stream]) / r.Share
		}
	}
	return values
}

// asked is how many requests come a second to the throttled table.
func asked(seconds int) []float64 {
	values := make([]float64, seconds)
	for _, stream := range short("", 1).Streams {
		for second := range values {
			at := time.Duration(second) * time.Second
			if at >= stream.From && (stream.To == 0 || at < stream.To) {
				values[second] += stream.Rate
			}
		}
	}
	return values
}

// sum adds b to a.
func sum(a, b []float64) []float64 {
	for i, v := range b {
		a[i] += v
	}
	return a
}
