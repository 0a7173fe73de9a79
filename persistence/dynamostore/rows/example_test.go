package rows_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/rows"
)

// exampleTable makes a table with the partition key id. In a function, the client
// is dynamodb.NewFromConfig(cfg), and the table is there.
func exampleTable(name string) *dynamodb.Client {
	db := dynamotest.Open()
	db.MustCreateTable(name, "id")
	return db.Client()
}

func rowOf(id string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: id}}
}

// An e-mail address belongs to one user. Inside a guarded call, dynamostore.Enlist
// takes the place of dynamostore.Apply.
func ExampleUnique() {
	client := exampleTable("unique")
	email := func(address, user string) rows.Unique {
		return rows.Unique{Table: "unique", Key: rowOf("email#" + address), Holder: user}
	}
	ctx := context.Background()
	fmt.Println(dynamostore.Apply(ctx, client, email("a@example.com", "ann").Take()))
	fmt.Println(dynamostore.Apply(ctx, client, email("a@example.com", "ann").Take()))

	err := dynamostore.Apply(ctx, client, email("a@example.com", "bob").Take())
	taken, _ := errors.AsType[*rows.NotUniqueError](err)
	fmt.Println(errors.Is(err, rows.ErrNotUnique), taken.Holder)
	// Output:
	// <nil>
	// <nil>
	// true ann
}

// A changed address is given up and the new one taken, or neither.
func ExampleUnique_ChangeTo() {
	client := exampleTable("unique")
	ctx := context.Background()
	old := rows.Unique{Table: "unique", Key: rowOf("email#a@example.com"), Holder: "ann"}
	fmt.Println(dynamostore.Apply(ctx, client, old.Take()))
	fmt.Println(dynamostore.Apply(ctx, client, old.ChangeTo(rowOf("email#ann@example.com"))...))

	bob := rows.Unique{Table: "unique", Key: rowOf("email#a@example.com"), Holder: "bob"}
	fmt.Println(dynamostore.Apply(ctx, client, bob.Take()))
	// Output:
	// <nil>
	// <nil>
	// <nil>
}

// The condition and its meaning are the application's own.
func ExampleUpdate() {
	client := exampleTable("stock")
	ctx := context.Background()
	errSoldOut := errors.New("sold out")
	take := rows.Update{
		Table:     "stock",
		Key:       rowOf("tea"),
		Set:       []string{"quantity = quantity - :n"},
		Condition: "quantity >= :n",
		Values:    map[string]types.AttributeValue{":n": &types.AttributeValueMemberN{Value: "3"}},
		OnRefused: func(map[string]types.AttributeValue) error { return errSoldOut },
	}
	err := dynamostore.Apply(ctx, client, take.Write())
	fmt.Println(errors.Is(err, errSoldOut))
	// Output: true
}

// Of two clerks who have both seen version 1, the second has to look again.
func ExampleUpdate_IfVersion() {
	client := exampleTable("stock")
	ctx := context.Background()
	count := func(quantity string, seen int64) error {
		u := rows.Update{
			Table:  "stock",
			Key:    rowOf("tea"),
			Set:    []string{"quantity = :q"},
			Values: map[string]types.AttributeValue{":q": &types.AttributeValueMemberN{Value: quantity}},
		}
		return dynamostore.Apply(ctx, client, u.IfVersion("version", seen).Write())
	}
	fmt.Println(count("10", 0))
	fmt.Println(count("9", 1))
	fmt.Println(errors.Is(count("8", 1), rows.ErrVersionConflict))
	// Output:
	// <nil>
	// <nil>
	// true
}

// A payment is booked once, however often it is delivered. In a guarded call its ID
// is the call's key, or the token of its step.
func ExampleUpdate_OncePer() {
	client := exampleTable("accounts")
	ctx := context.Background()
	book := func(payment string) error {
		u := rows.Update{
			Table:  "accounts",
			Key:    rowOf("ann"),
			Add:    []string{"balance :n"},
			Values: map[string]types.AttributeValue{":n": &types.AttributeValueMemberN{Value: "5"}},
		}
		return dynamostore.Apply(ctx, client, u.OncePer("payments", payment).Write())
	}
	fmt.Println(book("payment-1"))
	fmt.Println(book("payment-2"))
	fmt.Println(errors.Is(book("payment-1"), rows.ErrProcessed))
	// Output:
	// <nil>
	// <nil>
	// true
}

// The second time, the row is there already, and stays as it is.
func ExampleInsertOnce() {
	client := exampleTable("customers")
	ctx := context.Background()
	for _, name := range []string{"Ann", "Anna"} {
		fmt.Println(dynamostore.Apply(ctx, client, rows.InsertOnce("customers", rowOf("ann"), map[string]types.AttributeValue{
			"full_name": &types.AttributeValueMemberS{Value: name},
		})))
	}
	out, err := client.GetItem(ctx, &dynamodb.GetItemInput{TableName: aws.String("customers"), Key: rowOf("ann")})
	if err != nil {
		panic(err)
	}
	fmt.Println(out.Item["full_name"].(*types.AttributeValueMemberS).Value)
	// Output:
	// <nil>
	// <nil>
	// Ann
}

// A name that is given up is free for others.
func ExampleUnique_Release() {
	client := exampleTable("unique")
	ctx := context.Background()
	name := func(user string) rows.Unique {
		return rows.Unique{Table: "unique", Key: rowOf("name#crow"), Holder: user}
	}
	fmt.Println(dynamostore.Apply(ctx, client, name("ann").Take()))
	fmt.Println(dynamostore.Apply(ctx, client, name("ann").Release()))
	fmt.Println(dynamostore.Apply(ctx, client, name("bob").Take()))
	// Output:
	// <nil>
	// <nil>
	// <nil>
}
