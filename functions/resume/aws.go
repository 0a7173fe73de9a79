package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/ikkai-go/idempotency/persistence/records"
)

// aws is the two requests that are made to other services than DynamoDB, with its credentials. The
// SDK's clients of Lambda and SQS would be two modules more for one request each.
type aws struct {
	options dynamodb.Options
	setting func(variable string) string
}

// maxAnswer is how much of an answer is read; Lambda's are no longer than 6 MB.
const maxAnswer = 7 << 20

// invoke sends an event to a function and waits for its end. What the function answers is not
// looked at: the record says what has come of it.
// https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html
func (a *aws) invoke(ctx context.Context, function string, r records.Record, event []byte) error {
	header := http.Header{"X-Amz-Client-Context": {records.ClientContext(r.Key)}}
	if r.Tenant != "" {
		header.Set("X-Amz-Tenant-Id", r.Tenant)
	}
	answer, err := a.post(ctx, "lambda", "LAMBDA", "/2015-03-31/functions/"+url.PathEscape(function)+"/invocations", header, event)
	switch {
	case err != nil:
		return fmt.Errorf("invoking the function: %w", err)
	case answer.Get("X-Amz-Function-Error") != "":
		return fmt.Errorf("%w (%s)", records.ErrFunctionFailed, answer.Get("X-Amz-Function-Error"))
	}
	return nil
}

// sendMessage sends a message to a queue.
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html
func (a *aws) sendMessage(ctx context.Context, queue, body string) error {
	content, err := json.Marshal(map[string]string{"QueueUrl": queue, "MessageBody": body})
	if err != nil {
		return err
	}
	header := http.Header{"Content-Type": {"application/x-amz-json-1.0"}, "X-Amz-Target": {"AmazonSQS.SendMessage"}}
	if _, err := a.post(ctx, "sqs", "SQS", "/", header, content); err != nil {
		return fmt.Errorf("sending a message: %w", err)
	}
	return nil
}

// post makes a signed request, and returns the headers of an answer that says that it was
// carried out.
func (a *aws) post(ctx context.Context, service, variable, path string, header http.Header, body []byte) (http.Header, error) {
	endpoint := cmp.Or(a.setting("AWS_ENDPOINT_URL_"+variable), "https://"+service+"."+a.options.Region+"."+domain(a.options.Region))
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header = header
	credentials, err := a.options.Credentials.Retrieve(ctx)
	if err != nil {
		return nil, err
	}
	digest := sha256.Sum256(body)
	if err := v4.NewSigner().SignHTTP(ctx, credentials, request, hex.EncodeToString(digest[:]), service, a.options.Region, time.Now()); err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, io.LimitReader(response.Body, maxAnswer)); err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s has answered %s (%s)", service, response.Status, cmp.Or(response.Header.Get("X-Amzn-Errortype"), "no reason given"))
	}
	return response.Header, nil
}

// domain is that of AWS's endpoints in a Region.
func domain(region string) string {
	switch {
	case strings.HasPrefix(region, "cn-"):
		return "amazonaws.com.cn"
	case strings.HasPrefix(region, "eusc-"): // the European Sovereign Cloud
		return "amazonaws.eu"
	default:
		return "amazonaws.com"
	}
}
