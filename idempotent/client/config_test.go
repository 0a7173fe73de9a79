package client_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/ikkai-go/idempotency/idempotent/client"
)

func TestEachFaultOfAConfigIsNamed(t *testing.T) {
	for field, c := range map[string]client.Config{
		"Header":     {Header: "Idempotency Key"},
		"Form":       {Form: 2},
		"Methods":    {Methods: []string{"POST", ""}},
		"Tries":      {Tries: -1},
		"Patience":   {Patience: -1},
		"FirstPause": {FirstPause: -1},
		"MaxPause":   {FirstPause: 2, MaxPause: 1},
		"MaxBody":    {MaxBody: math.MaxInt64},
	} {
		t.Run(field, func(t *testing.T) {
			transport, err := client.New(c)
			var fault *client.ConfigError
			if transport != nil || !errors.As(err, &fault) || !errors.Is(err, client.ErrConfig) || fault.Field != field {
				t.Errorf("got %v, %v", transport, err)
			}
		})
	}
}

// Methods are case-sensitive: a POST is no "post", and would go out without a key.
func TestMethodsAreSpeltAsTheyAreSent(t *testing.T) {
	for _, method := range []string{"post", "Post", "pATCH", "PO ST", "PÖST", ""} {
		if _, err := client.New(client.Config{Methods: []string{method}}); !errors.Is(err, client.ErrConfig) {
			t.Errorf("%q is taken for a method: %v", method, err)
		}
	}
	for _, method := range []string{"POST", "PATCH", "LOCK", "M-SEARCH", "X_1"} {
		if _, err := client.New(client.Config{Methods: []string{method}}); err != nil {
			t.Errorf("%s: %v", method, err)
		}
	}
}

func TestAllFaultsOfAConfigAreToldAtOnce(t *testing.T) {
	_, err := client.New(client.Config{Header: "é", Form: -1, Methods: []string{"PO ST"}, Tries: -1,
		FirstPause: -1, MaxPause: 25 * time.Hour, MaxBody: -1})
	if err == nil || strings.Count(err.Error(), "client: Config.") != 7 {
		t.Error(err)
	}
}

func TestDefaultsFitWhatIsGiven(t *testing.T) {
	for name, c := range map[string]client.Config{
		"nothing":                {},
		"no method has keys":     {Methods: []string{}},
		"a longer first pause":   {FirstPause: time.Minute},
		"a shorter longest one":  {MaxPause: time.Millisecond},
		"pauses all of the same": {FirstPause: time.Second, MaxPause: time.Second},
	} {
		if _, err := client.New(c); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAConfigIsCopied(t *testing.T) {
	w := &wire{script: []answer{{status: 201}}}
	methods := []string{"POST"}
	transport := newTransport(t, client.Config{Transport: w, Methods: methods})
	methods[0] = "PATCH"
	if _, err := transport.RoundTrip(post(t)); err != nil || w.keys()[0] == "" {
		t.Errorf("sent under %q, %v", w.keys(), err)
	}
}
