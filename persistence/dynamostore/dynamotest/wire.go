package dynamotest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"net/http"
	"strconv"
)

// Region is the region the database claims to be in.
const Region = "us-east-1"

const (
	targetPrefix   = "DynamoDB_20120810."
	streamsPrefix  = "DynamoDBStreams_20120810."
	contentType    = "application/x-amz-json-1.0"
	maxRequestSize = 16 << 20
)

// ServeHTTP serves DynamoDB's JSON 1.0 protocol. Signatures are not looked at. A connection that the fault plan breaks is
// closed without a reply.
func (db *DB) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		_, _ = fmt.Fprintf(w, "healthy: dynamodb.%s.amazonaws.com ", Region)
		return
	}
	answered, err := db.answer(r)
	if err != nil {
		panic(http.ErrAbortHandler) // net/http's way to close the connection
	}
	maps.Copy(w.Header(), answered.header())
	w.WriteHeader(answered.status)
	_, _ = w.Write(answered.body) // fails only if the caller has gone
}

// RoundTrip serves the request in-process, in the caller's goroutine, as an http.RoundTripper. A connection that the
// fault plan breaks is an error like the ones the net package gives.
func (db *DB) RoundTrip(r *http.Request) (*http.Response, error) {
	answered, err := db.answer(r)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		Status:        strconv.Itoa(answered.status) + " " + http.StatusText(answered.status),
		StatusCode:    answered.status,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        answered.header(),
		Body:          io.NopCloser(bytes.NewReader(answered.body)),
		ContentLength: int64(len(answered.body)),
		Request:       r,
	}, nil
}

// answer is an HTTP reply.
type answer struct {
	status int
	body   []byte
}

func (a answer) header() http.Header {
	header := make(http.Header)
	header.Set("Content-Type", contentType)
	header.Set("Content-Length", strconv.Itoa(len(a.body)))
	header.Set("X-Amz-Crc32", strconv.FormatUint(uint64(crc32.ChecksumIEEE(a.body)), 10))
	header.Set("X-Amzn-Requestid", newID())
	return header
}

// answer reads the request, carries it out under the fault plan and gives the reply, or how the connection ended.
func (db *DB) answer(r *http.Request) (answer, error) {
	var body []byte
	if r.Body != nil {
		defer r.Body.Close()
		var err error
		if body, err = io.ReadAll(io.LimitReader(r.Body, maxRequestSize+1)); err != nil {
			return answer{}, err
		}
	}
	if err := context.Cause(r.Context()); err != nil {
		return answer{}, err // the caller has gone
	}
	x := db.exchange(r.Context(), r.Header.Get("X-Amz-Target"), body)
	if x.broken != nil {
		return answer{}, x.broken
	}
	if x.failure != nil {
		return encode(x.failure.status, x.failure.body()), nil
	}
	return encode(http.StatusOK, x.reply), nil
}

func encode(status int, reply any) answer {
	body, err := json.Marshal(reply)
	if err != nil {
		panic(err) // replies are made of types that always encode
	}
	return answer{status, body}
}

// exchange is one request and what became of it.
type exchange struct {
	db      *DB
	logged  *Request // guarded by db.mu
	input   input    // nil if it could not be decoded
	effects []Effect

	settled bool      // decided by a fault before the request was applied
	held    bool      // applied while it was held
	reply   any       // if all went well
	failure *apiError // the error answered
	broken  error     // how the connection ended instead of a reply
}

// exchange carries one request out: faults before, the request itself, faults after.
func (db *DB) exchange(ctx context.Context, target string, body []byte) *exchange {
	own, _ := ctx.Value(effectsKey{}).([]Effect)
	x := db.arrive(target, body, own)
	defer x.leave()
	for _, effect := range x.effects {
		if effect.before != nil && !x.settled {
			effect.before(ctx, x)
		}
	}
	if x.settled {
		return x
	}
	if x.input != nil && !x.held {
		x.apply()
	}
	for _, effect := range x.effects {
		if effect.after != nil {
			effect.after(ctx, x)
		}
	}
	return x
}

// arrive decodes and logs the request and finds the faults that touch it, besides its own.
func (db *DB) arrive(target string, body []byte, own []Effect) *exchange {
	operation, in, err := decode(target, body)
	x := &exchange{db: db, input: in}
	if err != nil {
		x.failure = asAPIError(err)
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	x.logged = &Request{Operation: operation, Time: db.now()}
	if in != nil {
		x.logged.Tables = in.subjects()
		x.logged.Keys = db.keysNamed(in)
	}
	db.log.add(x.logged)
	x.effects = append(db.matching(x.logged), own...)
	for _, effect := range x.effects {
		x.logged.Faults = append(x.logged.Faults, effect.name)
	}
	return x
}

// apply carries the request out on the tables.
func (x *exchange) apply() {
	x.db.mu.Lock()
	defer x.db.mu.Unlock()
	c := &call{DB: x.db, at: x.db.now(), consumed: make(consumption)}
	reply, err := x.input.apply(c)
	x.logged.Capacity = c.consumed.total()
	x.db.log.consumed = x.db.log.consumed.Plus(x.logged.Capacity)
	x.logged.Applied = err == nil
	if err != nil {
		x.failure = asAPIError(err)
		return
	}
	x.reply = reply
}

// leave logs what the caller is told.
func (x *exchange) leave() {
	x.db.mu.Lock()
	defer x.db.mu.Unlock()
	switch {
	case x.broken != nil:
	case x.failure != nil:
		x.logged.Status, x.logged.Code = x.failure.status, x.failure.code()
	default:
		x.logged.Status = http.StatusOK
	}
}
