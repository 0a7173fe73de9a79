package s3overflow_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// bucket is as much of S3 as the three requests need, with its own answers: it refuses
// what is not signed and what is damaged, and tells a missing key from a missing bucket.
type bucket struct {
	mu       sync.Mutex
	objects  map[string]object // by bucket and key
	requests []string
	fail     func(request int, w http.ResponseWriter) bool // says whether it has answered
}

type object struct {
	content []byte
	header  http.Header
}

const (
	region    = "us-east-1" // where a new bucket needs no location
	someone   = "123456789012"
	firstName = "results"
)

func (b *bucket) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.requests = append(b.requests, r.Method+" "+r.URL.Path)
	body, err := io.ReadAll(r.Body)
	name, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	stored, there := b.objects[r.URL.Path]
	switch {
	case b.fail != nil && b.fail(len(b.requests), w):
	case err != nil:
		answer(w, http.StatusBadRequest, "IncompleteBody")
	case !strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 Credential="):
		answer(w, http.StatusForbidden, "AccessDenied")
	case name != firstName:
		answer(w, http.StatusNotFound, "NoSuchBucket")
	case r.Header.Get("X-Amz-Expected-Bucket-Owner") != "" && r.Header.Get("X-Amz-Expected-Bucket-Owner") != someone:
		answer(w, http.StatusForbidden, "AccessDenied")
	case r.Method == http.MethodPut && r.Header.Get("X-Amz-Checksum-Crc32") != checksum(body):
		answer(w, http.StatusBadRequest, "BadDigest")
	case r.Method == http.MethodPut:
		b.objects[r.URL.Path] = object{body, r.Header}
	case r.Method == http.MethodDelete:
		delete(b.objects, r.URL.Path)
		w.WriteHeader(http.StatusNoContent)
	case r.Method != http.MethodGet:
		answer(w, http.StatusMethodNotAllowed, "MethodNotAllowed")
	case !there:
		answer(w, http.StatusNotFound, "NoSuchKey")
	default:
		_, _ = io.Copy(w, bytes.NewReader(stored.content)) // the client may have gone
	}
}

func answer(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, "<Error><Code>%s</Code><Message>no</Message></Error>", code)
}

func checksum(body []byte) string {
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE(body)))
}

// newBucket starts an S3 with one bucket, and returns a client of it.
func newBucket(t testing.TB) (*bucket, *s3.Client) {
	t.Helper()
	b := &bucket{objects: make(map[string]object)}
	server := httptest.NewServer(b)
	t.Cleanup(server.Close)
	return b, client(server.URL)
}

func client(endpoint string) *s3.Client {
	return s3.New(s3.Options{
		Region:       region,
		BaseEndpoint: aws.String(endpoint),
		UsePathStyle: true,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "any", SecretAccessKey: "any"}, nil
		}),
		RetryMaxAttempts: 1, // tests that are about the SDK's retries set it
	})
}

// endpointEnv names an S3 endpoint that tests are to run against as well. Its users
// may make buckets.
const endpointEnv = "S3_ENDPOINT"

// external returns a client of the endpoint in endpointEnv; false if none is set.
func external() (*s3.Client, bool) {
	endpoint := os.Getenv(endpointEnv)
	return client(endpoint), endpoint != ""
}
