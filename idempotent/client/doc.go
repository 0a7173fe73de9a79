// Package client is the caller's half of idempotency over HTTP: an
// [http.RoundTripper] that gives a request a key, and sends the request again,
// under the same key, until it has an answer.
//
//	transport, err := client.New(client.Config{})
//	...
//	httpClient := &http.Client{Transport: transport, Timeout: 20 * time.Second}
//
// It follows draft-ietf-httpapi-idempotency-key-header-07 and obeys one law:
//
//	request ─▶ key ─▶ keep it ─▶ send ─┬─ settled ───────────────────────▶ the answer, as it is
//	                              ▲    └─ may come out differently ─┬─ at an end ─▶ the answer, as it is
//	                              └───── pause, same key ◀──────────┘
//
// # What has a key
//
// One call of RoundTrip is one logical request. Those whose method is not
// idempotent by itself (POST and PATCH, see [Config.Methods]) get a key, which is
// the first of these that there is:
//
//   - the value of the header, where the caller has set it; it is sent as it is,
//   - the key in the request's context, put there with [WithKey],
//   - the key of the request that was redirected here, because the [http.Client]
//     that follows a 307 or 308 makes a new request without it,
//   - a new one: a random UUID. [Config.OnNewKey] can store it before it is sent.
//
// Who may have to repeat a request later, after a crash or because the reply broke
// off in the middle of its body, needs the key again. Make it with [NewKey], store
// it together with the intent, and send each request for that intent with
// [WithKey]; or store it in [Config.OnNewKey]; or read it from the response:
// KeyFrom(resp.Request.Context()). A key belongs to one intent: another payload
// under the same key is refused by the server with 422.
//
// A key stays with its server. [http.Client] follows a redirect to another host or port,
// or from https to http, and takes along the caller's headers and context; the key
// is not among them. A request that would need it there is not sent: RoundTrip returns
// a [*KeyError]. Others, such as the GET that a 303 asks for, are sent without it. That
// holds whatever the transport beneath says of the request that it has sent. A transport
// beneath that follows redirects by itself takes the key along, and must not be used.
//
// A key helps only where the server knows it. Use this transport for servers that
// promise so; for others, POST and PATCH need a transport that does not repeat them.
//
// # What is sent again
//
//	outcome of a try                             then
//	no response, connection lost, timed out      again
//	the context is done                          the context's error
//	the certificate is refused, no TLS there     the error
//	409 with Retry-After                         again: the first try is still running
//	409 without Retry-After                      the response: a conflict of the application's own,
//	                                             or carried out, with no response to show for it
//	429, 500, 502, 503, 504                      again
//	everything else, such as 400, 422 and 501    the response
//
// A problem document with the verdict of package httpguard is believed where it says that
// another try is of no use. [Config.Decide] may say otherwise, for an API that has words of
// its own for "in use".
//
// This holds for requests with a key and for GET, HEAD, OPTIONS, TRACE, PUT and
// DELETE. All others are sent once. A request whose header is there with no value
// at all is taken for idempotent without a key, as [http.Transport] takes it.
//
// Between two tries there is a pause that doubles each time, of which up to a half
// is left out at random. Retry-After, in seconds or as a date, makes it longer. The last
// response or error is returned as it is, a 503 like a 200, where this comes to an end:
//
//   - Outcomes that say nothing of a time are counted: five times a request is sent.
//   - While the server says when to come back, by Retry-After, the request is sent again
//     for two minutes, or until the deadline of its context where it has one
//     ([Config.Patience]). A run that has died locks its key for about a minute, and who
//     counts to five has given up before that.
//   - [Config.Tries], where it is set, counts everything that is sent.
//   - No pause goes beyond the deadline of the context, which is that of the
//     [http.Client]'s Timeout too.
//
// A context that ends during a pause ends it at once, with the context's error.
//
// A server that keeps the connection but never answers is left only at the
// deadline. Set ResponseHeaderTimeout on the [http.Transport] beneath, and it is
// asked again.
//
// # Bodies
//
// A request whose body comes with GetBody, as that of [http.NewRequest] does for
// bytes and strings, is sent again from there. Any other body is read into memory
// first, if it is not larger than [Config.MaxBody]; a larger one is streamed and
// sent once, with its key, so that the caller may repeat it. Content that turns out to be
// empty is sent as none, with its length of 0; not so where Tries is 1, for which nothing is
// read ahead. Requests that are sent
// while they are written, in answer to what the server says meanwhile, need another
// transport. Responses that are not returned are read to their end, up to 64 KiB and for
// up to 50 milliseconds, and closed.
//
// docs/guarantees.md in this module has the sections of the draft, and the tests that show them.
package client
