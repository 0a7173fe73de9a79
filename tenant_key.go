package idempotency

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ErrTenant matches every *TenantError.
var ErrTenant = errors.New("unusable tenant")

// TenantError says why a tenant cannot be part of a key.
type TenantError struct {
	Tenant string // as it was given
	Reason string // what is wrong with it
}

func (e *TenantError) Error() string { return fmt.Sprintf("tenant %q: %s", e.Tenant, e.Reason) }

// Is reports whether target is ErrTenant.
func (e *TenantError) Is(target error) bool { return target == ErrTenant }

// TenantKey returns the record key that a request has for a tenant, from the key that
// it has without one, hashed or Verbatim: the tenant is put behind the operation,
//
//	payment#7a8c7a36b079…  of the tenant blue is  payment#@blue#7a8c7a36b079…
//
// so that keys of two tenants never meet, nor a tenant's with one that has none, and
// so that an IAM policy can tell them apart (dynamodb:LeadingKeys "payment#@blue#*").
//
// A tenant is UTF-8 text of 1 to 256 bytes without control characters and "#"; all
// that Lambda takes for one (tenant isolation mode, lambdacontext's TenantID) are.
// Anything else, and a key that has a tenant already, is a *TenantError. A key that
// gets too long for DynamoDB with its tenant is a *SelectionError.
func TenantKey(tenant, key string) (string, error) {
	operation, request, isKey := strings.Cut(key, "#")
	var reason string
	switch {
	case tenant == "":
		reason = "it is empty"
	case len(tenant) > maxTenant:
		reason = fmt.Sprintf("it is longer than %d bytes", maxTenant)
	case !utf8.ValidString(tenant):
		reason = "it is not UTF-8"
	case strings.Contains(tenant, "#"):
		reason = `"#" ends the tenant within a key`
	case strings.ContainsFunc(tenant, unicode.IsControl):
		reason = "it holds a control character"
	case !utf8.ValidString(key):
		reason = "the key that should get it is not UTF-8"
	case !isKey:
		reason = "what should get it is no record key"
	case strings.HasPrefix(request, "@"):
		reason = "the key has a tenant already"
	}
	if reason != "" {
		return "", &TenantError{Tenant: tenant, Reason: reason}
	}
	with := operation + "#@" + tenant + "#" + request
	if len(with) > maxKeyLength {
		return "", &SelectionError{Reason: fmt.Sprintf("with its tenant the key is longer than %d bytes", maxKeyLength), kind: ErrPayload}
	}
	return with, nil
}

// maxTenant is the most bytes of a tenant: Lambda's have 1 to 256 characters of
// [a-zA-Z0-9\._:\/=+\-@ ] (its API reference, ChainedInvokeOptions).
const maxTenant = 256
