// Package httpguard makes the handlers of an HTTP API run once for each request
// that arrives twice: behind API Gateway (REST and HTTP APIs), an Application
// Load Balancer, a Lambda function URL, and as net/http middleware. It follows
// draft-ietf-httpapi-idempotency-key-header-07.
//
//	guard, err := idempotent.New(store, idempotent.Config{Operation: "payment"})
//	...
//	api, err := httpguard.New(guard, httpguard.Config{Scope: httpguard.ByJWTSubject()})
//	...
//	lambda.Start(api.HTTPAPI(create))
//
// [API.RESTAPI], [API.HTTPAPI], [API.ALB] and [API.FunctionURL] wrap typed
// handlers, [API.Middleware] wraps an http.Handler. All five do the same, on the same
// records. Handlers find the guarded call, and the key for services further down,
// by [idempotent.CallFrom].
//
// # The key
//
// A POST or PATCH brings its key in the header Idempotency-Key, as a structured
// field's string or bare: "8e03978e" and 8e03978e are one key. A header that is
// empty, malformed, too long or there twice, equal or not, is refused; it never
// counts as no key. Where there is none the guard decides: it refuses, or with
// RunWithoutKey of the guard lets the request through. Other methods pass as they
// are, whether they bring a key or not, unless [Config] names them.
//
// The record's key is made of the operation, the [Scope] and the key, so another
// tenant's key is another key.
//
// # The fingerprint
//
// A key belongs to one request: to its method, path, query and content. The order of
// the query's names does not matter, nor base64 of the transport, nor, where the
// content type is JSON or missing, how the JSON is spelt. Other bodies are compared by
// their bytes, so a form with files must be sent with the same boundary again. No
// header is compared, the content type included. [Config].Compare selects less. A query
// that has a semicolon, or escapes that can't be decoded, is compared as it is spelt.
// Paths are taken as they come: the same request through another domain or stage may
// have another one, and is then refused rather than replayed.
//
// The key in the header and the scope are looked at before the body is read, and before a
// client that expects 100 (Continue) is told to send it. The body of a request without a
// key is left to the handler.
//
// Where Lambda keeps tenants apart, the tenant is part of the record's key besides: scopes
// tell callers of one tenant apart. Neither is read from the body, which a scope does not
// see.
//
// With the guards switched off by the environment (see package idempotent) the adapters
// pass everything on: nothing is refused, compared or limited, so an API runs locally
// without its authorizer and with clients that send no keys.
//
// # Resuming
//
// With [idempotent.Config].KeepEvent a record keeps its request, until it is finished, as an event
// of the kind that the API sends, so that it can be resumed without its client (package
// persistence/records). It is kept without what proves who the client is: the headers
// Authorization, Proxy-Authorization, Cookie, X-Api-Key, X-Amz-Security-Token,
// X-Amzn-Oidc-Data and X-Amzn-Oidc-Accesstoken, the cookies of format 2.0, and the API key in a
// REST API's context. A handler that reads these finds none when it is resumed. What the authorizer has found out
// stays, so that the request is still its owner's; where the [Scope] would find another one
// without those headers, nothing is kept. The middleware keeps the event that lambdaurl has, and
// nothing outside of Lambda.
//
// # Responses
//
// Which responses are recorded is decided by their status, by default by
// [Settled]: successes, redirects and the client errors that judge the request itself. After any other
// response, and after an error, the record is released and a retry runs. The error of
// a typed handler goes to Lambda unchanged. For a refusal that is final answer with a
// status that is settled, such as 402; [idempotent.Permanent] makes the error final,
// so that Lambda reports it each time.
//
// A replay has the status, the very bytes of the body and Idempotent-Replayed:
// true, which no first response has. Of the headers it has, with all their values,
// Content-Type, Content-Encoding, Content-Language, Content-Disposition,
// Content-Location, Location, Link, ETag, Last-Modified, Cache-Control, Expires,
// Vary, Retry-After, X-Content-Type-Options, those of CORS that go with a response, and what
// [Config].ReplayHeaders adds. Cookies are never recorded. Content-Type is the one that
// was sent, also where net/http has found it; and what a handler has deleted of the
// headers that it found is deleted from a replay.
//
// Those of CORS (Access-Control-*, Timing-Allow-Origin) are replayed only to the page of
// the origin that Access-Control-Allow-Origin names, or where that is "*". For others
// [Config].AnswerHeaders says what they may see, as it does for refusals; or a
// middleware of CORS in front of the guard, whose headers are never recorded.
//
// First responses and replays say until when the key is kept, in the header
// Idempotency-Key-Expires, which is an HTTP date (no header is registered for that).
// Until then the same request gets the same response, and afterwards it runs. A response
// that is not recorded has none, nor has one that is streamed: it has begun before that
// is known.
//
// # Refusals
//
// Refusals are problem documents (RFC 9457), each code with a type of its own, which
// docs/http.md explains, and a link to [Config].DocsURL. They are never recorded. All of a
// refusal goes by the verdict on the call ([idempotent.VerdictOf]): what it says of what was
// done, in words and in the member "done"; whether the request may be repeated, in "retry"
// and Retry-After; and its code.
//
//	status    code                             when
//	400       key_missing, key_unusable        the key is missing where it is needed, or can't be used
//	400       body_unreadable                  the body is not what its encoding says
//	403       caller_unknown                   the request does not tell whose key it brings
//	409 *     in_progress                      the first is being processed
//	409 *     lease_lost                       another try has taken over
//	409       result_not_stored                the first was carried out, its response is not kept
//	409       outcome_unknown                  the first died, and the guard refuses to run again
//	409       stuck                            somebody has to look after it
//	409, 503* not_stored                       this try came to an end, and that could not be recorded
//	413       body_too_large                   the body is larger than Config.MaxBody
//	422       mismatch                         the key came with another request (409 by choice)
//	500       replay_unreadable                a stored response can't be read
//	500       internal, invalid_config         the wrapping is wrong
//	503 *     not_started, not_finished        no time was left
//	503 *     scope_failed                     it could not be found out whose key it is
//	503 *     store_failed                     the store has failed; without Retry-After where that is hopeless
//	503 *     partial_success                  a part was done: a retry goes on behind it
//	503 *     compensation_failed              a retry goes on undoing
//
// Those with * have a Retry-After, which grows with what is known of the run. A 409 without
// one is not for repeating. The one for a try that was carried out and not recorded is a
// fault of the store, and no 503 for that reason: clients repeat a 503, and once the lease
// is over the request would run again. Whoever gets it has to ask what has become of the
// request. Where what was done is recorded step by step, or commits with the record, only a
// repetition brings it to its end, and it is a 503.
//
// A handler's own 5xx goes out as it is. Where steps are done that a retry goes on behind
// (package saga), it gets a Retry-After, unless it has one.
//
// # Streams
//
// Lambda streams the responses of function URLs and REST APIs that ask for it
// ([API.StreamedFunctionURL], [API.StreamedRESTAPI]). A body is passed on one part behind what is
// read of it, and its last part when the call is settled:
//
//	the body                                  the client gets           the record
//	has one part, or none                     it, as without a stream   completed, by the status
//	has more                                  them, as they come        completed at the end, by the status
//	... and the client is gone                what it could             completed, by the status
//	has more than MaxBody                     all of it                 completed without a response
//	has less than its Content-Length          what it has               completed without a response
//	ends with an error                        a stream that breaks      released
//	is not over when the time is              a stream that breaks      completed without a response
//	ends, and the store fails                 a stream that breaks      locked until its lease is over
//	ends, and its writes are refused          a stream that breaks      released
//
// # net/http
//
// The middleware holds a response back until it is recorded, so that no client
// hears of a success that the next try would not hear of. Every way out of a handler
// settles the record:
//
//	the handler                               the client gets           the record
//	writes nothing                            200                       completed
//	writes, and its client is gone            nothing                   completed, by the status
//	writes nothing, its client or time gone   503 (not_finished)        released
//	flushes, or writes more than MaxBody      the stream as it comes    completed at the end, by the status
//	... and its client or time is gone        what it could             completed without a response
//	... and has written more than MaxBody     the stream                completed without a response
//	writes less than its Content-Length       a connection that breaks  completed without a response
//	... and the store fails at the end        the stream, left whole    locked until its lease is over
//	panics, also with http.ErrAbortHandler    what net/http makes of it released
//	hijacks                                   is refused, http.ErrNotSupported
//	writes after it has returned              nothing; the write fails  settled by then
//
// An [http.TimeoutHandler] belongs in front of the guard. Behind it, it answers 503
// while its handler goes on, the record is released, and a retry runs beside the first.
//
// What is written beyond a Content-Length fails with [http.ErrContentLength], as
// ever. Headers that a middleware in front has set, and the handler has left as they
// are, are not recorded; a replay leaves them to that middleware.
//
// Flush, ReadFrom, informational responses, trailers and [http.ResponseController]
// work. Trailers are not replayed. What a store can't hold (400 KB in DynamoDB) is
// completed without a response as well.
//
// docs/guarantees.md in this module has the sections of the draft, and the tests that show them.
package httpguard
