package emfspec_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ikkai-go/idempotency/internal/emfspec"
)

var now = time.UnixMilli(1_700_000_000_000)

// The example of the specification, shortened.
const example = `{"_aws":{"Timestamp":1700000000000,"CloudWatchMetrics":[{"Namespace":"lambda-function-metrics","Dimensions":[["functionVersion"]],"Metrics":[{"Name":"time","Unit":"Milliseconds","StorageResolution":60}]}]},"functionVersion":"$LATEST","time":100,"requestId":"989ffbf8-9ace-4817-a57c-e4dd734019ee"}`

func TestALineIsRead(t *testing.T) {
	data, err := emfspec.Read([]byte(example), now)
	if err != nil || len(data) != 1 {
		t.Fatal(data, err)
	}
	got := fmt.Sprint(data[0].Namespace, data[0].Name, data[0].Unit, data[0].Dimensions, data[0].Sum())
	if got != fmt.Sprint("lambda-function-metrics", "time", "Milliseconds", map[string]string{"functionVersion": "$LATEST"}, 100.0) {
		t.Error(got)
	}
	if !emfspec.Is([]byte(example)) || emfspec.Is([]byte(`{"level":"INFO"}`)) || emfspec.Is([]byte("_aws")) {
		t.Error("lines in the format are not told from others")
	}
}

func TestWhatTheSpecificationForbidsIsRefused(t *testing.T) {
	change := func(old, with string) string {
		if !strings.Contains(example, old) {
			t.Fatalf("no %s", old)
		}
		return strings.Replace(example, old, with, 1)
	}
	many := func(n int, of string) string { return strings.TrimSuffix(strings.Repeat(of+",", n), ",") }
	for name, line := range map[string]string{
		"no JSON":                             "time=100",
		"two lines":                           change(`,"time"`, ",\n\"time\""),
		"no metadata":                         `{"time":100}`,
		"an unknown member":                   change(`"Unit"`, `"Dimension":1,"Unit"`),
		"no time":                             change(`"Timestamp":1700000000000,`, ""),
		"a time long ago":                     change(`1700000000000`, "1600000000000"),
		"a time to come":                      change(`1700000000000`, "1700010000000"),
		"no directive":                        `{"_aws":{"Timestamp":1700000000000,"CloudWatchMetrics":[]}}`,
		"no namespace":                        change(`"lambda-function-metrics"`, `""`),
		"a namespace with a space":            change(`lambda-function-metrics`, `lambda metrics`),
		"no set of dimensions":                change(`[["functionVersion"]]`, `[]`),
		"31 dimensions":                       change(`["functionVersion"]`, "["+many(31, `"functionVersion"`)+"]"),
		"a dimension without value":           change(`["functionVersion"]`, `["functionName"]`),
		"a dimension of a number":             change(`"$LATEST"`, "1"),
		"an empty dimension":                  change(`"$LATEST"`, `""`),
		"a dimension of letters beyond ASCII": change(`"$LATEST"`, `"é"`),
		"a metric without value":              change(`"time":100,`, ""),
		"a metric of text":                    change(`"time":100`, `"time":"100"`),
		"no values":                           change(`"time":100`, `"time":[]`),
		"101 values":                          change(`"time":100`, `"time":[`+many(101, "1")+`]`),
		"101 metrics":                         change(`{"Name":"time","Unit":"Milliseconds","StorageResolution":60}`, many(101, `{"Name":"time"}`)),
		"no metrics":                          change(`{"Name":"time","Unit":"Milliseconds","StorageResolution":60}`, ""),
		"another unit":                        change(`Milliseconds`, "ms"),
		"another resolution":                  change(`"StorageResolution":60`, `"StorageResolution":10`),
		"too much":                            change(`$LATEST`, strings.Repeat("x", 256<<10)),
	} {
		if data, err := emfspec.Read([]byte(line), now); err == nil {
			t.Errorf("%s is read as %v", name, data)
		}
	}
}
