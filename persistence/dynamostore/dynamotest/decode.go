package dynamotest

import (
	"errors"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// decode makes the input of an operation from a request body. Members are found by their exact names, as DynamoDB finds
// them; names that the operation does not have are passed over, names that it has twice are not.
func decode(target string, body []byte) (operation string, in input, err error) {
	operation, service := cutTarget(target)
	newInput, served := service[operation]
	switch {
	case service == nil:
		return target, nil, &apiError{status: http.StatusBadRequest, typ: unknownCall}
	case !served:
		return operation, nil, &apiError{status: http.StatusBadRequest, typ: unknownCall, message: "dynamotest does not serve " + operation}
	case len(body) > maxRequestSize:
		return operation, nil, &apiError{status: http.StatusRequestEntityTooLarge, typ: serialization, message: "Request size exceeds 16 MB"}
	}
	in = newInput()
	if err := json.Unmarshal(body, in); err != nil {
		return operation, nil, wrongShape(err)
	}
	return operation, in, nil
}

// cutTarget is the operation that a request's X-Amz-Target names, and the operations of its service; nil if that is none
// of ours.
func cutTarget(target string) (operation string, service map[string]func() input) {
	if operation, streams := strings.CutPrefix(target, streamsPrefix); streams {
		return operation, streamOperations
	}
	if operation, ours := strings.CutPrefix(target, targetPrefix); ours {
		return operation, operations
	}
	return target, nil
}

// wrongShape words a decoding error as DynamoDB's front end does; broken JSON gets no words at all.
func wrongShape(err error) error {
	malformed := &apiError{status: http.StatusBadRequest, typ: serialization}
	mismatch, ok := errors.AsType[*json.SemanticError](err)
	if !ok {
		return malformed
	}
	if errors.Is(err, errNotServed) {
		return invalidParameter("dynamotest does not serve %s", memberName(mismatch.JSONPointer))
	}
	switch mismatch.JSONKind {
	case '{':
		malformed.message = "Start of structure or map found where not expected"
	case '[':
		malformed.message = "Start of list found where not expected"
	case '"':
		malformed.message = "STRING_VALUE cannot be converted to " + mismatch.GoType.Name()
	case '0':
		malformed.message = "NUMBER_VALUE cannot be converted to String"
	case 't':
		malformed.message = "TRUE_VALUE cannot be converted to String"
	case 'f':
		malformed.message = "FALSE_VALUE cannot be converted to String"
	}
	return malformed
}

func memberName(at jsontext.Pointer) string {
	return strings.ReplaceAll(strings.TrimPrefix(string(at), "/"), "/", ".")
}

// notServed is a member that DynamoDB knows and that would promise something this database does not keep: a request
// that has it is refused.
type notServed struct{}

var errNotServed = errors.New("dynamotest does not serve this member")

// UnmarshalJSONFrom implements [json.UnmarshalerFrom].
func (*notServed) UnmarshalJSONFrom(from *jsontext.Decoder) error {
	if given, err := from.ReadToken(); err != nil || given.Kind() == 'n' {
		return err
	}
	return errNotServed
}
