package idempotent

// request is what a call is recognised by, and what it was called with, if that is kept.
type request struct {
	identity
	event     []byte
	execution *execution // nil where the call is a request by itself
}

// maxEvent is the largest event that is kept, in bytes: a record has to have room for its steps
// and its result, and every write of it pays for its size.
const maxEvent = 64 << 10

// identifyEvent is identifyPayload for an entry point that has the event itself.
func (g *Guard) identifyEvent(payload []byte) (request, error) {
	id, err := g.identifyPayload(payload)
	if err != nil || !g.config.KeepEvent || len(payload) > maxEvent {
		return request{identity: id}, err
	}
	return request{identity: id, event: payload}, nil
}

// request is what is known of a call by its identity, and by the event that an adapter has.
func (id Identity) request(g *Guard) (request, error) {
	if g.config.KeepEvent && g.event == nil {
		return request{}, &ConfigError{Field: "KeepEvent", Problem: "is set, and there is no event: use Handler, Func or an adapter that has one, or leave it out"}
	}
	found, err := id.of(g)
	if err != nil || !g.config.KeepEvent {
		return request{identity: found}, err
	}
	event := g.event()
	if len(event) > maxEvent {
		event = nil
	}
	return request{identity: found, event: event}, nil
}
