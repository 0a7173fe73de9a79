package powertools

import (
	"bytes"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/ikkai-go/idempotency/internal/canonicaljson"
)

// DynamoDB's limits on a value (its developer guide, "Quotas" and "Supported data
// types"). The record itself is one of the 32 levels.
const (
	maxLevels  = 31
	maxNameLen = 64<<10 - 1
	minNumber  = 1e-130
)

// maxSafe is JavaScript's Number.MAX_SAFE_INTEGER.
const maxSafe = 1<<53 - 1

// checkResult tells why the value of a JSON text, as the marshaller of the AWS SDK for
// JavaScript stores it, would be refused by DynamoDB or read back as another value.
func checkResult(result []byte) error {
	d := jsontext.NewDecoder(bytes.NewReader(result))
	for {
		token, err := d.ReadToken() // refuses repeated names, and what is not Unicode
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return errNotJSON
		case d.StackDepth() > maxLevels:
			return errors.New("it is nested deeper than DynamoDB's items can be")
		}
		switch kind, length := d.StackIndex(d.StackDepth()); {
		case token.Kind() == '0':
			if err := checkNumber(token.String()); err != nil {
				return err
			}
		case kind == '{' && length%2 == 1 && token.Kind() == '"':
			if name := token.String(); name == "" || len(name) > maxNameLen {
				return errors.New("it has a member whose name DynamoDB does not take")
			}
		}
	}
}

// checkNumber tells why a number does not survive JavaScript's, or DynamoDB's.
func checkNumber(text string) error {
	number, err := canonicaljson.ParseNumber([]byte(text))
	f, isExact := number.(float64)
	switch {
	case err != nil, !isExact, f == 0 && text[0] == '-':
		return errors.New("it has a number that JavaScript reads as another")
	case f > maxSafe, f < -maxSafe:
		return errors.New("it has a number beyond JavaScript's safe integers")
	case f != 0 && f < minNumber && f > -minNumber:
		return errors.New("it has a number too small for DynamoDB")
	}
	return nil
}
