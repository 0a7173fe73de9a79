package selection

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/ikkai-go/idempotency/internal/canonicaljson"
)

// call is the call of a powertools_ function, which go-jmespath does not have. It is
// evaluated on the whole payload.
type call struct {
	function string
	written  string // the syntax tree, to find equal calls
	argument *Selection
	result   *place // what the expression reads of the result
}

// decoder turns the text of a call's argument into its result, as far as result
// is read.
type decoder func(text []byte, result *place, number numberReader, mem *memory) (any, error)

var decoders = map[string]decoder{
	"powertools_json":        decodeJSON,
	"powertools_base64":      decodeBase64,
	"powertools_base64_gzip": decodeBase64Gzip,
}

// evaluate returns the result of the call, nil if the argument is missing.
func (c *call) evaluate(payload []byte, number numberReader, mem *memory) (any, error) {
	value, err := c.argument.evaluate(payload, mem)
	if isEmpty(value) && (err == nil || errors.Is(err, ErrMissing)) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	text, err := textOf(value, mem)
	if err != nil {
		return nil, err
	}
	if err := mem.take(len(text)); err != nil { // it may have been taken out of the document, and decoded once more
		return nil, err
	}
	return decoders[c.function](text, c.result, number, mem)
}

// textOf returns the bytes of a selected string. They may be the payload's own, and
// are good until mem is released.
func textOf(value any, mem *memory) ([]byte, error) {
	switch v := value.(type) {
	case string:
		return []byte(v), nil
	case canonicaljson.Raw:
		if v.Text()[0] == '"' {
			return mem.unquote(v.Text())
		}
	}
	return nil, errors.New("the argument is not a string")
}

func decodeJSON(text []byte, result *place, number numberReader, mem *memory) (any, error) {
	return read(text, result, number, mem)
}

func decodeBase64(text []byte, _ *place, _ numberReader, mem *memory) (any, error) {
	data, err := fromBase64(text)
	if err != nil {
		return nil, err
	}
	return asText(data, mem)
}

// maxInflated bounds what a few kilobytes of gzip can grow to: 6 MB, the largest
// payload of a Lambda invocation.
const maxInflated = 6 << 20

func decodeBase64Gzip(text []byte, _ *place, _ numberReader, mem *memory) (any, error) {
	data, err := fromBase64(text)
	if err != nil {
		return nil, err
	}
	unzip, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	inflated, err := io.ReadAll(io.LimitReader(unzip, maxInflated+1))
	if err != nil {
		return nil, err
	}
	if len(inflated) > maxInflated {
		return nil, fmt.Errorf("the data grows beyond %d bytes", maxInflated)
	}
	return asText(inflated, mem)
}

func fromBase64(text []byte) ([]byte, error) {
	return base64.StdEncoding.AppendDecode(nil, text)
}

func asText(data []byte, mem *memory) (any, error) {
	if !utf8.Valid(data) {
		return nil, errors.New("the decoded data is not UTF-8 text")
	}
	return string(data), mem.take(2 * len(data))
}
