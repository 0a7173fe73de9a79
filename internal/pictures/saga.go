package main

// saga is a record of a call with steps, over three attempts.
func saga() *picture {
	p := &picture{
		name: "saga", title: "A record of a saga, over three attempts", width: width, height: 566,
		description: "First attempt: reserve-stock and charge are finished and kept in the record; then the process dies. The record stays PROCESSING until its lease is over. " +
			"Second attempt: both steps give their outputs without running, ship fails for good, that is recorded, charge is undone and marked, undoing reserve-stock fails. " +
			"The record is PARTIAL_SUCCESS. Third attempt: reserve-stock is undone, and the failure is recorded as FAILED. Every later duplicate gets it.",
	}
	p.write(20, 28, "soft small", "start", "what happens")
	p.write(318, 28, "soft small", "start", "what the record has then")
	rows := []struct{ class, title, more, entry string }{
		{"good", "reserve-stock runs", "box-7", `"reserve-stock": output "box-7"`},
		{"good", "charge runs", "ch_1", `"charge": output "ch_1"`},
		{"stop", "the process dies", "", "PROCESSING, until the lease is over"},
		{"box", "both give their outputs", "", ""},
		{"stop", "ship fails for good", "", `":unwinding": the failure`},
		{"wait", "charge is undone", "", `"charge:compensated"`},
		{"stop", "undoing reserve-stock fails", "", `":compensation"; PARTIAL_SUCCESS`},
		{"wait", "reserve-stock is undone", "", `"reserve-stock:compensated"`},
		{"door", "the failure is recorded", "", "FAILED: every duplicate gets it"},
	}
	attempts := map[int]string{0: "first attempt", 3: "second attempt", 7: "third attempt"}
	y := 40
	for i, row := range rows {
		if text, begins := attempts[i]; begins {
			p.line("dashed", 20, y+4, width-20, y+4)
			p.write(20, y+23, "soft small", "start", text)
			y += 32
		}
		lines := []string{row.title}
		if row.more != "" {
			lines[0] += ": " + row.more
		}
		p.box(20, y, 270, 38, row.class, lines...)
		if row.entry != "" {
			p.arrow(290, y+19, 312, y+19)
			p.write(318, y+24, "code", "start", row.entry)
		}
		y += 46
	}
	return p
}
