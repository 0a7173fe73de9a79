package powertools_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ikkai-go/idempotency/idempotent/powertools"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
)

func TestOptionsAreChecked(t *testing.T) {
	python := func(o powertools.Options) error { _, err := powertools.Python(o); return err }
	typeScript := func(o powertools.Options) error { _, err := powertools.TypeScript(o); return err }
	for name, test := range map[string]struct {
		of      func(powertools.Options) error
		change  func(*powertools.Options)
		field   string
		inexact bool
	}{
		"no function name":                       {python, func(o *powertools.Options) { o.FunctionName = "" }, "FunctionName", false},
		"no Python function":                     {python, func(o *powertools.Options) { o.Function = "" }, "Function", false},
		"a Python function for TypeScript":       {typeScript, func(o *powertools.Options) { o.Function = "app.handler" }, "Function", false},
		"a sort key without a partition":         {typeScript, func(o *powertools.Options) { o.FunctionName, o.KeyPrefix, o.Table.Attributes.SortKey = "", "p", "sk" }, "FunctionName", false},
		"an expression that does not parse":      {python, func(o *powertools.Options) { o.EventKey = "a b" }, "EventKey", false},
		"a validation that does not parse":       {typeScript, func(o *powertools.Options) { o.Validation = "[" }, "Validation", false},
		"an expression that is not UTF-8":        {python, func(o *powertools.Options) { o.EventKey = "a.'\xff" }, "EventKey", false},
		"a validation that is not UTF-8":         {typeScript, func(o *powertools.Options) { o.Validation = "\xe9" }, "Validation", false},
		"a name that is not UTF-8":               {python, func(o *powertools.Options) { o.FunctionName = "\xff" }, "FunctionName", false},
		"a Python function that is not UTF-8":    {python, func(o *powertools.Options) { o.Function = "app.\xff" }, "FunctionName", false},
		"a prefix that is not UTF-8":             {typeScript, func(o *powertools.Options) { o.KeyPrefix = "\xff" }, "KeyPrefix", false},
		"a prefix too long for a key":            {python, func(o *powertools.Options) { o.KeyPrefix = strings.Repeat("p", 2016) }, "KeyPrefix", false},
		"a prefix too long for a sort key":       {typeScript, func(o *powertools.Options) { o.KeyPrefix, o.Table.Attributes.SortKey = strings.Repeat("p", 1000), "sk" }, "KeyPrefix", false},
		"an expression that is too long":         {python, func(o *powertools.Options) { o.EventKey = strings.Repeat("a", 4097) }, "EventKey", true},
		"an expression that is too deep":         {typeScript, func(o *powertools.Options) { o.EventKey = strings.Repeat("(", 300) + "a" + strings.Repeat(")", 300) }, "EventKey", true},
		"an index of many digits":                {python, func(o *powertools.Options) { o.EventKey = "a[1234567890123456]" }, "EventKey", true},
		"a reference that nothing takes":         {python, func(o *powertools.Options) { o.EventKey = "[&a]" }, "EventKey", true},
		"a reference for a value":                {python, func(o *powertools.Options) { o.EventKey = "to_string(&a)" }, "EventKey", true},
		"a value for a reference":                {typeScript, func(o *powertools.Options) { o.EventKey = "map(a, b)" }, "EventKey", true},
		"a call of what is no name":              {typeScript, func(o *powertools.Options) { o.EventKey = "'abs'(a)" }, "EventKey", true},
		"a call of what is no name in Python":    {python, func(o *powertools.Options) { o.EventKey = "'abs'(a)" }, "EventKey", false},
		"a name that a cache inherits":           {typeScript, func(o *powertools.Options) { o.EventKey = "constructor" }, "EventKey", true},
		"a member that becomes the prototype":    {typeScript, func(o *powertools.Options) { o.EventKey = `{"__proto__": a}` }, "EventKey", true},
		"a literal that is sorted for good":      {typeScript, func(o *powertools.Options) { o.EventKey = "sort(`[2,1]`)" }, "EventKey", true},
		"a function of its own":                  {python, func(o *powertools.Options) { o.EventKey = "my_function(a)" }, "EventKey", true},
		"an unknown hash":                        {python, func(o *powertools.Options) { o.Hash = "shake_128" }, "Hash", true},
		"a hash of the other language":           {typeScript, func(o *powertools.Options) { o.Hash = "sha3_256" }, "Hash", true},
		"half a second":                          {python, func(o *powertools.Options) { o.ExpiresAfter = 1500 * time.Millisecond }, "ExpiresAfter", false},
		"a version that is none":                 {python, func(o *powertools.Options) { o.Version = "latest" }, "Version", false},
		"a version that is not known":            {python, func(o *powertools.Options) { o.Version = "4.0.0" }, "Version", true},
		"an old version":                         {typeScript, func(o *powertools.Options) { o.Version = "1.18.1" }, "Version", true},
		"a validation that old versions fail on": {python, func(o *powertools.Options) { o.Validation, o.Version = "powertools_json(body).a", "3.35.0" }, "Validation", true},
		"compressed results":                     {python, func(o *powertools.Options) { o.Table.Compress = true }, "Table", false},
		"a format":                               {typeScript, func(o *powertools.Options) { o.Table.Format = &dynamostore.Format{} }, "Table", false},
	} {
		t.Run(name, func(t *testing.T) {
			o := powertools.Options{FunctionName: "orders-fn", Table: dynamostore.Config{Table: "idempotency"}}
			if strings.Contains(name, "TypeScript") {
				o.Function = ""
			} else if test.of(o) != nil {
				o.Function = "app.lambda_handler"
			}
			test.change(&o)
			err := test.of(o)
			fault, ok := errors.AsType[*powertools.OptionError](err)
			if !ok || !errors.Is(err, powertools.ErrOptions) || fault.Field != test.field || errors.Is(err, powertools.ErrInexact) != test.inexact {
				t.Errorf("%v; want a fault of %s, inexact %v", err, test.field, test.inexact)
			}
		})
	}
}

func TestTypeScriptTrimsItsPrefix(t *testing.T) {
	peer, err := powertools.TypeScript(powertools.Options{KeyPrefix: "\ufeff p \n", EventKey: "id", Table: dynamostore.Config{Table: "idempotency"}})
	if err != nil {
		t.Fatal(err)
	}
	if key, err := peer.Key("1"); err != nil || !strings.HasPrefix(key, "p#") {
		t.Errorf("key %q, %v", key, err)
	}
}

// What payloads are refused for: each would have another key, or none, in the peer.
func TestPayloadsThatAreNotToBeHadExactlyAreRefused(t *testing.T) {
	for name, test := range map[string]struct {
		python              bool
		expression, payload string
	}{
		"an inherited member":               {false, "a.constructor", `{"a":{}}`},
		"a list of several kinds":           {false, "max(a)", `{"a":["x",1]}`},
		"a list that is turned around":      {false, "reverse(a)", `{"a":[1,2]}`},
		"a sort that changes the event":     {false, "[a[0], sort(a)]", `{"a":[2,1]}`},
		"a collation":                       {false, "sort(a)", `{"a":["é","f"]}`},
		"an identity":                       {false, "contains(a, b)", `{"a":[[1]],"b":[1]}`},
		"a capital of a later Unicode":      {false, "a", "{\"a\":{\"\u1c89\":1,\"b\":2}}"},
		"a sum that lost digits":            {true, "sum(a)", `{"a":[1e16,1.0,1.0,-1e16]}`},
		"a number in a spelling of its own": {true, "to_number(a)", `{"a":"1_000"}`},
		"too deep":                          {true, "a", `{"a":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `}`},
	} {
		o := powertools.Options{KeyPrefix: "p", EventKey: test.expression, RaiseOnNoKey: true, Table: dynamostore.Config{Table: "idempotency"}}
		newPeer := powertools.TypeScript
		if test.python {
			newPeer = powertools.Python
		}
		peer, err := newPeer(o)
		if err != nil {
			t.Fatal(err)
		}
		if key, _, err := peer.Identify([]byte(test.payload)); !errors.Is(err, powertools.ErrInexact) {
			t.Errorf("%s: key %q, %v; want it refused", name, key, err)
		}
	}
}
