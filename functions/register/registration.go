package main

import (
	"net/mail"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"
)

// registration is what the body of a request asks for.
type registration struct {
	Email string `json:"email"`
	Name  string `json:"name"`
}

// registrationError says why there can't be such an account.
type registrationError struct{ reason string }

func (e *registrationError) Error() string { return e.reason }

// maxEmail is how long an address may be that mail can be sent to (RFC 5321, 4.5.3.1.3).
const maxEmail = 254

// parseRegistration reads a body. It knows each member by one exact spelling and
// refuses to see it twice.
func parseRegistration(body []byte) (registration, error) {
	var r registration
	if err := json.Unmarshal(body, &r); err != nil {
		return registration{}, &registrationError{"the body must be a JSON object with an email and a name as text"}
	}
	switch {
	case !isEmail(r.Email):
		return registration{}, &registrationError{"the email must be an address such as ada@example.com"}
	case strings.TrimSpace(r.Name) == "":
		return registration{}, &registrationError{"the name is missing"}
	}
	return r, nil
}

// isEmail takes addresses in ASCII only: those of other letters have several
// spellings that look the same, and it takes more than a sample to compare them.
func isEmail(s string) bool {
	parsed, err := mail.ParseAddress(s)
	notASCII := func(letter rune) bool { return letter > unicode.MaxASCII }
	return err == nil && parsed.Address == s && len(s) <= maxEmail && !strings.ContainsFunc(s, notASCII)
}

// mailbox is the e-mail address by which accounts are told apart. Upper and lower
// case make no difference: to domains by their nature, and to all mail services
// worth mentioning. Dots and tags (ada+news@) do, whatever one of them may think.
func (r registration) mailbox() string { return strings.ToLower(r.Email) }
