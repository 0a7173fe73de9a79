package httpguard

import "context"

// shape is how an event source writes requests and reads responses.
type shape[Event, Answer any] struct {
	// read returns the request; its method is there even beside an error.
	read func(Event) (*Request, error)
	// record returns a handler's response.
	record func(Answer) response
	// write returns a response that the guard gives for an event.
	write func(Event, response) Answer
	// unmark removes the mark of a replay from a handler's response.
	unmark func(*Answer)
}

// wrap guards a handler of a shape.
func wrap[Event, Answer any](a *API, s shape[Event, Answer], fn func(context.Context, Event) (Answer, error)) func(context.Context, Event) (Answer, error) {
	if fn == nil {
		panic("httpguard: a nil handler")
	}
	return func(ctx context.Context, event Event) (Answer, error) {
		r, err := s.read(event)
		switch {
		case r.Method == "":
			return s.write(event, *a.broken(ctx, errShape)), nil
		case !a.covers(r.Method):
			return fn(ctx, event)
		case err != nil:
			return s.write(event, *a.malformed(ctx, err)), nil
		}
		var own Answer
		answer, err := a.serve(ctx, r, func(ctx context.Context) (response, error) {
			var err error
			own, err = fn(ctx, event)
			s.unmark(&own)
			return s.record(own), err
		})
		if answer != nil {
			return s.write(event, *answer), nil
		}
		return own, err
	}
}
