package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/internal/embedded"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

// desk is an embedded DynamoDB with records, as an operator finds them at night.
type desk struct {
	*testing.T
	db       *dynamotest.DB
	store    *dynamostore.Store
	endpoint string
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	db, store := embedded.Store(t, dynamostore.Config{})
	endpoint, err := db.Serve()
	if err != nil {
		t.Fatal(err)
	}
	return &desk{T: t, db: db, store: store, endpoint: endpoint}
}

// acquire begins a run, that long ago, with a lease of a minute.
func (d *desk) acquire(key string, ago time.Duration) persistence.Lease {
	d.Helper()
	at := time.Now().Add(-ago)
	record, err := d.store.Acquire(d.Context(), persistence.Claim{
		Key: key, Owner: "owner of " + key, Now: at, LeaseUntil: at.Add(time.Minute).Truncate(time.Millisecond), ExpiresAt: at.Add(48 * time.Hour).Truncate(time.Second),
		Run:   persistence.Run{StartedAt: at, Function: "payment:7", RequestID: "r-1"},
		Event: []byte(`{"order_id":"4711"}`),
	})
	if err != nil {
		d.Fatal(err)
	}
	return record.Lease()
}

// ikkai runs a command on the table, and returns its exit status and outputs.
func (d *desk) ikkai(args ...string) (status int, stdout, stderr string) {
	d.Helper()
	var out, problems bytes.Buffer
	status = run(d.Context(), append(args, "--table-name=idempotency", "--endpoint-url="+d.endpoint), &out, &problems)
	return status, out.String(), problems.String()
}

// must is ikkai for a command that succeeds.
func (d *desk) must(args ...string) string {
	d.Helper()
	status, stdout, stderr := d.ikkai(args...)
	if status != 0 {
		d.Fatalf("ikkai %s: exit status %d\n%s", strings.Join(args, " "), status, stderr)
	}
	return stdout
}

func (d *desk) version(key string) string {
	d.Helper()
	var record struct{ Version string }
	if err := json.Unmarshal([]byte(d.must("records", "show", key, "--json")), &record); err != nil {
		d.Fatal(err)
	}
	return record.Version
}

// TestANightWithAStuckRecord is the story that docs/operate.md tells.
func TestANightWithAStuckRecord(t *testing.T) {
	d := newDesk(t)
	event := filepath.Join(t.TempDir(), "event.json")
	if err := os.WriteFile(event, []byte(`{"order_id":"4711","at":"10:03"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	var found bytes.Buffer
	if status := run(t.Context(), []string{"records", "key", "--operation=payment", "--event=" + event, "--key=order_id"}, &found, io.Discard); status != 0 {
		t.Fatalf("finding the key: exit status %d", status)
	}
	key := strings.TrimSpace(found.String())
	if want, _ := idempotency.MustJMESPath("order_id").Key("payment", []byte(`{"order_id":"4711"}`)); key != want {
		t.Fatalf("the key is %s, want %s", key, want)
	}
	lease := d.acquire(key, time.Hour)
	if err := d.store.Checkpoint(t.Context(), lease, "charge:started", []byte(`{}`)); err != nil {
		t.Fatal(err)
	}
	d.acquire("payment#alive", 0)

	if list := d.must("records", "list", "--stuck"); !strings.Contains(list, key) || strings.Contains(list, "alive") || !strings.Contains(list, "outcome_unknown") {
		t.Errorf("the list is\n%s", list)
	}
	shown := d.must("records", "show", key)
	for _, part := range []string{"died, PROCESSING", "payment:7", "r-1", "charge  started", "19 bytes"} {
		if !strings.Contains(shown, part) {
			t.Errorf("what is shown lacks %q:\n%s", part, shown)
		}
	}
	if strings.Contains(shown, "4711") || !strings.Contains(d.must("records", "show", key, "--contents"), "4711") {
		t.Error("the event is to be shown only where that is asked for")
	}

	dry := d.must("records", "settle", key, "--decline-step=charge")
	if !strings.Contains(dry, "Nothing was done") || d.version(key) == "" || !strings.Contains(dry, "--version "+d.version(key)+" --yes") {
		t.Errorf("the dry run says\n%s", dry)
	}
	version := d.version(key)
	d.must("records", "settle", key, "--decline-step=charge", "--version="+version, "--yes")
	if status, _, stderr := d.ikkai("records", "settle", key, "--completed", "--version="+version, "--yes"); status != 4 {
		t.Errorf("settling what has changed: exit status %d\n%s", status, stderr)
	}

	lambda := newLambda(t, "payment:live", func(event []byte) error {
		if string(event) != `{"order_id":"4711"}` {
			t.Errorf("the event is %s", event)
		}
		at := time.Now()
		record, err := d.store.Acquire(t.Context(), persistence.Claim{Key: key, Owner: "the resumed run", Now: at, LeaseUntil: at.Add(time.Minute).Truncate(time.Millisecond), ExpiresAt: at.Add(time.Hour).Truncate(time.Second)})
		if err != nil || record.Owner != "the resumed run" {
			t.Fatalf("the resumed run gets %+v, %v", record, err)
		}
		return d.store.Complete(t.Context(), record.Lease(), persistence.Outcome{Status: persistence.StatusCompleted, Result: []byte(`"paid"`), ExpiresAt: at.Add(time.Hour).Truncate(time.Second)})
	})
	// The hold of the settlement is over at once, or the next second.
	resumed := d.must("records", "resume", key, "--function=payment:live", "--lambda-endpoint="+lambda, "--version="+d.version(key), "--yes")
	if !strings.Contains(resumed, "completed") {
		t.Errorf("resuming says\n%s", resumed)
	}
	if status, _, _ := d.ikkai("records", "resume", key, "--function=payment:live", "--lambda-endpoint="+lambda); status != 4 {
		t.Errorf("resuming what is finished: exit status %d", status)
	}
	d.must("records", "forget", key, "--version="+d.version(key), "--yes")
	if status, _, stderr := d.ikkai("records", "show", key); status != 3 || !strings.Contains(stderr, "records key --help") {
		t.Errorf("showing what is gone: exit status %d\n%s", status, stderr)
	}
}

// newLambda is Lambda's API of invocations, for one function.
func newLambda(t *testing.T, name string, function func(event []byte) error) (endpoint string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		event, _ := io.ReadAll(r.Body)
		if r.Method != http.MethodPost || r.URL.Path != "/2015-03-31/functions/"+name+"/invocations" || !strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 ") || r.Header.Get("X-Amz-Client-Context") == "" {
			t.Errorf("Lambda is asked %s %s", r.Method, r.URL)
		}
		if function(event) != nil {
			w.Header().Set("X-Amz-Function-Error", "Unhandled")
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestAListIsWhatTheNextCommandTakes(t *testing.T) {
	d := newDesk(t)
	for _, key := range []string{"payment#1", "payment#2", "payment#3"} {
		d.acquire(key, time.Hour)
	}
	d.acquire("order#1", time.Hour)
	file := filepath.Join(t.TempDir(), "list")
	if err := os.WriteFile(file, []byte(d.must("records", "list", "--operation=payment", "--state=died", "--json")), 0o600); err != nil {
		t.Fatal(err)
	}
	if dry := d.must("records", "forget", "--from="+file); !strings.Contains(dry, "done to: 3;") || !strings.Contains(dry, "Nothing was done") {
		t.Errorf("the dry run says\n%s", dry)
	}
	d.must("records", "settle", "payment#2", "--failed=CardDeclined", "--message=no funds", "--version="+d.version("payment#2"), "--yes")
	status, stdout, stderr := d.ikkai("records", "forget", "--from="+file, "--yes")
	if status != 4 || strings.Count(stdout, "is gone") != 2 || !strings.Contains(stderr, "left alone: records: payment#2") {
		t.Errorf("forgetting the list: exit status %d\n%s%s", status, stdout, stderr)
	}
	if list := d.must("records", "list"); !strings.Contains(list, "payment#2") || !strings.Contains(list, "order#1") || strings.Contains(list, "payment#1") {
		t.Errorf("left are\n%s", list)
	}
}

func TestTheWaysToAKeyAreThoseOfTheFunctions(t *testing.T) {
	item, _ := idempotency.ItemKey("payroll", "2026-11", "123")
	value, _ := idempotency.Key("payment", "4711")
	ofTenant, _ := idempotency.TenantKey("t1", value)
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"a value":             {[]string{"--operation=payment", "--value=4711"}, value},
		"a tenant's value":    {[]string{"--operation=payment", "--value=4711", "--tenant=t1"}, ofTenant},
		"an item of a batch":  {[]string{"--operation=payroll", "--batch=2026-11", "--item=123"}, item},
		"two ways at once":    {[]string{"--operation=payment", "--value=1", "--batch=b", "--item=i"}, ""},
		"no way":              {[]string{"--operation=payment"}, ""},
		"no operation":        {[]string{"--value=4711"}, ""},
		"an unknown scope":    {[]string{"--operation=payment", "--idempotency-key=k", "--scope=everybody"}, ""},
		"a sender not given":  {[]string{"--operation=payment", "--idempotency-key=k", "--scope=jwt-subject"}, ""},
		"a bad expression":    {[]string{"--operation=payment", "--event=-", "--key=[["}, ""},
		"a file that is none": {[]string{"--operation=payment", "--event=nowhere.json"}, ""},
	} {
		var stdout, stderr bytes.Buffer
		status := run(t.Context(), append([]string{"records", "key"}, test.args...), &stdout, &stderr)
		if got := strings.TrimSpace(stdout.String()); got != test.want || (status == 0) != (test.want != "") || test.want == "" && status != 2 {
			t.Errorf("%s: %q, exit status %d, want %q\n%s", name, got, status, test.want, &stderr)
		}
	}
	keys := make(map[string]bool)
	for _, args := range [][]string{
		{"--scope=jwt-subject", "--claim=iss=https://issuer", "--claim=sub=mika"}, {"--scope=jwt-subject", "--claim=iss=https://issuer", "--claim=sub=taro"}, {"--scope=api-key", "--api-key-id=a"}, {"--scope=none"},
	} {
		var stdout, stderr bytes.Buffer
		if status := run(t.Context(), append([]string{"records", "key", "--operation=payment", "--idempotency-key=k"}, args...), &stdout, &stderr); status != 0 {
			t.Errorf("%v: exit status %d\n%s", args, status, &stderr)
		}
		keys[stdout.String()] = true
	}
	if len(keys) != 4 {
		t.Errorf("the scopes have %d keys", len(keys))
	}
}

func TestWhatIsTypedWronglyIsSaid(t *testing.T) {
	d := newDesk(t)
	d.acquire("payment#1", time.Hour)
	for name, test := range map[string]struct {
		args []string
		say  string
	}{
		"a state that is none":         {[]string{"records", "list", "--state=lost"}, "is none of running, died"},
		"a reason that is none":        {[]string{"records", "list", "--reason=bored"}, "no such reason"},
		"a settlement without a word":  {[]string{"records", "settle", "payment#1"}, "--completed"},
		"a failure without a message":  {[]string{"records", "settle", "payment#1", "--failed=X"}, "--message"},
		"a message of nothing":         {[]string{"records", "settle", "payment#1", "--completed", "--message=m"}, "--failed"},
		"a result of what has none":    {[]string{"records", "settle", "payment#1", "--decline-step=s", "--result=../../testdata/events/sqs-orders.json"}, "--result"},
		"two settlements":              {[]string{"records", "settle", "payment#1", "--completed", "--failed=X"}, "One of"},
		"yes without a version":        {[]string{"records", "forget", "payment#1", "--yes"}, "--version"},
		"no record":                    {[]string{"records", "forget"}, "which record"},
		"a record and a list":          {[]string{"records", "forget", "payment#1", "--from=x"}, "which record"},
		"no function":                  {[]string{"records", "resume", "payment#1"}, "--function"},
		"a result that is no JSON":     {[]string{"records", "settle", "payment#1", "--completed", "--result=" + os.Args[0]}, "not JSON"},
		"a subcommand that is none":    {[]string{"records", "explode"}, "no command"},
		"a list that is none":          {[]string{"records", "forget", "--from=records_test.go"}, "line 1"},
		"a number that can't be":       {[]string{"cost-", "--requests=-1"}, "no command"},
		"a version for a list":         {[]string{"records", "forget", "--from=x", "--version=1"}, "--version"},
		"an event for a list":          {[]string{"records", "resume", "--from=x", "--event=e", "--function=f"}, "--event"},
		"stdin twice":                  {[]string{"records", "settle", "--from=-", "--completed", "--result=-"}, "stdin"},
		"a tenant of no operation":     {[]string{"records", "list", "--tenant=t"}, "--operation"},
		"too many segments":            {[]string{"records", "list", "--segments=1000"}, "--segments"},
		"attributes that are not JSON": {[]string{"records", "list", "--attributes=records_test.go"}, "--attributes"},
	} {
		if status, _, stderr := d.ikkai(test.args...); status != 2 || !strings.Contains(stderr, test.say) {
			t.Errorf("%s: exit status %d, want 2, and %q in\n%s", name, status, test.say, stderr)
		}
	}
	var stderr bytes.Buffer
	t.Setenv("IDEMPOTENCY_TABLE", "")
	if status := run(t.Context(), []string{"records", "list"}, io.Discard, &stderr); status != 2 || !strings.Contains(stderr.String(), "--table-name") {
		t.Errorf("no table: exit status %d\n%s", status, &stderr)
	}
}

func TestTheDoctor(t *testing.T) {
	d := newDesk(t)
	d.acquire("payment#1", time.Hour)
	report := d.must("doctor")
	if !strings.Contains(report, "skip  throttles") {
		t.Errorf("throttles of an endpoint without CloudWatch:\n%s", report)
	}
	for _, line := range []string{"ok    keys", "ok    ttl", "ok    permission dynamodb:PutItem", "ok    clock", "warn  stuck records", "warn  deletion protection"} {
		if !strings.Contains(report, line) {
			t.Errorf("the report lacks %q:\n%s", line, report)
		}
	}
	var stdout, stderr bytes.Buffer
	if status := run(t.Context(), []string{"doctor", "--table-name=nowhere", "--endpoint-url=" + d.endpoint}, &stdout, &stderr); status != 5 || !strings.Contains(stdout.String(), "there is no table") {
		t.Errorf("without a table: exit status %d\n%s%s", status, &stdout, &stderr)
	}
	closed := httptest.NewServer(nil)
	closed.Close()
	t.Setenv("AWS_MAX_ATTEMPTS", "1")
	stdout.Reset()
	if status := run(t.Context(), []string{"doctor", "--table-name=t", "--endpoint-url=" + closed.URL}, &stdout, &stderr); status != 5 || strings.Count(stdout.String(), "\n") != 1 {
		t.Errorf("without an answer: exit status %d\n%s%s", status, &stdout, &stderr)
	}
	if status, stdout, _ := d.ikkai("doctor", "--attributes="+attributes(t, `{"Key": "id"}`)); status != 5 || !strings.Contains(stdout, "fail  keys") {
		t.Errorf("with other keys: exit status %d\n%s", status, stdout)
	}
}

func TestTheDoctorAsksForThrottles(t *testing.T) {
	d := newDesk(t)
	for name, test := range map[string]struct {
		status       int
		answer, want string
	}{
		"none":         {200, `<GetMetricStatisticsResponse><GetMetricStatisticsResult><Datapoints/></GetMetricStatisticsResult></GetMetricStatisticsResponse>`, "ok    throttles"},
		"some":         {200, `<GetMetricStatisticsResponse><GetMetricStatisticsResult><Datapoints><member><Sum>3.0</Sum></member></Datapoints></GetMetricStatisticsResult></GetMetricStatisticsResponse>`, "3 writes and 3 reads"},
		"not allowed":  {403, `<ErrorResponse><Error><Code>AccessDenied</Code><Message>secret</Message></Error></ErrorResponse>`, "cloudwatch:GetMetricStatistics: AccessDenied"},
		"another page": {200, `hello`, "skip  throttles"},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_ = r.ParseForm()
			if r.Form.Get("Dimensions.member.1.Value") != "idempotency" || !strings.Contains(r.Header.Get("Authorization"), "/monitoring/aws4_request") {
				t.Errorf("CloudWatch is asked %v", r.Form)
			}
			w.WriteHeader(test.status)
			_, _ = io.WriteString(w, test.answer)
		}))
		if report := d.must("doctor", "--cloudwatch-endpoint="+server.URL); !strings.Contains(report, test.want) || strings.Contains(report, "secret") {
			t.Errorf("%s: the report lacks %q:\n%s", name, test.want, report)
		}
		server.Close()
	}
}

func attributes(t *testing.T, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "attributes.json")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestTheConsoleIsServedUntilItIsEnded(t *testing.T) {
	d := newDesk(t)
	ctx, cancel := context.WithCancel(t.Context())
	addresses, out := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, []string{"console", "--table-name=idempotency", "--endpoint-url=" + d.endpoint}, out, io.Discard)
	}()
	address := make([]byte, 200)
	n, err := addresses.Read(address)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.Get(strings.TrimSpace(string(address[:n])) + "&")
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusUnauthorized { // a client that keeps no cookies is sent on, and not let in
		t.Errorf("a client without cookies gets %d", response.StatusCode)
	}
	cancel()
	if status := <-ended; status != 0 {
		t.Errorf("exit status %d", status)
	}
}

// Who finds that an execution holds a key is told how to say that it has ended.
func TestTheRecordOfAnExecutionIsForgottenWhenThatHasEnded(t *testing.T) {
	d := newDesk(t)
	const arn = "arn:aws:lambda:eu-west-1:123456789012:function:orders:7/durable-execution/order-1/e1"
	at := time.Now().Truncate(time.Second)
	if _, err := d.store.Acquire(t.Context(), persistence.Claim{Key: "orders#1", Owner: arn + "#1", Execution: arn + "#", Now: at, LeaseUntil: at.AddDate(1, 0, 0), ExpiresAt: at.AddDate(1, 0, 1)}); err != nil {
		t.Fatal(err)
	}
	if status, _, stderr := d.ikkai("records", "forget", "orders#1"); status != 4 || !strings.Contains(stderr, "--ended-execution "+arn) {
		t.Errorf("exit status %d\n%s", status, stderr)
	}
	if dry := d.must("records", "forget", "--ended-execution", arn, "orders#1"); !strings.Contains(dry, "Nothing was done") {
		t.Errorf("the dry run says\n%s", dry)
	}
}
