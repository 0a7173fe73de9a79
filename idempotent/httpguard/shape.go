package httpguard

import (
	"context"
	"errors"
	"maps"
	"net/http"
)

// shape is how an event source writes requests and reads responses.
type shape[Event, Answer any] struct {
	// read returns the request.
	read func(Event) *Request
	// record returns a handler's response.
	record func(Answer) response
	// write returns a response that the guard gives for an event.
	write func(Event, response) Answer
	// headers returns where a handler's response has its headers: those with one value, and
	// those with several where there are such.
	headers func(*Answer) (single *map[string]string, multi *map[string][]string)
	// unsigned returns an event without what signs somebody in.
	unsigned func(Event) Event
	// onlyMulti, if set, tells whether the headers with one value are ignored.
	onlyMulti func(Event) bool
}

var errShape = errors.New("the event has no HTTP method; it is not of the shape that its wrapper is for")

// wrap guards a handler of a shape.
func wrap[Event, Answer any](a *API, s shape[Event, Answer], fn func(context.Context, Event) (Answer, error)) func(context.Context, Event) (Answer, error) {
	if fn == nil {
		panic("httpguard: a nil handler")
	}
	return func(ctx context.Context, event Event) (Answer, error) {
		r := s.read(event)
		r.kept = func() (any, *Request) {
			unsigned := s.unsigned(event)
			return unsigned, s.read(unsigned)
		}
		switch {
		case r.Method == "" && !a.guard.Off():
			return s.write(event, *a.malformed(ctx, r, errShape)), nil
		case !a.covers(r.Method):
			return fn(ctx, event)
		}
		var own Answer
		answer, err := a.serve(ctx, r, func(ctx context.Context) (response, error) {
			var err error
			own, err = fn(ctx, event)
			s.unmark(&own)
			return s.record(own), err
		})
		if answer.instead != nil {
			return s.write(event, answer.instead.withoutEmpty()), nil
		}
		if answer.name != "" {
			s.add(event, &own, answer.name, answer.value)
		}
		return own, err
	}
}

// unmark removes the guard's marks from a handler's response.
func (s shape[Event, Answer]) unmark(a *Answer) {
	single, multi := s.headers(a)
	*single = unmarked(*single)
	if multi != nil {
		*multi = unmarked(*multi)
	}
}

// add adds a header to a handler's response, whose own maps may be shared.
func (s shape[Event, Answer]) add(event Event, a *Answer, name, value string) {
	single, multi := s.headers(a)
	if s.onlyMulti != nil && s.onlyMulti(event) {
		*multi = with(*multi, name, []string{value})
	} else {
		*single = with(*single, name, value)
	}
}

// with returns headers with one more.
func with[V any](headers map[string]V, name string, value V) map[string]V {
	headers = maps.Clone(headers)
	if headers == nil {
		headers = make(map[string]V)
	}
	headers[http.CanonicalHeaderKey(name)] = value
	return headers
}
