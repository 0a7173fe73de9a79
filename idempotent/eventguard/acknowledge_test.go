package eventguard

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"

	"github.com/ikkai-go/idempotency/idempotent"
)

// Every code there is has been decided on: a new one fails here.
func TestEachCodeIsDecided(t *testing.T) {
	const never, always, byChoice = "never", "always", "where permanent failures are acknowledged, and it is recorded"
	decided := map[idempotent.Code]string{
		idempotent.CodeCompleted: always, idempotent.CodeResultNotStored: always, idempotent.CodeSkipped: always,
		idempotent.CodeFailed:     byChoice,
		idempotent.CodeKeyMissing: never, idempotent.CodeKeyUnusable: never, idempotent.CodeInProgress: never, idempotent.CodeMismatch: never,
		idempotent.CodeReplayUnreadable: never, idempotent.CodeOutcomeUnknown: never, idempotent.CodeLeaseLost: never, idempotent.CodeStoreFailed: never,
		idempotent.CodeNotStored: never, idempotent.CodeNotStarted: never, idempotent.CodeResponseTooLarge: never, idempotent.CodePartialSuccess: never,
		idempotent.CodeCompensationFailed: never, idempotent.CodeStuck: never, idempotent.CodeStepFailed: never, idempotent.CodeUnfinished: never,
		idempotent.CodeInvalidConfig: never, idempotent.CodeFunctionFailed: never, idempotent.CodeSuspended: never,
		CodePayloadUnusable: never, CodePanicked: never, CodeHeldBack: never,
	}
	codes := append(codesOf(t, "../verdict.go"), codesOf(t, "verdict.go")...)
	if len(codes) != len(decided) {
		t.Errorf("%d codes and %d decisions", len(codes), len(decided))
	}
	for _, code := range codes {
		rule, ok := decided[code]
		if !ok {
			t.Errorf("%s is not decided on", code)
		}
		for _, choice := range []PermanentFailure{FailPermanent, AcknowledgePermanent} {
			for last, recorded := range map[idempotent.EventKind]bool{
				idempotent.EventExecuted: true, idempotent.EventReplayed: true, idempotent.EventUnprotected: true,
				idempotent.EventLeaseLost: false, idempotent.EventNotStored: false, idempotent.EventStoreFailed: false, "": false,
			} {
				want := rule == always || rule == byChoice && choice == AcknowledgePermanent && recorded
				p := processor{config: Config{OnPermanent: choice}}
				if got := p.acknowledges(idempotent.Verdict{Code: code}, last); got != want {
					t.Errorf("%s, choice %d, last event %q: acknowledged %t", code, choice, last, got)
				}
			}
		}
	}
}

// codesOf returns the constants of a file whose names begin with Code.
func codesOf(t *testing.T, file string) []idempotent.Code {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var codes []idempotent.Code
	ast.Inspect(parsed, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Names) != 1 || len(spec.Values) != 1 || len(spec.Names[0].Name) < 5 || spec.Names[0].Name[:4] != "Code" {
			return true
		}
		value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		codes = append(codes, idempotent.Code(value))
		return true
	})
	return codes
}
