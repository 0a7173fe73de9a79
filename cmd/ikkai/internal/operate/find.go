package operate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/httpguard"
	"github.com/ikkai-go/idempotency/persistence"
)

// Search is what is known of a request: the customer's own data, from which its record's key
// is made as the function makes it.
type Search struct {
	// Operation is the guard's; Tenant that of Lambda's tenant isolation mode.
	Operation, Tenant string

	// Event is a file of the event, or - for stdin, and Key the guard's expression.
	Event, Key string
	// Value is what the expression selects, or what Do was given.
	Value string
	// Batch and Item are those of a batch.
	Batch, Item string

	// HTTP says that Event is that of an HTTP API, or that IdempotencyKey was its header. Scope
	// is whose keys they are.
	HTTP           bool
	IdempotencyKey string
	Scope          string
	// Claims, APIKeyID and IAM are the caller, where there is no event.
	Claims        map[string]string
	APIKeyID, IAM string
}

// FindKey prints the key of the record that a request has. It sends nothing.
func FindKey(ctx context.Context, s Search, stdin io.Reader, stdout io.Writer) error {
	key, err := s.key(ctx, stdin)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(stdout, key)
	return err
}

func (s Search) key(ctx context.Context, stdin io.Reader) (string, error) {
	if s.Operation == "" {
		return "", &UsageError{"which operation? Name that of the guard with --operation"}
	}
	if s.Tenant != "" {
		ctx = lambdacontext.NewContext(ctx, &lambdacontext.LambdaContext{TenantID: s.Tenant})
	}
	switch ways := s.ways(); len(ways) {
	case 1:
	case 0:
		return "", &UsageError{"what is known of the request? An event's file with --key EXPRESSION or --http; --value; --batch and --item; or --idempotency-key"}
	default:
		return "", &UsageError{fmt.Sprintf("%s do not go together: each is a way to the key", strings.Join(ways, " and "))}
	}
	switch {
	case s.HTTP || s.IdempotencyKey != "":
		return s.httpKey(ctx, stdin)
	case s.Batch != "" || s.Item != "":
		key, err := idempotency.ItemKey(s.Operation, s.Batch, s.Item)
		return s.ofTenant(key, err)
	case s.Value != "":
		key, err := idempotency.Key(s.Operation, s.Value)
		return s.ofTenant(key, err)
	}
	event, err := readInput(s.Event, stdin)
	if err != nil {
		return "", err
	}
	expression := idempotency.WholePayload()
	if s.Key != "" {
		if expression, err = idempotency.JMESPath(s.Key); err != nil {
			return "", &UsageError{"--key: " + err.Error()}
		}
	}
	key, err := expression.Key(s.Operation, event)
	return s.ofTenant(key, err)
}

// ways are the ways to a key that are given.
func (s Search) ways() (ways []string) {
	for name, given := range map[string]bool{
		"an event": s.Event != "", "--value": s.Value != "", "--batch": s.Batch != "" || s.Item != "", "--idempotency-key": s.IdempotencyKey != "",
	} {
		if given {
			ways = append(ways, name)
		}
	}
	return ways
}

func (s Search) ofTenant(key string, err error) (string, error) {
	if err == nil && s.Tenant != "" {
		key, err = idempotency.TenantKey(s.Tenant, key)
	}
	return key, err
}

// httpKey finds the key of a request of an HTTP API as httpguard does.
func (s Search) httpKey(ctx context.Context, stdin io.Reader) (string, error) {
	scope, err := scopeOf(s.Scope)
	if err != nil {
		return "", err
	}
	guard, err := idempotent.New(persistence.NewMemory(), idempotent.Config{Operation: s.Operation})
	if err != nil {
		return "", err
	}
	api, err := httpguard.New(guard, httpguard.Config{Scope: scope})
	if err != nil {
		return "", err
	}
	var request any = &httpguard.Request{
		Header: http.Header{"Idempotency-Key": {s.IdempotencyKey}},
		Caller: httpguard.Caller{Claims: s.Claims, APIKeyID: s.APIKeyID, IAM: s.IAM},
	}
	if s.IdempotencyKey == "" {
		event, err := readInput(s.Event, stdin)
		if err != nil {
			return "", err
		}
		request = json.RawMessage(event)
	}
	key, err := api.RecordKey(ctx, request)
	if errors.Is(err, httpguard.ErrNoScope) {
		return "", &UsageError{fmt.Sprintf("%v. The caller comes from the event, or from --claim, --api-key-id or --iam", err)}
	}
	return key, err
}

// scopeOf returns the scope of a name such as jwt-subject or claim:email.
func scopeOf(name string) (httpguard.Scope, error) {
	kind, of, _ := strings.Cut(name, ":")
	switch {
	case kind == "none":
		return httpguard.Unscoped(), nil
	case kind == "jwt-subject":
		return httpguard.ByJWTSubject(), nil
	case kind == "api-key":
		return httpguard.ByAPIKey(), nil
	case kind == "iam-principal":
		return httpguard.ByIAMPrincipal(), nil
	case kind == "iam-role":
		return httpguard.ByIAMRole(), nil
	case kind == "claim" && of != "":
		return httpguard.ByClaim(of), nil
	case kind == "authorizer" && of != "":
		return httpguard.ByAuthorizer(of), nil
	case kind == "header" && of != "":
		return httpguard.ByHeader(of), nil
	default:
		return httpguard.Scope{}, &UsageError{fmt.Sprintf("--scope %q is none of none, jwt-subject, api-key, iam-principal, iam-role, claim:NAME, authorizer:NAME and header:NAME", name)}
	}
}

// readInput reads a file, or stdin for -.
func readInput(name string, stdin io.Reader) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(stdin)
	}
	content, err := os.ReadFile(name)
	if err != nil {
		return nil, &UsageError{err.Error()}
	}
	return content, nil
}
