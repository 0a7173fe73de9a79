package dynamostore

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// sizeOfItem is how large an item of the application is for DynamoDB, in bytes, by
// the rules of its developer guide ("DynamoDB item sizes and formats"); at least,
// because the size of a number is only published as a rule of thumb.
func sizeOfItem(i item) int {
	n := 0
	for name, v := range i {
		n += len(name) + sizeOfValue(v)
	}
	return n
}

// sizeOfCollection is that of a list or map without members. Each of these takes a byte more.
const sizeOfCollection = 3

func sizeOfValue(v types.AttributeValue) (n int) {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return len(v.Value)
	case *types.AttributeValueMemberB:
		return len(v.Value)
	case *types.AttributeValueMemberN:
		return sizeOfDigits(v.Value)
	case *types.AttributeValueMemberBOOL, *types.AttributeValueMemberNULL:
		return 1
	case *types.AttributeValueMemberSS:
		for _, s := range v.Value {
			n += len(s)
		}
	case *types.AttributeValueMemberBS:
		for _, b := range v.Value {
			n += len(b)
		}
	case *types.AttributeValueMemberNS:
		for _, digits := range v.Value {
			n += sizeOfDigits(digits)
		}
	case *types.AttributeValueMemberL:
		n = sizeOfCollection
		for _, element := range v.Value {
			n += 1 + sizeOfValue(element)
		}
	case *types.AttributeValueMemberM:
		n = sizeOfCollection
		for name, member := range v.Value {
			n += 1 + len(name) + sizeOfValue(member)
		}
	}
	return n
}

// sizeOfDigits is the least that a number takes: a byte, and one for every two
// significant digits.
func sizeOfDigits(number string) int {
	mantissa, _, _ := strings.Cut(strings.ToLower(number), "e")
	digits := strings.Trim(strings.Replace(strings.TrimLeft(mantissa, "+-"), ".", "", 1), "0")
	return 1 + (len(digits)+1)/2
}
