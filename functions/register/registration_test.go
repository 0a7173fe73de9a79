package main

import (
	"strings"
	"testing"
)

func TestWhatIsNoRegistrationIsRefused(t *testing.T) {
	for name, body := range map[string]string{
		"nothing":              ``,
		"no JSON":              `hello`,
		"a list":               `[]`,
		"no e-mail":            `{"name":"Ada"}`,
		"no name":              `{"email":"ada@example.com"}`,
		"a blank name":         `{"email":"ada@example.com","name":" "}`,
		"two e-mails":          `{"email":"ada@example.com","email":"eve@example.com","name":"Ada"}`,
		"an e-mail as number":  `{"email":1,"name":"Ada"}`,
		"no domain":            `{"email":"ada","name":"Ada"}`,
		"a name in the e-mail": `{"email":"Ada <ada@example.com>","name":"Ada"}`,
		"space around it":      `{"email":" ada@example.com","name":"Ada"}`,
		"a line break":         `{"email":"ada@example.com\nBcc: eve@example.com","name":"Ada"}`,
		"a letter like K":      `{"email":"\u212Aim@example.com","name":"Kim"}`,
		"too long":             `{"email":"` + strings.Repeat("a", maxEmail-len("@example.com")+1) + `@example.com","name":"Ada"}`,
	} {
		if r, err := parseRegistration([]byte(body)); err == nil {
			t.Errorf("%s: got %+v", name, r)
		}
	}
	if _, err := parseRegistration([]byte(`{"email":"` + strings.Repeat("a", maxEmail-len("@example.com")) + `@example.com","name":"Ada"}`)); err != nil {
		t.Errorf("the longest address: %v", err)
	}
}

func TestMailboxesAreToldApartButForUpperAndLowerCase(t *testing.T) {
	ada := registration{Email: "Ada@Example.COM"}.mailbox()
	for email, same := range map[string]bool{
		"ada@example.com":      true,
		"ADA@EXAMPLE.COM":      true,
		"ada+news@example.com": false,
		"a.da@example.com":     false,
	} {
		if got := (registration{Email: email}).mailbox() == ada; got != same {
			t.Errorf("%s has the mailbox of Ada: %t", email, got)
		}
	}
}
