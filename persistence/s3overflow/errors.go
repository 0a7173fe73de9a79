package s3overflow

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/overflow"
)

// tries is how often a request is sent whose answer does not come, or breaks off. The
// SDK repeats what S3 refuses for the moment.
const tries = 3

// try makes a request, each try within its timeout: a connection that died while the
// environment was frozen never answers. All requests may be repeated.
func (b *Blobs) try(ctx context.Context, op string, request func(context.Context) error) (err error) {
	for range tries {
		err = b.once(ctx, request)
		if err == nil || ctx.Err() != nil || !unanswered(err) {
			break
		}
	}
	return fault(op, err)
}

func (b *Blobs) once(ctx context.Context, request func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, b.config.RequestTimeout)
	defer cancel()
	return request(ctx)
}

// unanswered tells whether there is no answer of S3 in an error.
func unanswered(err error) bool {
	_, answered := errors.AsType[smithy.APIError](err)
	return !answered
}

// fault translates what a request came back with. Only S3's own word that there is no
// such key makes a blob a missing one.
func fault(op string, err error) error {
	if err == nil {
		return nil
	}
	if answer, ok := errors.AsType[smithy.APIError](err); ok && answer.ErrorCode() == "NoSuchKey" {
		return fmt.Errorf("%w: %w", overflow.ErrMissing, err)
	}
	return &persistence.Fault{Op: op, Retryable: retryable(err), Err: err}
}

// retryable tells whether the same request may succeed later: not where S3 has
// answered with a refusal (permissions, no such bucket).
func retryable(err error) bool {
	if unanswered(err) {
		return true
	}
	response, ok := errors.AsType[*awshttp.ResponseError](err)
	return !ok || response.HTTPStatusCode() >= http.StatusInternalServerError || response.HTTPStatusCode() == http.StatusTooManyRequests
}
