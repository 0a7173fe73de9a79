package httpguard

import "net/http"

// Settled is the default policy of [Config]: which responses are recorded and
// replayed.
//
// Successes and redirects are: what they report has happened. Of the client
// errors those are that the same request would get again whenever it is sent,
// such as 400, 402 (a card declined), 404 and 422. Not settled are those that
// depend on who asks (401, 403, 407), on header fields that are not compared (406,
// 412, 428), or on the moment (408, 409, 421, 423, 424, 425, 426, 429), no
// server error, and nothing that is no response at all.
func Settled(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired,
		http.StatusNotAcceptable, http.StatusPreconditionFailed, http.StatusPreconditionRequired,
		http.StatusRequestTimeout, http.StatusConflict, http.StatusMisdirectedRequest, http.StatusLocked,
		http.StatusFailedDependency, http.StatusTooEarly, http.StatusUpgradeRequired, http.StatusTooManyRequests:
		return false
	default:
		return 200 <= status && status <= 499
	}
}
