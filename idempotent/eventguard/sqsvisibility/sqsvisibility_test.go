package sqsvisibility_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/ikkai-go/idempotency/idempotent/eventguard"
	"github.com/ikkai-go/idempotency/idempotent/eventguard/sqsvisibility"
)

// answers is SQS, as far as one answer goes.
type answers struct {
	status int
	body   string
	err    error

	request *http.Request
	sent    string
}

func (a *answers) Do(r *http.Request) (*http.Response, error) {
	if a.err != nil {
		return nil, a.err
	}
	sent, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	a.request, a.sent = r, string(sent)
	return &http.Response{StatusCode: a.status, Body: io.NopCloser(strings.NewReader(a.body))}, nil
}

func (a *answers) config() aws.Config {
	return aws.Config{HTTPClient: a, Credentials: credentials.NewStaticCredentialsProvider("AKIDEXAMPLE", "secret", "token")}
}

const orders = "arn:aws:sqs:eu-west-1:123456789012:orders"

var delays = []eventguard.Delay{{ReceiptHandle: "first", After: 30 * time.Second}, {ReceiptHandle: "second", After: 15 * time.Minute}}

func TestOneRequestChangesAllMessages(t *testing.T) {
	a := &answers{status: http.StatusOK, body: `{"Successful":[{"Id":"0"},{"Id":"1"}],"Failed":[]}`}
	if err := sqsvisibility.New(a.config())(t.Context(), orders, delays); err != nil {
		t.Fatal(err)
	}
	const want = `{"QueueUrl":"https://sqs.eu-west-1.amazonaws.com/123456789012/orders","Entries":[{"Id":"0","ReceiptHandle":"first","VisibilityTimeout":30},{"Id":"1","ReceiptHandle":"second","VisibilityTimeout":900}]}`
	if a.sent != want {
		t.Errorf("sent %s, want %s", a.sent, want)
	}
	h := a.request.Header
	if a.request.URL.String() != "https://sqs.eu-west-1.amazonaws.com/" || h.Get("X-Amz-Target") != "AmazonSQS.ChangeMessageVisibilityBatch" ||
		h.Get("Content-Type") != "application/x-amz-json-1.0" || h.Get("X-Amz-Security-Token") != "token" ||
		!strings.Contains(h.Get("Authorization"), "/eu-west-1/sqs/aws4_request") || !strings.Contains(h.Get("Authorization"), "x-amz-target") {
		t.Errorf("sent %s %v", a.request.URL, h)
	}
}

func TestWhatIsRefusedIsAnError(t *testing.T) {
	for name, test := range map[string]struct {
		answers
		want string
	}{
		"denied":      {answers{status: 400, body: `{"__type":"com.amazonaws.sqs#AccessDeniedException","message":"no"}`}, "sqsvisibility: HTTP 400: AccessDeniedException"},
		"no JSON":     {answers{status: 503, body: `<html>`}, "sqsvisibility: HTTP 503: "},
		"one message": {answers{status: 200, body: `{"Successful":[{"Id":"0"}],"Failed":[{"Id":"1","Code":"MessageNotInflight","SenderFault":true}]}`}, "sqsvisibility: refused for 1 messages: MessageNotInflight"},
		"no answer":   {answers{err: errors.New("connection refused")}, "sqsvisibility: no answer: connection refused"},
	} {
		err := sqsvisibility.New(test.config())(t.Context(), orders, delays)
		if err == nil || err.Error() != test.want {
			t.Errorf("%s: %v, want %s", name, err, test.want)
		}
		refused, _ := errors.AsType[*sqsvisibility.Error](err)
		if (refused != nil) != (test.err == nil) {
			t.Errorf("%s: %T", name, err)
		}
	}
}

func TestQueuesAreWhereTheirARNsSay(t *testing.T) {
	for arn, want := range map[string]string{
		"arn:aws-cn:sqs:cn-north-1:123456789012:orders.fifo":   "https://sqs.cn-north-1.amazonaws.com.cn/",
		"arn:aws-eusc:sqs:eusc-de-east-1:123456789012:orders":  "https://sqs.eusc-de-east-1.amazonaws.eu/",
		"arn:aws-us-gov:sqs:us-gov-west-1:123456789012:orders": "https://sqs.us-gov-west-1.amazonaws.com/",
		"arn:aws:sns:eu-west-1:123456789012:orders":            "",
		"arn:aws:sqs::123456789012:orders":                     "",
		"orders":                                               "",
	} {
		a := &answers{status: http.StatusOK, body: `{}`}
		err := sqsvisibility.New(a.config())(t.Context(), arn, delays)
		if (err == nil) != (want != "") || err == nil && a.request.URL.String() != want {
			t.Errorf("%s: %v", arn, err)
		}
	}
}

func ExampleNew() {
	sqs := &answers{status: http.StatusOK, body: `{"Successful":[{"Id":"0"}]}`} // in place of a client of net/http
	change := sqsvisibility.New(sqs.config())
	config := eventguard.Config{Backoff: eventguard.Backoff{Change: change}}
	err := config.Backoff.Change(context.Background(), orders, delays[:1])
	fmt.Println(sqs.request.Header.Get("X-Amz-Target"), err)
	// Output:
	// AmazonSQS.ChangeMessageVisibilityBatch <nil>
}
