package storekit_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/redis/go-redis/v9"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/cached"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/overflow"
	"github.com/ikkai-go/idempotency/persistence/redisstore"
	"github.com/ikkai-go/idempotency/persistence/s3overflow"
	"github.com/ikkai-go/idempotency/persistence/sealed"
	"github.com/ikkai-go/idempotency/persistence/sqlstore"
)

// noBlobs, noSealer and noKeys are types whose nil pointers somebody may pass by mistake.
type (
	noBlobs  struct{ overflow.Blobs }
	noSealer struct{ sealed.Sealer }
	noKeys   struct{ sealed.DataKeys }
)

// A client, or a store, that is nothing is refused where a store is made of it, also as a nil
// pointer in an interface: what is left of a constructor whose error nobody has looked at.
func TestNoStoreIsMadeOfNothing(t *testing.T) {
	ctx := context.Background()
	memory, aes := persistence.NewMemory(), sealed.Key{ID: "a", Secret: make([]byte, 32)}
	var noStore *dynamostore.Store
	for name, test := range map[string]struct {
		make func() error
		want error
	}{
		"dynamostore.New, nil": {func() error { _, err := dynamostore.New(nil, dynamostore.Config{Table: "t"}); return err }, dynamostore.ErrConfig},
		"dynamostore.New": {func() error {
			_, err := dynamostore.New((*dynamodb.Client)(nil), dynamostore.Config{Table: "t"})
			return err
		}, dynamostore.ErrConfig},
		"dynamostore.CreateTable, nil": {func() error { return dynamostore.CreateTable(ctx, nil, dynamostore.Config{Table: "t"}) }, dynamostore.ErrConfig},
		"dynamostore.CreateTable": {func() error {
			return dynamostore.CreateTable(ctx, (*dynamodb.Client)(nil), dynamostore.Config{Table: "t"})
		}, dynamostore.ErrConfig},
		"redisstore.New, nil":     {func() error { _, err := redisstore.New(nil, redisstore.Config{}); return err }, redisstore.ErrConfig},
		"redisstore.New":          {func() error { _, err := redisstore.New((*redis.Client)(nil), redisstore.Config{}); return err }, redisstore.ErrConfig},
		"redisstore.New, cluster": {func() error { _, err := redisstore.New((*redis.ClusterClient)(nil), redisstore.Config{}); return err }, redisstore.ErrConfig},
		"sqlstore.New":            {func() error { _, err := sqlstore.New(nil, sqlstore.Config{Dialect: sqlstore.SQLite}); return err }, sqlstore.ErrConfig},
		"sqlstore.Migrate":        {func() error { return sqlstore.Migrate(ctx, (*sql.DB)(nil), sqlstore.Config{Dialect: sqlstore.SQLite}) }, sqlstore.ErrConfig},
		"s3overflow.New, nil":     {func() error { _, err := s3overflow.New(nil, s3overflow.Config{Bucket: "b"}); return err }, s3overflow.ErrConfig},
		"s3overflow.New":          {func() error { _, err := s3overflow.New((*s3.Client)(nil), s3overflow.Config{Bucket: "b"}); return err }, s3overflow.ErrConfig},
		"overflow.New, no store":  {func() error { _, err := overflow.New(noStore, noBlobs{}, overflow.Config{}); return err }, overflow.ErrConfig},
		"overflow.New, no blobs":  {func() error { _, err := overflow.New(memory, (*noBlobs)(nil), overflow.Config{}); return err }, overflow.ErrConfig},
		"sealed.New, no store":    {func() error { _, err := sealed.New(noStore, noSealer{}, sealed.Config{}); return err }, sealed.ErrConfig},
		"sealed.New, no sealer":   {func() error { _, err := sealed.New(memory, (*noSealer)(nil), sealed.Config{}); return err }, sealed.ErrConfig},
		"sealed.New, no data keys": {func() error {
			_, err := sealed.New(memory, sealed.NewEnvelope((*noKeys)(nil)), sealed.Config{})
			return err
		}, sealed.ErrConfig},
		"sealed.NewAES": {func() error { _, err := sealed.NewAES(aes, sealed.Key{ID: "b"}); return err }, sealed.ErrConfig},
	} {
		t.Run(name, func(t *testing.T) {
			if err := test.make(); !errors.Is(err, test.want) {
				t.Errorf("got %v, want it to match %q", err, test.want)
			}
		})
	}
	for name, store := range map[string]persistence.Store{"nil": nil, "a nil pointer": noStore} {
		t.Run("cached.New, "+name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("it has made a cache of nothing")
				}
			}()
			cached.New(store, cached.Limits{})
		})
	}
}
