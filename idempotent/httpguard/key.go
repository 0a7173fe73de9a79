package httpguard

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/ikkai-go/idempotency"
)

// keyError says what is wrong with a key, in a sentence for the client.
type keyError struct{ detail string }

func (e *keyError) Error() string { return "httpguard: unusable key: " + e.detail }

func keyFault(format string, args ...any) error {
	return &keyError{fmt.Sprintf(format, args...)}
}

// keyInHeader returns the key that a request brings in the header; empty where it brings
// none. A key that can't be read is an error, never no key.
func (c *Config) keyInHeader(r *Request) (string, error) {
	values, present := r.Header[http.CanonicalHeaderKey(c.Header)]
	if !present {
		return "", nil
	}
	key, err := parseKey(values)
	return c.checked(key, err)
}

// checked returns a key that was found, if it is as the API wants it.
func (c *Config) checked(key string, err error) (string, error) {
	switch {
	case err != nil:
		return "", err
	case key == "":
		return "", nil
	case len(key) > c.MaxKey:
		return "", keyFault("The key is longer than %d bytes.", c.MaxKey)
	case c.CheckKey == nil:
		return key, nil
	}
	if err := c.CheckKey(key); err != nil {
		return "", keyFault("The key is not valid: %v.", err)
	}
	return key, nil
}

// parseKey reads the key from all values of its header. The header is a
// structured field, an item that is a string (RFC 9651, section 3.3.3); most
// clients send the string bare, which gives the same key.
//
// A bare key must not have the characters that make a list, a string or
// parameters of it: several headers arrive joined by commas. The draft defines no
// parameters, so they are refused rather than ignored.
func parseKey(values []string) (string, error) {
	if len(values) > 1 {
		return "", keyFault("There is more than one key.")
	}
	text := strings.Trim(strings.Join(values, ""), " \t")
	key, err := text, error(nil)
	if strings.HasPrefix(text, `"`) {
		key, err = parseString(text)
	} else if i := strings.IndexFunc(text, notBare); i >= 0 {
		err = keyFault("The key has the character %q at %d; it must be a quoted string.", text[i:i+1], i)
	}
	if err == nil && strings.Trim(key, " ") == "" {
		err = keyFault("The key is empty.")
	}
	return key, err
}

// parseString reads a structured field's string.
func parseString(text string) (string, error) {
	var key strings.Builder
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			if i+1 < len(text) {
				return "", keyFault("The key goes on behind its closing quote.")
			}
			return key.String(), nil
		case c == '\\':
			i++
			if i == len(text) || text[i] != '"' && text[i] != '\\' {
				return "", keyFault("The key has a backslash before something other than a quote or a backslash.")
			}
			key.WriteByte(text[i])
		case c < ' ' || c > '~':
			return "", keyFault("The key has the character %q, which is not printable ASCII.", text[i:i+1])
		default:
			key.WriteByte(c)
		}
	}
	return "", keyFault("The key's closing quote is missing.")
}

func notBare(c rune) bool { return c <= ' ' || c > '~' || strings.ContainsRune(`",;\`, c) }

// keyInBody returns the key that is selected from a JSON body, under the same rules. What
// neither claims to be JSON nor is, such as a form, has none.
func (c *Config) keyInBody(r *Request, body []byte) (string, error) {
	if len(body) == 0 || !isJSON(r.Header.Get("Content-Type")) && !json.Valid(body) {
		return "", nil
	}
	return c.checked(selectKey(c.BodyKey, body))
}

func selectKey(expression *idempotency.Expression, body []byte) (string, error) {
	selected, err := expression.Canonical(body)
	if errors.Is(err, idempotency.ErrMissing) {
		return "", nil
	}
	var key string
	if err != nil || json.Unmarshal(selected, &key) != nil {
		return "", keyFault("The body has no string %s to be the key.", expression)
	}
	if strings.TrimSpace(key) == "" {
		return "", keyFault("The key is empty.")
	}
	return key, nil
}

// joinKey joins scope and key so that no two pairs give the same.
func joinKey(scope [][]string, key string) string {
	text, _ := json.Marshal([]any{scope, key}) // UTF-8 always encodes
	return string(text)
}
