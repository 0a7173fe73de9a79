package idempotenttest

import (
	"fmt"
	"slices"
	"time"

	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

// family is a kind of cases, the simplest first.
type family struct {
	name  string
	cases func(p *plan) []scenario
}

// scenario is one case: something that goes wrong, somewhere.
type scenario struct {
	name string
	play func(d *director)
}

// plan is what is known of a run that nothing happens to.
type plan struct {
	function  Function
	once      Books      // how the books change
	other     Books      // and after another request
	crossings []crossing // in order
}

// families are all kinds of cases, in the order in which they are tried.
var families = []family{
	{"replay", replays},
	{"crash", crashes},
	{"lost", losses},
	{"outage", outages},
	{"late", lateWrites},
	{"race", races},
	{"freeze", freezes},
	{"expiry", expiries},
	{"two crashes", twoCrashes},
}

// each makes a case of each crossing.
func (p *plan) each(what string, play func(d *director, nth int)) []scenario {
	var all []scenario
	for i, c := range p.crossings {
		all = append(all, scenario{
			name: fmt.Sprintf(what, fmt.Sprintf("request %d (%s)", i+1, c.what)),
			play: func(d *director) { play(d, i+1) },
		})
	}
	return all
}

func replays(p *plan) []scenario {
	all := []scenario{
		{"the request comes twice to one environment", func(d *director) {
			e := d.Start()
			d.send(e)
			d.quiet(e)
		}},
		{"the request comes twice, to two environments", func(d *director) {
			d.send(d.Start())
			d.quiet(d.Start())
		}},
	}
	if p.function.Other != nil {
		all = append(all, scenario{"another request comes after the first", func(d *director) {
			e := d.Start()
			d.send(e)
			d.most = d.once.plus(p.other)
			e.begin("another request", d.function.Other).Wait()
			d.audit()
			if name := d.Books().since(d.before).missing(d.most); name != "" {
				d.fail(notTaken, "another request has not changed %s: it was taken for a duplicate", name)
			}
			if d.breach == nil {
				d.quiet(e)
			}
		}})
	}
	return all
}

// crashes end the process at each request, and a new one gets the request.
func crashes(p *plan) []scenario {
	die := func(f func() fault) func(*director, int) {
		return func(d *director, nth int) {
			e := d.Start()
			e.current().strike(nth, f())
			d.send(e)
			if d.breach == nil {
				d.untilQuiet(d.Start())
			}
		}
	}
	return slices.Concat(
		p.each("the process dies after %s", die(diesAfter)),
		p.each("the process dies before %s", die(diesBefore)),
	)
}

// losses befall one request, which the SDK then repeats.
func losses(p *plan) []scenario {
	lose := func(f func() fault) func(*director, int) {
		return func(d *director, nth int) {
			e := d.Start()
			e.current().strike(nth, f())
			d.send(e)
			if d.breach == nil {
				d.untilQuiet(e)
			}
		}
	}
	return slices.Concat(
		p.each("the reply to %s is lost", lose(replyLost)),
		p.each("%s is lost", lose(requestLost)),
		p.each("%s gets a 500 and is carried out", lose(failedAfter)),
		p.each("%s gets a 500", lose(failedBefore)),
		p.each("%s is throttled", lose(throttled)),
	)
}

// outages befall all requests from one on, as long as the function runs.
func outages(p *plan) []scenario {
	cut := func(f func() fault) func(*director, int) {
		return func(d *director, nth int) {
			e := d.Start()
			e.current().strikeAll(nth, f())
			d.send(e)
			e.current().heal()
			d.Tell("the outage is over")
			if d.breach == nil {
				d.untilQuiet(e)
			}
		}
	}
	return slices.Concat(
		p.each("no reply comes, from %s on", cut(replyLost)),
		p.each("nothing can be reached, from %s on", cut(requestLost)),
		p.each("everything is throttled, from %s on", cut(throttled)),
	)
}

// lateWrites arrive when their sender has sent them again and is done.
func lateWrites(p *plan) []scenario {
	all := p.each("a copy of %s arrives late", func(d *director, nth int) {
		var late dynamotest.Held
		e := d.Start()
		e.current().strike(nth, held(&late))
		d.send(e)
		for _, r := range late.Release() {
			d.Tell("the copy of %s arrives", r.Operation)
		}
		d.audit()
		if d.breach == nil {
			d.untilQuiet(e)
		}
	})
	var writes []scenario
	for i, c := range p.crossings {
		if c.write {
			writes = append(writes, all[i])
		}
	}
	return writes
}

func expiries(*plan) []scenario {
	expire := func(remove bool) func(*director) {
		return func(d *director) {
			e := d.Start()
			d.send(e)
			d.Expire()
			if remove {
				d.Tell("TTL removes %d items", d.db.RemoveExpired(time.Now()))
			}
			d.first, d.most = nil, d.once.plus(d.once)
			if d.breach == nil {
				d.untilQuiet(d.Start())
			}
		}
	}
	return []scenario{
		{"the record has expired and is still there", expire(false)},
		{"the record has expired and is gone", expire(true)},
	}
}

// mostPairs is how many cases of two crashes there are at most.
const mostPairs = 50

// twoCrashes end the process, and the one that takes over as well.
func twoCrashes(p *plan) []scenario {
	n := len(p.crossings)
	var all []scenario
	for first := 1; first <= n; first++ {
		for second := 1; second <= n+1; second++ {
			all = append(all, scenario{
				name: fmt.Sprintf("the process dies after request %d (%s), and the next one after its request %d", first, p.crossings[first-1].what, second),
				play: func(d *director) {
					a, b := d.Start(), d.Start()
					a.KillAfter(first)
					d.send(a)
					d.Pass(d.function.Lease)
					b.KillAfter(second)
					if d.breach == nil {
						d.send(b)
					}
					if d.breach == nil {
						d.untilQuiet(d.Start())
					}
				},
			})
		}
	}
	if step := (len(all) + mostPairs - 1) / mostPairs; step > 1 {
		var some []scenario
		for i := 0; i < len(all); i += step {
			some = append(some, all[i])
		}
		all = some
	}
	return all
}
