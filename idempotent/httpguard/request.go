package httpguard

import (
	"encoding/base64"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Request is what a [Scope] sees of a request, the same for every shape. It
// must not be changed.
type Request struct {
	Method string
	// Path is as the event has it: with the stage where an HTTP API has a named
	// one, with the base path of a custom domain, without the stage in a REST API. Of a
	// net/http request it is the escaped path.
	Path string
	// Query has the decoded parameters, with all values in their order.
	Query url.Values
	// Header has all values; names are in canonical form.
	Header http.Header
	// Body is the content, with base64 of the transport decoded.
	Body []byte
	// Caller is who sent it, as far as AWS has found out.
	Caller Caller
	// Event is what all this was read from: an events.APIGatewayProxyRequest,
	// events.APIGatewayV2HTTPRequest, events.ALBTargetGroupRequest,
	// events.LambdaFunctionURLRequest or *http.Request (whose body is read).
	Event any
}

// Caller is who sent a request. Clients can't choose any of it: it comes from
// the authorizers of API Gateway and from IAM.
type Caller struct {
	// Claims are those of the token that a JWT or Cognito authorizer has checked;
	// only those that are strings.
	Claims map[string]string
	// Authorizer is the context that a Lambda authorizer has returned.
	Authorizer map[string]any
	// IAM is the unique identifier of the principal that signed the request: of a
	// user (AIDA…), or of a role with its session (AROA…:session).
	IAM string
	// CognitoIdentity is the identity of a Cognito identity pool (region:UUID) whose
	// credentials signed the request. A function URL does not know it.
	CognitoIdentity string
	// APIKeyID is the identifier, not the value, of a usage plan's API key.
	APIKeyID string
}

var (
	errShape = errors.New("the event has no HTTP method; it is not of the shape that its wrapper is for")
	errBody  = errors.New("the body is not the base64 that the event says it is")
)

// decodeBody returns the content of an event's body.
func decodeBody(body string, isBase64 bool) ([]byte, error) {
	if !isBase64 {
		return []byte(body), nil
	}
	content, err := base64.StdEncoding.DecodeString(body)
	if err != nil {
		return nil, errBody
	}
	return content, nil
}

// readHeader merges the two forms in which events have headers. A single value is
// the last of the others where both have a name; one that is none of them counts
// as one more, so that a disagreement is not resolved in silence.
func readHeader(single map[string]string, multi map[string][]string) http.Header {
	header := make(http.Header, max(len(single), len(multi)))
	for _, name := range slices.Sorted(maps.Keys(multi)) {
		canonical := http.CanonicalHeaderKey(name)
		header[canonical] = append(header[canonical], multi[name]...)
	}
	for _, name := range slices.Sorted(maps.Keys(single)) {
		canonical := http.CanonicalHeaderKey(name)
		if !slices.Contains(header[canonical], single[name]) {
			header[canonical] = append(header[canonical], single[name])
		}
	}
	return header
}

// readParameters does the same for query parameters, which the event has decoded.
func readParameters(single map[string]string, multi map[string][]string) url.Values {
	query := make(url.Values, max(len(single), len(multi)))
	maps.Copy(query, multi)
	for name, value := range single {
		if !slices.Contains(query[name], value) {
			query[name] = append(slices.Clip(query[name]), value)
		}
	}
	return query
}

// parseQuery reads a raw query. Unlike [url.ParseQuery] it loses nothing: what
// can't be decoded is taken as it is, since requests that differ in it differ.
func parseQuery(raw string) url.Values {
	query := make(url.Values)
	for pair := range strings.SplitSeq(raw, "&") {
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		name = unescape(name)
		query[name] = append(query[name], unescape(value))
	}
	return query
}

// unescapeParameters decodes the parameters of a load balancer's event.
func unescapeParameters(query url.Values) url.Values {
	decoded := make(url.Values, len(query))
	for _, name := range slices.Sorted(maps.Keys(query)) {
		for _, value := range query[name] {
			decoded[unescape(name)] = append(decoded[unescape(name)], unescape(value))
		}
	}
	return decoded
}

func unescape(s string) string {
	if decoded, err := url.QueryUnescape(s); err == nil {
		return decoded
	}
	return s
}
