package client

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"
)

// Transport sends requests under a key until they have an answer. It is safe for
// concurrent use. Make one with [New].
type Transport struct {
	config Config
}

// New returns a transport for the Transport of an [http.Client]. Its error joins
// a [*ConfigError] for each fault of the config.
func New(c Config) (*Transport, error) {
	c = c.withDefaults()
	if err := c.check(); err != nil {
		return nil, err
	}
	return &Transport{config: c}, nil
}

// RoundTrip sends one logical request, as often as it takes. It returns what the
// last try was answered with, whatever its status, or the last try's error; a
// [*KeyError] for a key that can't be sent; what [Config.OnNewKey] returns; or the
// error of the context that ended between two tries, its cause if it has one. The
// request is left as it is, and its body is closed.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	request, err := t.prepare(r)
	if err != nil {
		return nil, err
	}
	ctx := request.Context()
	for so := (course{began: time.Now()}); ; {
		resp, sent, err := t.send(request, so)
		if !request.repeatable {
			return resp, err
		}
		pause, again := t.config.pause(ctx, &so, sent, resp, err)
		if !again {
			return resp, err
		}
		if t.config.OnRetry != nil {
			t.config.OnRetry(ctx, retry(request.key, so.sent, resp, err, pause))
		}
		discard(resp)
		if err := sleep(ctx, pause); err != nil {
			return nil, err
		}
		if err := request.body.rewind(); err != nil {
			return nil, err
		}
	}
}

// logical is what all tries of a request have in common.
type logical struct {
	*http.Request // a copy of the caller's, with a header and a context of its own
	key           string
	body          body
	onlyOnce      bool // nothing makes it safe to send it twice
	repeatable    bool
}

// prepare does what comes before the first try. With an error it has closed the
// request's body.
func (t *Transport) prepare(r *http.Request) (_ logical, err error) {
	content := asItIs(r)
	defer func() {
		if err != nil {
			content.close()
		}
	}()
	if err := context.Cause(r.Context()); err != nil {
		return logical{}, err
	}
	id, err := t.config.identify(r)
	if err != nil {
		return logical{}, err
	}
	mayRepeat := id.kind != onlyOnce && t.config.Tries != 1
	if mayRepeat {
		if content, err = repeatable(r, t.config.MaxBody); err != nil {
			return logical{}, err
		}
		mayRepeat = content.again != nil
	} else if id.kind != onlyOnce {
		if content, err = onceAtMost(r); err != nil {
			return logical{}, err
		}
	}
	if id.kind == keyMade && t.config.OnNewKey != nil {
		if err := t.config.OnNewKey(r, id.key); err != nil {
			return logical{}, err
		}
	}
	return logical{
		Request: t.config.identified(r, id), key: id.key, body: content,
		onlyOnce: id.kind == onlyOnce, repeatable: mayRepeat,
	}, nil
}

// send sends the request once more, as a request of its own: the one before may
// still be read by a goroutine of the transport beneath. It returns how often that has
// sent it.
func (t *Transport) send(r logical, so course) (*http.Response, int, error) {
	ctx, sent := r.Context(), new(atomic.Int64)
	if values, ok := fieldValues(r.Header, t.config.Header); ok {
		ctx = counting(ctx, t.config.Header, values, sent)
	}
	try := r.WithContext(ctx)
	try.Header = r.Header.Clone()
	try.Body, try.ContentLength = r.body.next, r.body.length
	try.GetBody = t.config.bounded(r, so, sent)
	beneath := t.config.unrepeated(try)
	resp, err := t.config.Transport.RoundTrip(beneath)
	if resp != nil {
		stamp(resp, try, beneath)
	}
	return resp, max(1, int(sent.Load())), err
}

func retry(key string, tries int, resp *http.Response, err error, pause time.Duration) Retry {
	status := 0
	if resp != nil {
		status = resp.StatusCode
	}
	return Retry{Key: key, Tries: tries, Status: status, Err: err, Pause: pause}
}

// CloseIdleConnections closes the idle connections of the transport beneath, as
// that of an [http.Client] asks for.
func (t *Transport) CloseIdleConnections() {
	if closer, ok := t.config.Transport.(interface{ CloseIdleConnections() }); ok {
		closer.CloseIdleConnections()
	}
}
