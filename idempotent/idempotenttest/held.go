package idempotenttest

import "slices"

// pausing stops the process at a request until the function that resume points to is called.
func pausing(reached chan<- struct{}, resume *func()) func(*process) {
	return func(p *process) {
		*resume = p.freeze()
		p.world.Tell("%s is held up", p.name)
		close(reached)
	}
}

// races stop one environment at each request until another has had the request.
func races(p *plan) []scenario {
	race := func(before bool) func(*director, int) {
		return func(d *director, nth int) {
			a, b := d.Start(), d.Start()
			first, resume := d.heldUp(a, nth, before)
			if resume == nil {
				d.hear(first.Wait())
				return
			}
			d.hear(d.begin(b).Wait())
			d.Tell("%s goes on", a.name)
			resume()
			d.hear(first.Wait())
			if d.breach == nil {
				d.untilQuiet(b)
			}
		}
	}
	return slices.Concat(
		p.each("a duplicate comes before %s is sent", race(true)),
		p.each("a duplicate comes when %s is carried out", race(false)),
	)
}

// heldUp sends the request to an environment that is held up at a crossing. Without it,
// resume is nil.
func (d *director) heldUp(e *Environment, nth int, before bool) (first *Invocation, resume func()) {
	reached := make(chan struct{})
	stop := pausing(reached, &resume)
	f := fault{after: stop}
	if before {
		f = fault{before: stop}
	}
	e.current().strike(nth, f)
	first = d.begin(e)
	select {
	case <-reached:
	case <-first.done:
	}
	return first, resume
}

// freezes stop one environment at each request until its lease is over and another has
// done the request. What the first one answers then reaches nobody.
func freezes(p *plan) []scenario {
	freeze := func(before bool) func(*director, int) {
		return func(d *director, nth int) {
			a, b := d.Start(), d.Start()
			first, resume := d.heldUp(a, nth, before)
			if resume == nil {
				d.hear(first.Wait())
				return
			}
			d.Pass(d.function.Lease)
			if d.untilQuiet(b); d.breach != nil {
				return
			}
			d.Tell("%s goes on", a.name)
			resume()
			d.Pass(d.function.Timeout)
			if d.audit(); d.breach == nil {
				d.quiet(b)
			}
		}
	}
	return slices.Concat(
		p.each("the environment freezes before %s", freeze(true)),
		p.each("the environment freezes after %s", freeze(false)),
	)
}

// expiries let a record expire. The request is then a new one, and may be done once more.
