package dynamotest

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Short spellings of attribute values for the tables of cases.

type attrs = map[string]types.AttributeValue

func S(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func N(n string) types.AttributeValue { return &types.AttributeValueMemberN{Value: n} }

func B(b string) types.AttributeValue { return &types.AttributeValueMemberB{Value: []byte(b)} }

func SS(s ...string) types.AttributeValue { return &types.AttributeValueMemberSS{Value: s} }

func NS(n ...string) types.AttributeValue { return &types.AttributeValueMemberNS{Value: n} }

func BS(b ...string) types.AttributeValue {
	set := &types.AttributeValueMemberBS{}
	for _, element := range b {
		set.Value = append(set.Value, []byte(element))
	}
	return set
}

func L(list ...types.AttributeValue) types.AttributeValue {
	return &types.AttributeValueMemberL{Value: list}
}

func M(members attrs) types.AttributeValue { return &types.AttributeValueMemberM{Value: members} }

var (
	True = &types.AttributeValueMemberBOOL{Value: true}
	Null = &types.AttributeValueMemberNULL{Value: true}
)

// show is an item in the form of the log and of Dump.
func show(given attrs) string {
	if given == nil {
		return "no item"
	}
	decoded, err := wireItemOf(given).item()
	if err != nil {
		return "unreadable: " + err.Error()
	}
	return decoded.String()
}

// same compares items as DynamoDB does: sets without order, numbers by value.
func same(a, b attrs) bool {
	first, err1 := wireItemOf(a).item()
	second, err2 := wireItemOf(b).item()
	return err1 == nil && err2 == nil && (a == nil) == (b == nil) && document(first).equal(document(second))
}
