package s3overflow

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/ikkai-go/idempotency/persistence/overflow"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// API is what is needed of S3; an [*s3.Client] has it.
type API interface {
	PutObject(context.Context, *s3.PutObjectInput, ...func(*s3.Options)) (*s3.PutObjectOutput, error)
	GetObject(context.Context, *s3.GetObjectInput, ...func(*s3.Options)) (*s3.GetObjectOutput, error)
	DeleteObject(context.Context, *s3.DeleteObjectInput, ...func(*s3.Options)) (*s3.DeleteObjectOutput, error)
}

// Blobs keeps blobs as the objects of a bucket. Its errors are [overflow.ErrMissing]
// or a [*persistence.Fault].
//
// Safe for concurrent use.
type Blobs struct {
	api    API
	config Config
	owner  *string
}

var _ overflow.Blobs = (*Blobs)(nil)

// New returns the blobs of a bucket. It makes no request.
func New(api API, config Config) (*Blobs, error) {
	if storekit.IsNil(api) {
		return nil, fmt.Errorf("%w: it needs a client", ErrConfig)
	}
	config = config.withDefaults()
	if err := config.check(); err != nil {
		return nil, err
	}
	b := &Blobs{api: api, config: config}
	if config.BucketOwner != "" {
		b.owner = aws.String(config.BucketOwner)
	}
	return b, nil
}

// Put implements [overflow.Blobs].
func (b *Blobs) Put(ctx context.Context, name string, content []byte, expiresAt time.Time) error {
	var expires *time.Time
	if !expiresAt.IsZero() {
		expires = aws.Time(expiresAt)
	}
	return b.try(ctx, "put", func(ctx context.Context) error {
		_, err := b.api.PutObject(ctx, &s3.PutObjectInput{
			Bucket:              &b.config.Bucket,
			Key:                 b.key(name),
			ExpectedBucketOwner: b.owner,
			Body:                bytes.NewReader(content),
			ChecksumAlgorithm:   types.ChecksumAlgorithmCrc32, // whatever the client is configured to
			ContentType:         aws.String("application/octet-stream"),
			Expires:             expires,
		})
		return err
	})
}

// Get implements [overflow.Blobs].
func (b *Blobs) Get(ctx context.Context, name string, limit int64) (content []byte, err error) {
	err = b.try(ctx, "get", func(ctx context.Context) error {
		object, err := b.api.GetObject(ctx, &s3.GetObjectInput{
			Bucket:              &b.config.Bucket,
			Key:                 b.key(name),
			ExpectedBucketOwner: b.owner,
		})
		if err != nil {
			return err
		}
		content, err = io.ReadAll(io.LimitReader(object.Body, limit))
		return errors.Join(err, object.Body.Close())
	})
	if err != nil {
		return nil, err
	}
	return content, nil
}

// Delete implements [overflow.Blobs].
func (b *Blobs) Delete(ctx context.Context, name string) error {
	return b.try(ctx, "delete", func(ctx context.Context) error {
		_, err := b.api.DeleteObject(ctx, &s3.DeleteObjectInput{
			Bucket:              &b.config.Bucket,
			Key:                 b.key(name),
			ExpectedBucketOwner: b.owner,
		})
		return err
	})
}

func (b *Blobs) key(name string) *string { return aws.String(b.config.Prefix + name) }
