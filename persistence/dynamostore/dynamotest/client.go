package dynamotest

import (
	"context"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Client returns the SDK's own client, wired to the database without a socket: retries, serialization and errors are
// those of production. The options are applied last.
func (db *DB) Client(optFns ...func(*dynamodb.Options)) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		Region:       Region,
		BaseEndpoint: aws.String("http://dynamodb." + Region + ".invalid"),
		HTTPClient:   &http.Client{Transport: db},
		Credentials:  anyCredentials,
	}, optFns...)
}

// anyCredentials sign requests; nobody checks the signature.
var anyCredentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
	return aws.Credentials{AccessKeyID: "local", SecretAccessKey: "local"}, nil
})

func (w wireValue) sdk() types.AttributeValue {
	switch {
	case w.S != nil:
		return &types.AttributeValueMemberS{Value: *w.S}
	case w.N != nil:
		return &types.AttributeValueMemberN{Value: *w.N}
	case w.B != nil:
		return &types.AttributeValueMemberB{Value: *w.B}
	case w.SS != nil:
		return &types.AttributeValueMemberSS{Value: *w.SS}
	case w.NS != nil:
		return &types.AttributeValueMemberNS{Value: *w.NS}
	case w.BS != nil:
		return &types.AttributeValueMemberBS{Value: *w.BS}
	case w.Bool != nil:
		return &types.AttributeValueMemberBOOL{Value: *w.Bool}
	case w.Null != nil:
		return &types.AttributeValueMemberNULL{Value: *w.Null}
	case w.L != nil:
		list := make([]types.AttributeValue, len(*w.L))
		for i, v := range *w.L {
			list[i] = v.sdk()
		}
		return &types.AttributeValueMemberL{Value: list}
	default:
		members := make(map[string]types.AttributeValue, len(*w.M))
		for name, v := range *w.M {
			members[name] = v.sdk()
		}
		return &types.AttributeValueMemberM{Value: members}
	}
}

func wireItemOf(given map[string]types.AttributeValue) wireItem {
	wired := make(wireItem, len(given))
	for name, v := range given {
		wired[name] = wireValueOf(v)
	}
	return wired
}

// wireValueOf is the value as the SDK would send it; the zero wireValue, which is refused later, for what it could not.
func wireValueOf(v types.AttributeValue) wireValue {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return wireValue{S: &v.Value}
	case *types.AttributeValueMemberN:
		return wireValue{N: &v.Value}
	case *types.AttributeValueMemberB:
		return wireValue{B: &v.Value}
	case *types.AttributeValueMemberSS:
		return wireValue{SS: &v.Value}
	case *types.AttributeValueMemberNS:
		return wireValue{NS: &v.Value}
	case *types.AttributeValueMemberBS:
		return wireValue{BS: &v.Value}
	case *types.AttributeValueMemberBOOL:
		return wireValue{Bool: &v.Value}
	case *types.AttributeValueMemberNULL:
		return wireValue{Null: &v.Value}
	case *types.AttributeValueMemberL:
		list := make([]wireValue, len(v.Value))
		for i, element := range v.Value {
			list[i] = wireValueOf(element)
		}
		return wireValue{L: &list}
	case *types.AttributeValueMemberM:
		return wireValue{M: new(map[string]wireValue(wireItemOf(v.Value)))}
	default:
		return wireValue{}
	}
}
