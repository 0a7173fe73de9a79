package dynamotest

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// Name spaces of the error types on the wire. The SDK looks only at what follows the '#'.
const (
	dynamoDBErrors = "com.amazonaws.dynamodb.v20120810#"
	validation     = "com.amazon.coral.validate#ValidationException"
	serialization  = "com.amazon.coral.service#SerializationException"
	unknownCall    = "com.amazon.coral.service#UnknownOperationException"
	accessDenied   = "com.amazon.coral.service#AccessDeniedException"
)

// apiError is an error DynamoDB answers with: its wire shape and its HTTP status.
type apiError struct {
	status     int
	typ        string // with its name space
	message    string
	item       item                 // of a failed condition, with ReturnValuesOnConditionCheckFailure=ALL_OLD
	reasons    []cancellationReason // of a cancelled transaction
	throttling []throttlingReason   // of a request that exceeds its capacity
}

// cancellationReason says why one action of a transaction stopped it; code "None" if it did not.
type cancellationReason struct {
	Code    string   `json:"Code"`
	Message string   `json:"Message,omitempty"`
	Item    wireItem `json:"Item,omitempty"`
}

func (e *apiError) Error() string { return e.code() + ": " + e.message }

// code is the error's name without its name space, as the SDK's ErrorCode gives it.
func (e *apiError) code() string {
	return e.typ[strings.LastIndexByte(e.typ, '#')+1:]
}

// body is the error on the wire. Coral's own errors and the two transaction errors spell their text "Message".
func (e *apiError) body() any {
	type lower struct {
		Type    string   `json:"__type"`
		Message string   `json:"message"`
		Item    wireItem `json:"Item,omitempty"`
	}
	type throttled struct {
		lower
		Reasons []throttlingReason `json:"throttlingReasons,omitempty"`
	}
	type provisioned struct {
		lower
		Reasons []throttlingReason `json:"ThrottlingReasons,omitempty"`
	}
	type upper struct {
		Type    string               `json:"__type"`
		Reasons []cancellationReason `json:"CancellationReasons,omitempty"`
		Message string               `json:"Message,omitempty"`
	}
	plain := lower{e.typ, e.message, e.item.wire()}
	switch e.code() {
	case "ThrottlingException":
		return throttled{plain, e.throttling}
	case "ProvisionedThroughputExceededException":
		return provisioned{plain, e.throttling}
	case "TransactionCanceledException", "IdempotentParameterMismatchException", "SerializationException", "UnknownOperationException", "AccessDeniedException":
		return upper{e.typ, e.reasons, e.message}
	default:
		return plain
	}
}

func invalid(format string, args ...any) *apiError {
	return &apiError{status: http.StatusBadRequest, typ: validation, message: fmt.Sprintf(format, args...)}
}

// invalidParameter is the error for a value that breaks a rule of the data model.
func invalidParameter(format string, args ...any) *apiError {
	return invalid("One or more parameter values were invalid: "+format, args...)
}

func failure(code, format string, args ...any) *apiError {
	return &apiError{status: http.StatusBadRequest, typ: dynamoDBErrors + code, message: fmt.Sprintf(format, args...)}
}

func conditionFailed(old item) *apiError {
	e := failure("ConditionalCheckFailedException", "The conditional request failed")
	e.item = old
	return e
}

func internalFailure() *apiError {
	e := failure("InternalServerError", "The request processing has failed because of an unknown error, exception or failure.")
	e.status = http.StatusInternalServerError
	return e
}

// constraints gathers broken constraints of the request's shape, which DynamoDB reports all at once and before
// it looks at anything else.
type constraints []string

// addIf notes a constraint that the value of a member breaks; DynamoDB does not always show the value.
func (c *constraints) addIf(broken bool, shown, member, constraint string) {
	if !broken {
		return
	}
	if shown != "" {
		shown += " "
	}
	*c = append(*c, fmt.Sprintf("Value %sat '%s' failed to satisfy constraint: %s", shown, member, constraint))
}

const notShown = ""

// quoted is a present value as constraint messages show it.
func quoted(s string) string { return "'" + s + "'" }

func (c constraints) err() error {
	switch len(c) {
	case 0:
		return nil
	case 1:
		return invalid("1 validation error detected: %s", c[0])
	default:
		return invalid("%d validation errors detected: %s", len(c), strings.Join(c, "; "))
	}
}

// asAPIError is err as the error to answer with.
func asAPIError(err error) *apiError {
	if e, ok := errors.AsType[*apiError](err); ok {
		return e
	}
	panic("an error that DynamoDB does not have: " + err.Error())
}
