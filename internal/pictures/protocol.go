package main

// protocol is the way of an event from the door to the answer.
func protocol() *picture {
	p := &picture{
		name: "protocol", title: "The way of a request through the guard", width: width, height: 520,
		description: "A request comes in, and its key is made of its payload. Acquire is one conditional write. If there is no record, " +
			"the request is mine: the function runs, under a lease that is renewed, the outcome is recorded, and the caller gets it. If the record is completed, " +
			"the caller gets the stored answer. If another run holds it, the caller is told when to come back. If the record is of another payload, " +
			"the request is refused. In the last three cases the function does not run.",
	}
	const x, w, right, wide = 20, 230, 330, 250
	middle := x + w/2
	p.box(x, 16, w, 52, "door", "a request", "event, message, HTTP call")
	p.arrow(middle, 68, middle, 98)
	p.box(x, 98, w, 52, "box", "identify", "key and fingerprint of its payload")
	p.arrow(middle, 150, middle, 180)
	p.box(x, 180, w, 52, "box", "acquire", "one conditional write")
	p.arrow(middle, 232, middle, 276)
	p.write(middle+10, 260, "soft small", "start", "no record: mine")
	p.box(x, 276, w, 72, "good", "run your function", "under a lease that is renewed,", "with a key to hand on")
	p.arrow(middle, 348, middle, 378)
	p.box(x, 378, w, 52, "box", "settle", "one write, with your writes in it")
	p.arrow(middle, 430, middle, 460)
	p.box(x, 460, w, 44, "door", "the answer")
	// What a duplicate gets, at the height of acquire.
	spine := right - 40
	p.line("", x+w, 206, spine, 206)
	p.line("", spine, 96, spine, 376)
	for i, o := range []struct{ class, title, first, second string }{
		{"good", "the stored answer", "COMPLETED or FAILED:", "the first one's, replayed"},
		{"wait", "come back later", "PROCESSING: the first one runs;", "waits for it, if you like"},
		{"stop", "refused", "the same key with", "another payload"},
	} {
		y := 60 + i*140
		p.arrow(spine, y+36, right, y+36)
		p.box(right, y, wide, 72, o.class, o.title, o.first, o.second)
	}
	p.write(right+wide/2, 40, "soft small", "middle", "a duplicate: your function does not run")
	p.write(right+wide/2, 452, "soft small", "middle", "A run that has died holds its key")
	p.write(right+wide/2, 470, "soft small", "middle", "until its lease is over: a minute.")
	p.write(right+wide/2, 488, "soft small", "middle", "Then the next arrival runs.")
	return p
}
