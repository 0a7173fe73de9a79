// Package sqsvisibility changes when messages of Amazon SQS are visible again, for
// eventguard.Backoff. It sends the one request that this takes by itself, signed by the AWS
// SDK's signer, so that the client of SQS is in nobody's binary for it.
//
// The function needs the permission sqs:ChangeMessageVisibility on its queue.
package sqsvisibility

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/ikkai-go/idempotency/idempotent/eventguard"
)

// Error says that messages keep the visibility timeout that they have.
type Error struct {
	// Status of the HTTP response; 0 where the request as a whole has succeeded.
	Status int
	// Codes are SQS's, such as AccessDenied: of the request, or of each message that was refused.
	Codes []string
}

func (e *Error) Error() string {
	if e.Status == 0 {
		return fmt.Sprintf("sqsvisibility: refused for %d messages: %s", len(e.Codes), strings.Join(e.Codes, ", "))
	}
	return fmt.Sprintf("sqsvisibility: HTTP %d: %s", e.Status, strings.Join(e.Codes, ", "))
}

// longestAnswer is more than an answer about ten messages has, in bytes.
const longestAnswer = 64 << 10

// New returns a function for eventguard.Backoff.Change. It uses the config's credentials, HTTP
// client and BaseEndpoint; the region is that of the queue. Its error is an [*Error], or says
// that there was no answer. A request is sent once. Safe for concurrent use.
func New(config aws.Config) func(ctx context.Context, queueARN string, messages []eventguard.Delay) error {
	client := config.HTTPClient
	if client == nil {
		client = http.DefaultClient
	}
	c := changer{credentials: config.Credentials, endpoint: aws.ToString(config.BaseEndpoint), client: client, signer: v4.NewSigner()}
	return c.change
}

type changer struct {
	credentials aws.CredentialsProvider
	endpoint    string // in place of SQS's own
	client      aws.HTTPClient
	signer      *v4.Signer
}

// entry is one message of a ChangeMessageVisibilityBatch.
type entry struct {
	ID                string `json:"Id"`
	ReceiptHandle     string
	VisibilityTimeout int
}

func (c changer) change(ctx context.Context, queueARN string, messages []eventguard.Delay) error {
	q, err := parse(queueARN)
	if err != nil {
		return err
	}
	if c.credentials == nil {
		return errors.New("sqsvisibility: the config has no credentials")
	}
	entries := make([]entry, len(messages))
	for i, m := range messages {
		entries[i] = entry{strconv.Itoa(i), m.ReceiptHandle, int(m.After / time.Second)}
	}
	body, err := json.Marshal(struct {
		QueueURL string `json:"QueueUrl"`
		Entries  []entry
	}{q.url(), entries})
	if err != nil {
		return err
	}
	request, err := c.request(ctx, q, body)
	if err != nil {
		return err
	}
	response, err := c.client.Do(request)
	if err != nil {
		return fmt.Errorf("sqsvisibility: no answer: %w", err)
	}
	defer response.Body.Close()
	return outcome(response)
}

// request is a signed request of SQS's JSON protocol.
func (c changer) request(ctx context.Context, q queue, body []byte) (*http.Request, error) {
	endpoint := c.endpoint
	if endpoint == "" {
		endpoint = q.endpoint() + "/"
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("sqsvisibility: %w", err)
	}
	request.Header.Set("Content-Type", "application/x-amz-json-1.0")
	request.Header.Set("X-Amz-Target", "AmazonSQS.ChangeMessageVisibilityBatch")
	credentials, err := c.credentials.Retrieve(ctx)
	if err != nil {
		return nil, fmt.Errorf("sqsvisibility: %w", err)
	}
	sum := sha256.Sum256(body)
	if err := c.signer.SignHTTP(ctx, credentials, request, hex.EncodeToString(sum[:]), "sqs", q.region, time.Now()); err != nil {
		return nil, fmt.Errorf("sqsvisibility: %w", err)
	}
	return request, nil
}

// outcome reads an answer.
func outcome(response *http.Response) error {
	var answer struct {
		Type   string `json:"__type"`
		Failed []struct{ Code string }
	}
	err := json.NewDecoder(io.LimitReader(response.Body, longestAnswer)).Decode(&answer)
	switch {
	case response.StatusCode != http.StatusOK:
		return &Error{response.StatusCode, []string{answer.Type[strings.LastIndexByte(answer.Type, '#')+1:]}}
	case err != nil:
		return fmt.Errorf("sqsvisibility: an answer that can't be read: %w", err)
	case len(answer.Failed) == 0:
		return nil
	}
	refused := &Error{}
	for _, f := range answer.Failed {
		refused.Codes = append(refused.Codes, f.Code)
	}
	slices.Sort(refused.Codes)
	return refused
}

// queue is where a queue is.
type queue struct{ partition, region, account, name string }

// parse takes the ARN of a queue apart: arn:aws:sqs:eu-west-1:123456789012:orders.
func parse(arn string) (queue, error) {
	part := strings.Split(arn, ":")
	if len(part) != 6 || part[0] != "arn" || part[2] != "sqs" || slices.Contains(part, "") {
		return queue{}, fmt.Errorf("sqsvisibility: %q is no ARN of a queue", arn)
	}
	return queue{part[1], part[3], part[4], part[5]}, nil
}

func (q queue) endpoint() string {
	suffix := "amazonaws.com"
	switch q.partition {
	case "aws-cn":
		suffix = "amazonaws.com.cn"
	case "aws-eusc": // the European Sovereign Cloud
		suffix = "amazonaws.eu"
	}
	return "https://sqs." + q.region + "." + suffix
}

func (q queue) url() string { return q.endpoint() + "/" + q.account + "/" + q.name }
