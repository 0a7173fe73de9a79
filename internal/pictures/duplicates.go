package main

// duplicates is what a request gets that arrives again, by the state of its record.
func duplicates() *picture {
	p := &picture{
		name: "duplicates", title: "What a duplicate gets, by the status of the record", width: width, height: 492,
		description: "No record: it runs. PROCESSING with a lease: it is told to come back, or waits. PROCESSING whose lease is over: it takes the record over and runs, " +
			"with the same key. PARTIAL_SUCCESS: it runs and resumes after the last finished step. COMPLETED: it gets the stored result. FAILED: it gets the stored failure. " +
			"Expired: it is a new request.",
	}
	p.write(20, 30, "soft small", "start", "the record is")
	p.write(290, 30, "soft small", "start", "the same request, arriving again,")
	for i, row := range []struct{ class, status, why, gets, more string }{
		{"box", "not there", "", "runs", "it is the first"},
		{"wait", "PROCESSING", "the lease is running", "is told to come back", "or waits for the first one's answer"},
		{"good", "PROCESSING", "the run has died, its lease is over", "takes over and runs", "of ten at once, one; with the same key"},
		{"good", "PARTIAL_SUCCESS", "steps are finished, nobody runs", "resumes", "finished steps give their outputs"},
		{"door", "COMPLETED", "", "gets the stored result", "the function does not run"},
		{"door", "FAILED", "for good", "gets the stored failure", "the function does not run"},
		{"box", "expired", "a day later, or your TTL", "runs", "it is a new request"},
	} {
		y := 46 + i*62
		lines := []string{row.status}
		if row.why != "" {
			lines = append(lines, row.why)
		}
		p.box(20, y, 236, 50, row.class, lines...)
		p.arrow(256, y+25, 280, y+25)
		p.write(290, y+21, "b", "start", row.gets)
		p.write(290, y+41, "soft small", "start", row.more)
	}
	return p
}
