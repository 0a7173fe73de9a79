package main

import "strings"

// bar is a duration, in parts that come one behind another.
type bar struct {
	label string
	parts []part
}

type part struct {
	class string
	text  string // the duration, as the guide has it
	ms    float64
}

func newPart(class, text string) (part, error) {
	ms, err := milliseconds(text)
	return part{class, text, ms}, err
}

func (b bar) ms() (sum float64) {
	for _, p := range b.parts {
		sum += p.ms
	}
	return sum
}

func (b bar) text() string {
	var texts []string
	for _, p := range b.parts {
		texts = append(texts, p.text)
	}
	return strings.Join(texts, " + ")
}

// Sizes of bars.
const (
	barHeight = 18
	barLeft   = 20
	barRoom   = 400 // of the longest one; what it says stands behind it
)

// bars draws bars below each other, each with its label above it, and returns where they end.
func (p *picture) bars(y int, longest float64, bars []bar) int {
	for _, b := range bars {
		p.write(barLeft, y+15, "soft", "start", b.label)
		x := float64(barLeft)
		for _, part := range b.parts {
			w := part.ms / longest * barRoom
			p.rect(part.class, x, y+leading+2, w, barHeight)
			x += w
		}
		p.write(int(x)+8, y+leading+16, "b", "start", b.text())
		y += leading + barHeight + 12
	}
	return y
}

// calls is how long calls take.
func calls(root string) (*picture, error) {
	rows, err := table(root, "performance.md", "call", "p50")
	if err != nil {
		return nil, err
	}
	var all []bar
	longest := 0.0
	var medians []string
	for _, r := range rows {
		label, _, _ := strings.Cut(r["call"], ":")
		class := "good"
		if strings.HasPrefix(label, "bare") || strings.HasSuffix(label, "by hand") || strings.HasSuffix(label, "alone") {
			class = "box"
		}
		whole, err := newPart(class, r["p50"])
		if err != nil {
			return nil, err
		}
		b := bar{label, []part{whole}}
		all = append(all, b)
		longest = max(longest, b.ms())
		medians = append(medians, label+" "+b.text())
	}
	p := &picture{name: "calls", title: "How long a call takes", width: width}
	p.description = "Medians, beside calls of the bare SDK, as the table has them: " + strings.Join(medians, "; ") + "."
	p.height = p.bars(10, longest, all) + 6
	return p, nil
}

// warm is what opening the connection early moves from the first event to the init phase.
func warm(root string) (*picture, error) {
	const without, with = "without", "with IDEMPOTENCY_WARM"
	rows, err := table(root, "performance.md", "CPU", without, with)
	if err != nil {
		return nil, err
	}
	p := &picture{name: "warm", title: "A first answer over TLS, without and with IDEMPOTENCY_WARM", width: width}
	var shares, medians []string
	of := make(map[string][]bar)
	longest := 0.0
	for i := 0; i+1 < len(rows); i += 2 { // the init phase, and the first event
		share := rows[i]["CPU"]
		shares = append(shares, share)
		for _, column := range []string{without, with} {
			init, err := newPart("door", rows[i][column])
			if err != nil {
				return nil, err
			}
			event, err := newPart("wait", rows[i+1][column])
			if err != nil {
				return nil, err
			}
			b := bar{column, []part{init, event}}
			of[share] = append(of[share], b)
			longest = max(longest, b.ms())
			medians = append(medians, "CPU "+share+", "+column+", "+b.text())
		}
	}
	p.description = "The init phase and then the first event, as the table has them: " + strings.Join(medians, "; ") + "."
	y := 14
	for _, key := range [][2]string{{"door", "process start → first poll: the init phase"}, {"wait", "first event → its answer"}} {
		p.rect(key[0], barLeft, y, barHeight, barHeight)
		p.write(barLeft+barHeight+8, y+14, "soft", "start", key[1])
		y += barHeight + 8
	}
	for _, share := range shares {
		p.write(barLeft, y+16, "b", "start", "CPU: "+share)
		y = p.bars(y+leading+2, longest, of[share]) + 4
	}
	p.height = y + 6
	return p, nil
}
