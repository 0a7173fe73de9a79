package httpguard

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Request is what is known of a request before its body is read, the same for every
// shape: what a [Scope] and [Config].AnswerHeaders see. It must not be changed.
type Request struct {
	// Method is POST, PATCH and so on, as the client has written it.
	Method string
	// Path is as the event has it, in path or rawPath. Whether the stage, or the path by
	// which a custom domain maps the API, is part of it depends on the kind of API; one
	// function behind several mappings needs one guard for each, or a scope that
	// tells them apart. Of a net/http request it is the escaped path as it was
	// requested, whatever http.StripPrefix has made of it since.
	Path string
	// Query has the decoded parameters, with all values in their order. What can't be
	// decoded is as it is.
	Query url.Values
	// rawQuery is the query before it was decoded, where that has lost something.
	rawQuery string
	// Header has all values; names are in canonical form.
	Header http.Header
	// Caller is who sent it, as far as AWS has found out.
	Caller Caller
	// Event is what all this was read from: an events.APIGatewayProxyRequest,
	// events.APIGatewayV2HTTPRequest, events.ALBTargetGroupRequest,
	// events.LambdaFunctionURLRequest or *http.Request (whose body must not be read).
	Event any

	// body gives the content. It is asked for at most once, and not before the key and
	// the caller are known: their refusals come first.
	body content

	// kept gives the event that is kept where the guard keeps events, and the request that
	// it is. nil where there is no event.
	kept func() (event any, r *Request)
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

// undecoded returns a raw query whose decoded parameters do not say all of it: one
// with broken escapes, which look like decoded ones, or with a semicolon, which
// separates parameters for some handlers and not for others. Of all others it returns
// nothing.
func undecoded(raw string) string {
	if _, err := url.ParseQuery(raw); err != nil {
		return raw
	}
	return ""
}

// parseQuery reads a raw query. Unlike [url.ParseQuery] it drops nothing: what can't
// be decoded is taken as it is.
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

// rawParameters is the query that a load balancer has made an event's parameters of,
// but for the order of the names.
func rawParameters(query url.Values) string {
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(query)) {
		for _, value := range query[name] {
			pairs = append(pairs, name+"="+value)
		}
	}
	return strings.Join(pairs, "&")
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
