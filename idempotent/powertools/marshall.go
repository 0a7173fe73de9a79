package powertools

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/idempotent/powertools/internal/value"
)

// marshall is what the AWS SDK for JavaScript makes of the value of a JSON text. The
// error says why it is not the value that is read back.
func marshall(result []byte) (types.AttributeValue, error) {
	if err := checkResult(result); err != nil {
		return nil, err
	}
	v, err := value.Parse(string(result), value.JavaScript)
	if err != nil {
		return nil, errNotJSON
	}
	return attribute(v)
}

func attribute(v value.Value) (types.AttributeValue, error) {
	switch v := v.(type) {
	case nil:
		return &types.AttributeValueMemberNULL{Value: true}, nil
	case bool:
		return &types.AttributeValueMemberBOOL{Value: v}, nil
	case float64:
		return &types.AttributeValueMemberN{Value: value.NumberText(v)}, nil
	case string:
		return &types.AttributeValueMemberS{Value: v}, nil
	case *value.Array:
		list := make([]types.AttributeValue, len(v.Items))
		for i, item := range v.Items {
			var err error
			if list[i], err = attribute(item); err != nil {
				return nil, err
			}
		}
		return &types.AttributeValueMemberL{Value: list}, nil
	case *value.Object:
		return attributes(v)
	default:
		return nil, fmt.Errorf("it has a %T", v)
	}
}

func attributes(o *value.Object) (types.AttributeValue, error) {
	// The marshaller knows what an object is by its constructor.
	if constructor, own := o.Get("constructor"); own && !falsy(constructor) {
		class, _ := constructor.(*value.Object)
		if class == nil {
			class = value.NewObject()
		}
		if name, _ := class.Get("name"); name != "Object" {
			return nil, errors.New("it has a member called constructor, and is not marshalled")
		}
	}
	m := make(map[string]types.AttributeValue, o.Len())
	for _, name := range o.Names(value.JavaScript) {
		if name == "__proto__" {
			return nil, errors.New("it has a member called __proto__, which is lost")
		}
		member, _ := o.Get(name)
		var err error
		if m[name], err = attribute(member); err != nil {
			return nil, err
		}
	}
	return &types.AttributeValueMemberM{Value: m}, nil
}

// maxItem is how large DynamoDB's items can be, in bytes.
const maxItem = 400 << 10

// unmarshall returns the JSON text of what the AWS SDK for JavaScript reads. A record
// without a result is that of a function that has returned nothing, for which Lambda
// answers null.
func unmarshall(v types.AttributeValue) ([]byte, error) {
	if v == nil {
		return []byte("null"), nil
	}
	native, err := nativeOf(v)
	if err != nil {
		return nil, err
	}
	text, _, err := value.Stringify(native, value.NewBudget(maxItem))
	return []byte(text), err
}

func nativeOf(v types.AttributeValue) (value.Value, error) {
	switch v := v.(type) {
	case *types.AttributeValueMemberNULL:
		return nil, nil
	case *types.AttributeValueMemberBOOL:
		return v.Value, nil
	case *types.AttributeValueMemberN:
		return nativeNumber(v.Value)
	case *types.AttributeValueMemberS:
		return v.Value, nil
	case *types.AttributeValueMemberL:
		list := new(value.Array)
		for _, item := range v.Value {
			native, err := nativeOf(item)
			if err != nil {
				return nil, err
			}
			list.Items = append(list.Items, native)
		}
		return list, nil
	case *types.AttributeValueMemberM:
		object := value.NewObject()
		for _, name := range sortedNames(v.Value) {
			native, err := nativeOf(v.Value[name])
			if err != nil {
				return nil, err
			}
			object.Set(name, native)
		}
		return object, nil
	default:
		return nil, fmt.Errorf("the result has a %T, which is not JSON", v)
	}
}

// sortedNames gives the members of a map, which DynamoDB keeps in no order, one.
func sortedNames(m map[string]types.AttributeValue) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// nativeNumber is a number, or a BigInt where it is beyond the safe integers.
func nativeNumber(text string) (value.Value, error) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, fmt.Errorf("the number can't be read: %w", err)
	}
	if math.Abs(f) <= maxSafe {
		return f, nil
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok || !r.IsInt() {
		return nil, errors.New("the result has a number that JavaScript does not read")
	}
	return r.Num(), nil
}
