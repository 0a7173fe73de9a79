package overflow_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/persistence/cached"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
	"github.com/ikkai-go/idempotency/persistence/overflow"
)

// In a function, client is dynamodb.NewFromConfig(cfg), and the blobs are those of
// s3overflow.New.
func ExampleNew() {
	ctx := context.Background()
	client, blobs := dynamotest.Open().Client(), newShelf()
	if err := dynamostore.CreateTable(ctx, client, dynamostore.Config{Table: "idempotency"}); err != nil {
		panic(err)
	}
	table, err := dynamostore.New(client, dynamostore.Config{Table: "idempotency"})
	if err != nil {
		panic(err)
	}
	store, err := overflow.New(table, blobs, overflow.Config{})
	if err != nil {
		panic(err)
	}
	guard, err := idempotent.New(cached.New(store, cached.Limits{}), idempotent.Config{Operation: "report", Key: idempotency.WholePayload()})
	if err != nil {
		panic(err)
	}
	write := idempotent.Func(guard, func(_ context.Context, month string) (string, error) {
		fmt.Println("writing the report of", month)
		return pages, nil
	})
	for range 2 {
		report, err := write(ctx, "March")
		fmt.Println(len(report), err)
	}
	fmt.Println(len(blobs.blobs), "blob")
	// Output:
	// writing the report of March
	// 460800 <nil>
	// 460800 <nil>
	// 1 blob
}

// Whoever cleans a bucket up finds the blobs of one key in one folder.
func ExampleName() {
	name := overflow.Name("report#1", "7f3a", sha256.Sum256([]byte("pages")))
	folder, _, _ := strings.Cut(name, "/")
	another := overflow.Name("report#1", "c91e", sha256.Sum256([]byte("pages")))
	fmt.Println(len(name), strings.HasPrefix(another, folder+"/"), another == name)
	// Output: 129 true false
}
