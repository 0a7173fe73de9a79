package dynamostore_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
)

// tableSize is the size, in bytes, of all items of an embedded table. (DynamoDB
// itself brings that figure up to date every few hours only.)
func tableSize(t testing.TB, store planter) int {
	t.Helper()
	out, err := store.client.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: aws.String(store.config.Table)})
	if err != nil {
		t.Fatal(err)
	}
	return int(*out.Table.TableSizeBytes)
}

// short are attribute names of one letter.
var short = dynamostore.Attributes{
	Key: "k", Status: "s", Owner: "o", LeaseUntil: "l", ExpireAt: "x", Fingerprint: "f",
	Result: "r", ResultEncoding: "e", Steps: "t", Attempt: "a", Version: "v",
}

// Sizes are reckoned before a request, and decide what is compressed and what is
// too large: they are those by which DynamoDB limits and charges, to the byte.
func TestSizesAreReckonedAsDynamoDBCountsThem(t *testing.T) {
	for name, config := range map[string]dynamostore.Config{
		"default names":    {},
		"short names":      {Attributes: short},
		"composite table":  composite(),
		"compressed":       {Compress: true},
		"compressed short": {Attributes: short, Compress: true},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(15) {
				_, store := newStoreWith(t, config)
				random := rand.New(rand.NewPCG(seed, 0))
				for _, r := range lifeOfARecord(t, store, random) {
					if reckoned := store.SizeOf(r.Record); reckoned != r.table {
						t.Fatalf("seed %d, %s, attempt %d: %d bytes reckoned, DynamoDB counts %d", seed, r.Status, r.Attempt, reckoned, r.table)
					}
				}
			}
		})
	}
}

// measured is a record and the size of the table that holds nothing else.
type measured struct {
	persistence.Record
	table int
}

// lifeOfARecord takes one record through every state in which the store writes
// it, and returns it in each of them.
func lifeOfARecord(t *testing.T, store planter, random *rand.Rand) []measured {
	t.Helper()
	words := func(most int) string {
		return strings.Repeat([]string{"a", "é", "漢", "😀", "\xff"}[random.IntN(5)], random.IntN(most))
	}
	c := persistence.Claim{
		Key:        "payment#" + strings.Repeat("é", random.IntN(100)),
		Owner:      "o" + strings.Repeat("w", random.IntN(40)),
		Now:        now,
		LeaseUntil: now.Add(time.Duration(1+random.IntN(900_000)) * time.Millisecond),
		ExpiresAt:  now.Add(time.Hour + time.Duration(random.IntN(1e6))*time.Second).Truncate(time.Second),
	}
	if random.IntN(3) == 0 { // zeros at the end of a number take no room
		c.LeaseUntil = c.LeaseUntil.Truncate(time.Duration(1+random.IntN(100)) * time.Second)
		c.ExpiresAt = c.ExpiresAt.Truncate(time.Hour).Add(time.Hour)
	}
	if !c.LeaseUntil.After(now) {
		c.LeaseUntil = now.Add(time.Second)
	}
	if random.IntN(2) == 0 {
		c.Fingerprint = strings.Repeat("f", 64)
	}

	var life []measured
	meet := func(what string) persistence.Record {
		r, found, err := store.Read(t.Context(), c.Key)
		if err != nil || !found {
			t.Fatalf("%s: %v, found: %v", what, err, found)
		}
		life = append(life, measured{r, tableSize(t, store)})
		return r
	}
	do := func(what string, err error) persistence.Record {
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		return meet(what)
	}
	acquire := func(owner string) persistence.Record {
		c.Owner = owner
		_, err := store.Acquire(t.Context(), c)
		return do("acquire", err)
	}

	r := acquire(c.Owner)
	for i := range random.IntN(4) {
		r = do("checkpoint", store.Checkpoint(t.Context(), r.Lease(), fmt.Sprint("step é", i), []byte(words(200))))
	}
	for attempt := range []int{0, 1, 12, 100}[int(random.ExpFloat64())%4] {
		c.Now = r.LeaseUntil.Add(time.Second)
		c.LeaseUntil = c.Now.Add(time.Minute)
		c.ExpiresAt = c.ExpiresAt.Add(time.Hour)
		r = acquire(fmt.Sprint("taken over ", attempt))
	}
	if len(r.Steps) > 0 {
		do("release", store.Release(t.Context(), r.Lease()))
		r = acquire("resumed")
	}
	o := persistence.Outcome{
		Status:        []persistence.Status{persistence.StatusCompleted, persistence.StatusFailed}[random.IntN(2)],
		Result:        []byte(words(10) + words(5000)),
		ResultOmitted: random.IntN(5) == 0,
		ExpiresAt:     c.ExpiresAt,
	}
	do("complete", store.Complete(t.Context(), r.Lease(), o))
	return life
}
