package httpguard

import "net/http"

// Settled is the default policy of [Config]: which responses are recorded and
// replayed.
//
// Successes and redirects are: what they report has happened. Of the client errors
// those are by which a server judges what the guard compares, method, path, query and
// content, so that the same request would get the same again: 400, 402 (a card
// declined), 404, 405, 410, 413, 414, 422 and 451. Nothing else is. That leaves out what
// depends on who asks (401, 403, 407), on header fields, which are not compared (304,
// 406, 411, 412, 415, 416, 417, 428, 431), or on the moment (408, 409, 421, 423, 424,
// 425, 426, 429), the codes that are not registered, such as 499 for a client that has
// gone, server errors, and what is no response at all. A client error has done nothing,
// so that there is no harm in a retry that runs.
func Settled(status int) bool {
	switch status {
	case http.StatusNotModified:
		return false
	case http.StatusBadRequest, http.StatusPaymentRequired, http.StatusNotFound, http.StatusMethodNotAllowed,
		http.StatusGone, http.StatusRequestEntityTooLarge, http.StatusRequestURITooLong,
		http.StatusUnprocessableEntity, http.StatusUnavailableForLegalReasons:
		return true
	default:
		return 200 <= status && status <= 399
	}
}
