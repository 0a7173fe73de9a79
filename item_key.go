package idempotency

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"github.com/ikkai-go/idempotency/internal/canonicaljson"
)

// ItemKey returns the record key of an item of a batch, such as an employee in the
// payroll of a month: operation, "#" and a SHA-256. Neither another batch nor another
// item has it, nor a request: Key and expressions refuse the string that would have it,
// ["batch","item"] as encoding/json writes it. The error is a *SelectionError, with
// ErrMissing for an empty batch or item, or an *OperationError.
func ItemKey(operation, batch, item string) (string, error) {
	if err := CheckOperation(operation); err != nil {
		return "", err
	}
	switch {
	case batch == "" || item == "":
		return "", &SelectionError{Reason: "the name of the batch or of the item is empty", kind: ErrMissing}
	case !utf8.ValidString(batch) || !utf8.ValidString(item):
		return "", &SelectionError{Reason: "the name of the batch or of the item is not UTF-8", kind: ErrPayload, cause: canonicaljson.ErrText}
	}
	canonical, err := canonicaljson.AppendValue(nil, itemText(batch, item))
	if err != nil {
		return "", &SelectionError{Reason: err.Error(), kind: ErrPayload, cause: err}
	}
	return digestKey(operation, canonical), nil
}

// itemText is the string of which an item's key is made.
func itemText(batch, item string) string {
	text, _ := json.Marshal([2]string{batch, item}) // strings always encode
	return string(text)
}

const reasonItem = "a string that reads as [batch, item] is the key of an item of a batch"

// isItem tells whether the canonical form is of a string that is an item's.
func isItem(canonical []byte) bool {
	if !bytes.HasPrefix(canonical, []byte(`"[\"`)) {
		return false
	}
	var text string
	var parts []string
	if json.Unmarshal(canonical, &text) != nil || json.Unmarshal([]byte(text), &parts) != nil || len(parts) != 2 {
		return false
	}
	return parts[0] != "" && parts[1] != "" && text == itemText(parts[0], parts[1])
}
