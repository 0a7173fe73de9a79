package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"
	"unicode/utf8"
)

// picture is an SVG of its own: it needs no font and no style of others, and follows the reader's light or dark.
type picture struct {
	name, title, description string
	width, height            int
	body                     bytes.Buffer
	overflows                []string // texts that are wider than there is room
}

// Sizes in user units. Pictures are narrow, so that what is written in them can be read on a phone.
const (
	width   = 600
	leading = 20
)

// signs are the widths of the average sign, in a font that is wide.
var signs = map[string]float64{"b": 8.5, "soft": 7.5, "soft small": 6.5, "code": 7.9}

// style has no colour that is not in both: ink and paper, lines, and what is good, has to wait, or is refused.
const style = `
svg { --paper: #ffffff; --ink: #1f2328; --soft: #59636e; --line: #818b98; --box: #f6f8fa; --good: #1a7f37; --good-box: #dafbe1; --wait: #9a6700; --wait-box: #fff8c5; --stop: #d1242f; --stop-box: #ffebe9; --door: #0969da; --door-box: #ddf4ff }
@media (prefers-color-scheme: dark) { svg { --paper: #0d1117; --ink: #f0f6fc; --soft: #9198a1; --line: #656c76; --box: #151b23; --good: #3fb950; --good-box: #12261e; --wait: #d29922; --wait-box: #272115; --stop: #f85149; --stop-box: #25171c; --door: #4493f8; --door-box: #121d2f } }
.paper { fill: var(--paper) }
text { font: 15px system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, "DejaVu Sans", sans-serif; fill: var(--ink) }
.b { font-weight: 600 } .soft { fill: var(--soft) } .small { font-size: 13px } .code { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: 13px }
rect.box { fill: var(--box); stroke: var(--line) } rect.good { fill: var(--good-box); stroke: var(--good) } rect.wait { fill: var(--wait-box); stroke: var(--wait) } rect.stop { fill: var(--stop-box); stroke: var(--stop) } rect.door { fill: var(--door-box); stroke: var(--door) }
path { fill: none; stroke: var(--line); stroke-width: 1.5 } path.dashed { stroke-dasharray: 5 4 }
marker path { fill: var(--line); stroke: none }
`

// box draws a rounded box with lines of text in its middle, of which the first is bold.
func (p *picture) box(x, y, w, h int, class string, lines ...string) {
	fmt.Fprintf(&p.body, `<rect class="%s" x="%d" y="%d" width="%d" height="%d" rx="6"/>`+"\n", class, x, y, w, h)
	at := y + h/2 - (len(lines)-1)*leading/2 + 5
	for i, line := range lines {
		style := "soft small"
		if i == 0 {
			style = "b"
		}
		p.write(x+w/2, at+i*leading, style, "middle", line)
		p.fits(line, style, w-6)
	}
}

// rect draws a rectangle with sharp corners.
func (p *picture) rect(class string, x float64, y int, w float64, h int) {
	fmt.Fprintf(&p.body, `<rect class="%s" x="%.1f" y="%d" width="%.1f" height="%d"/>`+"\n", class, x, y, w, h)
}

// write writes a line of text, anchored at its start, middle or end.
func (p *picture) write(x, y int, class, anchor, text string) {
	fmt.Fprintf(&p.body, `<text x="%d" y="%d" class="%s" text-anchor="%s">%s</text>`+"\n", x, y, class, anchor, escape(text))
	if anchor == "start" {
		p.fits(text, class, p.width-x)
	}
}

func (p *picture) fits(text, class string, room int) {
	if float64(utf8.RuneCountInString(text))*signs[class] > float64(room) {
		p.overflows = append(p.overflows, text)
	}
}

// arrow goes through points, x and y by turns, and has its head at the last.
func (p *picture) arrow(points ...int) {
	fmt.Fprintf(&p.body, `<path marker-end="url(#head)" d="M%s"/>`+"\n", joined(points))
}

// line is an arrow without a head.
func (p *picture) line(class string, points ...int) {
	fmt.Fprintf(&p.body, `<path class="%s" d="M%s"/>`+"\n", class, joined(points))
}

func joined(points []int) string {
	var parts []string
	for i := 0; i < len(points); i += 2 {
		parts = append(parts, fmt.Sprintf("%d %d", points[i], points[i+1]))
	}
	return strings.Join(parts, " L")
}

// svg is the picture as a file.
func (p *picture) svg() []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-labelledby="title description">`+"\n", p.width, p.height, p.width, p.height)
	fmt.Fprintf(&out, "<title id=\"title\">%s</title>\n<desc id=\"description\">%s</desc>\n", escape(p.title), escape(p.description))
	fmt.Fprintf(&out, "<style>%s</style>\n", style)
	out.WriteString(`<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto-start-reverse"><path d="M0 0 L10 5 L0 10 z"/></marker></defs>` + "\n")
	fmt.Fprintf(&out, `<rect class="paper" width="%d" height="%d"/>`+"\n", p.width, p.height)
	out.Write(p.body.Bytes())
	out.WriteString("</svg>\n")
	return out.Bytes()
}

func escape(text string) string {
	var out bytes.Buffer
	_ = xml.EscapeText(&out, []byte(text)) // a buffer takes everything
	return out.String()
}
