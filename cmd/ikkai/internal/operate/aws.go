package operate

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"time"

	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// endpoint is where a service of AWS is in the table's Region.
func (o *Opened) endpoint(service string) string {
	domain := ".amazonaws.com"
	if strings.HasPrefix(o.Region, "cn-") {
		domain += ".cn"
	}
	return "https://" + service + "." + o.Region + domain
}

// signed returns a request to a service that is needed for this alone: the SDK's clients of Lambda
// and CloudWatch would be a module each. The signer is the SDK's own.
func (o *Opened) signed(ctx context.Context, service, address string, header http.Header, body []byte) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return nil, &UsageError{err.Error()}
	}
	request.Header = header
	credentials, err := o.AWS.Credentials.Retrieve(ctx)
	if err != nil {
		return nil, err
	}
	digest := sha256.Sum256(body)
	return request, v4.NewSigner().SignHTTP(ctx, credentials, request, hex.EncodeToString(digest[:]), service, o.Region, time.Now())
}
