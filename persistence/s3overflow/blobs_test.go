package s3overflow_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/cached"
	"github.com/ikkai-go/idempotency/persistence/overflow"
	"github.com/ikkai-go/idempotency/persistence/s3overflow"
	"github.com/ikkai-go/idempotency/persistence/storetest"
)

var noon = time.Date(2100, time.January, 1, 12, 0, 0, 0, time.UTC)

// newBlobs opens a bucket of a server of the test's own.
func newBlobs(t *testing.T, config s3overflow.Config) (*bucket, *s3overflow.Blobs) {
	t.Helper()
	b, client := newBucket(t)
	config.Bucket = firstName
	return b, open(t, client, config)
}

func open(t *testing.T, client s3overflow.API, config s3overflow.Config) *s3overflow.Blobs {
	t.Helper()
	blobs, err := s3overflow.New(client, config)
	if err != nil {
		t.Fatal(err)
	}
	return blobs
}

// everywhere runs a test on the test's own server, and on the one in S3_ENDPOINT.
func everywhere(t *testing.T, test func(*testing.T, *s3overflow.Blobs)) {
	t.Run("own server", func(t *testing.T) {
		_, blobs := newBlobs(t, s3overflow.Config{})
		test(t, blobs)
	})
	if client, set := external(); set {
		t.Run(endpointEnv, func(t *testing.T) {
			name := "ikkai-" + strings.ToLower(rand.Text())
			if _, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &name}); err != nil {
				t.Fatal(err)
			}
			// As much time as a server on a busy machine may need.
			test(t, open(t, client, s3overflow.Config{Bucket: name, RequestTimeout: time.Minute}))
		})
	}
}

func TestBlobsComeBackAsTheyWere(t *testing.T) {
	everywhere(t, func(t *testing.T, blobs *s3overflow.Blobs) {
		large := make([]byte, 6<<20)
		_, _ = rand.Read(large) // never fails
		for name, content := range map[string][]byte{
			"a/empty":  {},
			"a/text":   []byte(`{"名前":"一回"}`),
			"a/binary": []byte("\x00\xff\xfe\r\n"),
			"a/large":  large,
		} {
			for range 2 { // all of it may be repeated
				if err := blobs.Put(t.Context(), name, content, noon); err != nil {
					t.Fatal(err)
				}
			}
			got, err := blobs.Get(t.Context(), name, int64(len(content))+1)
			if err != nil || !bytes.Equal(got, content) {
				t.Errorf("%s: want %d bytes, got %d, %v", name, len(content), len(got), err)
			}
			for range 2 {
				if err := blobs.Delete(t.Context(), name); err != nil {
					t.Fatal(err)
				}
			}
			if got, err := blobs.Get(t.Context(), name, 1); !errors.Is(err, overflow.ErrMissing) {
				t.Errorf("%s is deleted: want ErrMissing, got %q, %v", name, got, err)
			}
		}
	})
}

func TestNoMoreIsReadThanAskedFor(t *testing.T) {
	everywhere(t, func(t *testing.T, blobs *s3overflow.Blobs) {
		if err := blobs.Put(t.Context(), "a/b", make([]byte, 1<<20), noon); err != nil {
			t.Fatal(err)
		}
		if got, err := blobs.Get(t.Context(), "a/b", 5); err != nil || len(got) != 5 {
			t.Errorf("want 5 bytes, got %d, %v", len(got), err)
		}
	})
}

func TestAStoreWithItsResultsInS3KeepsTheContract(t *testing.T) {
	everywhere(t, func(t *testing.T, blobs *s3overflow.Blobs) {
		storetest.Run(t, func(*testing.T) persistence.Store {
			store, err := overflow.New(persistence.NewMemory(), blobs, overflow.Config{Inline: 1, Timeout: time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			return store
		})
	})
}

func TestObjectsAreUnderThePrefixAndSayWhenTheyExpire(t *testing.T) {
	for _, tt := range []struct {
		config  s3overflow.Config
		expires time.Time
		key     string
		header  string
	}{
		{s3overflow.Config{}, noon, "/results/idempotency/a/b", "Fri, 01 Jan 2100 12:00:00 GMT"},
		{s3overflow.Config{Prefix: "shop-", BucketOwner: someone}, time.Time{}, "/results/shop-a/b", ""},
	} {
		b, blobs := newBlobs(t, tt.config)
		if err := blobs.Put(t.Context(), "a/b", []byte("paid"), tt.expires); err != nil {
			t.Fatal(err)
		}
		stored, there := b.objects[tt.key]
		if got := stored.header.Get("Expires"); !there || got != tt.header {
			t.Errorf("want %s that expires at %q, got %q of %v", tt.key, tt.header, got, b.requests)
		}
	}
}

// Only a key that is certain not to be there is a lost result.
func TestRefusalsAreFaults(t *testing.T) {
	refuse := func(status int, code string) func(*bucket) {
		return func(b *bucket) {
			b.fail = func(_ int, w http.ResponseWriter) bool { answer(w, status, code); return true }
		}
	}
	for _, tt := range []struct {
		name      string
		config    s3overflow.Config
		spoil     func(*bucket)
		retryable bool
		requests  int
	}{
		{"no such bucket", s3overflow.Config{Bucket: "other"}, nil, false, 1},
		{"somebody else's bucket", s3overflow.Config{BucketOwner: "999999999999"}, nil, false, 1},
		{"no permission", s3overflow.Config{}, refuse(http.StatusForbidden, "AccessDenied"), false, 1},
		{"archived", s3overflow.Config{}, refuse(http.StatusForbidden, "InvalidObjectState"), false, 1},
		{"404 of something in between", s3overflow.Config{}, refuse(http.StatusNotFound, "NotFound"), false, 1},
		{"throttled", s3overflow.Config{}, refuse(http.StatusServiceUnavailable, "SlowDown"), true, 1},
		{"broken", s3overflow.Config{}, refuse(http.StatusInternalServerError, "InternalError"), true, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b, client := newBucket(t)
			if tt.config.Bucket == "" {
				tt.config.Bucket = firstName
			}
			blobs := open(t, client, tt.config)
			if tt.spoil != nil {
				tt.spoil(b)
			}
			for op, call := range calls(blobs) {
				b.requests = nil
				err := call(t.Context())
				fault, ok := errors.AsType[*persistence.Fault](err)
				if !ok || fault.Op != op || fault.Retryable != tt.retryable || errors.Is(err, overflow.ErrMissing) {
					t.Errorf("%s: want a Fault, retryable %t; got %v", op, tt.retryable, err)
				}
				if len(b.requests) != tt.requests {
					t.Errorf("%s: want %d requests, got %v", op, tt.requests, b.requests)
				}
			}
		})
	}
}

func calls(blobs *s3overflow.Blobs) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"put": func(ctx context.Context) error { return blobs.Put(ctx, "a/b", []byte("paid"), noon) },
		"get": func(ctx context.Context) error {
			got, err := blobs.Get(ctx, "a/b", 100)
			if err == nil && string(got) != "paid" {
				return errors.New("another content: " + string(got))
			}
			return err
		},
		"delete": func(ctx context.Context) error { return blobs.Delete(ctx, "a/b") },
	}
}

func TestARequestWithoutAWholeAnswerIsSentAgain(t *testing.T) {
	for name, cut := range map[string]func(http.ResponseWriter) bool{
		"the connection breaks": func(http.ResponseWriter) bool { panic(http.ErrAbortHandler) },
		"the answer breaks off": func(w http.ResponseWriter) bool {
			w.Header().Set("Content-Length", "4")
			_, _ = w.Write([]byte("pa")) // as much as comes
			panic(http.ErrAbortHandler)
		},
	} {
		t.Run(name, func(t *testing.T) {
			b, blobs := newBlobs(t, s3overflow.Config{RequestTimeout: time.Minute})
			if err := blobs.Put(t.Context(), "a/b", []byte("paid"), noon); err != nil {
				t.Fatal(err)
			}
			for _, op := range []string{"put", "get", "delete"} {
				b.requests = nil
				b.fail = func(request int, w http.ResponseWriter) bool { return request == 1 && cut(w) }
				if err := calls(blobs)[op](t.Context()); err != nil {
					t.Errorf("%s: %v", op, err)
				}
			}
		})
	}
}

func TestConfigsAreChecked(t *testing.T) {
	_, client := newBucket(t)
	for _, config := range []s3overflow.Config{
		{},
		{Bucket: "b", Prefix: "/a"},
		{Bucket: "b", Prefix: strings.Repeat("a", 896)},
		{Bucket: "b", RequestTimeout: -1},
	} {
		if _, err := s3overflow.New(client, config); !errors.Is(err, s3overflow.ErrConfig) {
			t.Errorf("%+v: want ErrConfig, got %v", config, err)
		}
	}
	if _, err := s3overflow.New(nil, s3overflow.Config{Bucket: "b"}); !errors.Is(err, s3overflow.ErrConfig) {
		t.Errorf("no client: want ErrConfig, got %v", err)
	}
}

// In a function, client is s3.NewFromConfig(cfg), and the store behind a dynamostore.
func ExampleNew() {
	client := s3.New(s3.Options{Region: region, Credentials: aws.AnonymousCredentials{}})
	blobs, err := s3overflow.New(client, s3overflow.Config{Bucket: "results"})
	if err != nil {
		panic(err)
	}
	store, err := overflow.New(persistence.NewMemory(), blobs, overflow.Config{Inline: 8 << 10})
	if err != nil {
		panic(err)
	}
	_ = cached.New(store, cached.Limits{})
	// Output:
}
