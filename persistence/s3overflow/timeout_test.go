package s3overflow_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/s3overflow"
)

// silent never answers until the request's context ends, and counts.
type silent struct{ requests int }

func (s *silent) hang(ctx context.Context) error {
	s.requests++
	<-ctx.Done()
	return ctx.Err()
}

func (s *silent) PutObject(ctx context.Context, _ *s3.PutObjectInput, _ ...func(*s3.Options)) (*s3.PutObjectOutput, error) {
	return nil, s.hang(ctx)
}

func (s *silent) GetObject(ctx context.Context, _ *s3.GetObjectInput, _ ...func(*s3.Options)) (*s3.GetObjectOutput, error) {
	return nil, s.hang(ctx)
}

func (s *silent) DeleteObject(ctx context.Context, _ *s3.DeleteObjectInput, _ ...func(*s3.Options)) (*s3.DeleteObjectOutput, error) {
	return nil, s.hang(ctx)
}

// A connection that died while the environment was frozen never answers.
func TestARequestThatIsNotAnsweredIsSentAgainWithinTheDeadline(t *testing.T) {
	for _, tt := range []struct {
		name     string
		deadline time.Duration
		took     time.Duration
		requests int
	}{
		{"plenty of time", time.Hour, 3 * time.Second, 3},
		{"less than that", 1500 * time.Millisecond, 1500 * time.Millisecond, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for op := range calls(nil) {
					api := new(silent)
					call := calls(open(t, api, s3overflow.Config{Bucket: firstName}))[op]
					ctx, cancel := context.WithTimeout(t.Context(), tt.deadline)
					started := time.Now()
					err := call(ctx)
					cancel()
					if took := time.Since(started); took != tt.took || api.requests != tt.requests {
						t.Errorf("%s: want %d requests in %v, got %d in %v", op, tt.requests, tt.took, api.requests, took)
					}
					if !errors.Is(err, context.DeadlineExceeded) || !persistence.Retryable(err) {
						t.Errorf("%s: want a retryable Fault, got %v", op, err)
					}
				}
			})
		})
	}
}
