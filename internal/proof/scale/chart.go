package scale

import (
	"encoding/xml"
	"fmt"
	"strings"
)

// chart is a picture of what happens second by second.
type chart struct {
	Name, Title, Description string
	Unit                     string // of the values
	Lines                    []line
}

type line struct {
	Label  string
	Class  string // good, stop, wait, door or soft
	Values []float64
}

// Sizes in user units; the picture is as narrow as the others of docs/pictures.
const (
	chartWidth  = 600
	chartHeight = 300
	left, right = 62, 24
	top, bottom = 18, 36
	legend      = 22 // a row of it
)

// Colours are those of the other pictures, in light and dark.
const chartStyle = `
svg { --paper: #ffffff; --ink: #1f2328; --soft: #59636e; --line: #d1d9e0; --good: #1a7f37; --wait: #9a6700; --stop: #d1242f; --door: #0969da }
@media (prefers-color-scheme: dark) { svg { --paper: #0d1117; --ink: #f0f6fc; --soft: #9198a1; --line: #3d444d; --good: #3fb950; --wait: #d29922; --stop: #f85149; --door: #4493f8 } }
.paper { fill: var(--paper) }
text { font: 13px system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, "DejaVu Sans", sans-serif; fill: var(--ink) }
text.scale { fill: var(--soft) }
path { fill: none; stroke-width: 2.5; stroke-linejoin: round } path.grid { stroke: var(--line); stroke-width: 1 }
.good { stroke: var(--good) } .wait { stroke: var(--wait); stroke-dasharray: 7 4 } .stop { stroke: var(--stop); stroke-dasharray: 3 3 } .door { stroke: var(--door) } .soft { stroke: var(--soft); stroke-dasharray: 2 4 }
`

// svg draws the chart.
func (c chart) svg() []byte {
	var out strings.Builder
	height := chartHeight + legend*len(c.Lines)
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-labelledby="title description">`+"\n", chartWidth, height, chartWidth, height)
	fmt.Fprintf(&out, "<title id=\"title\">%s</title>\n<desc id=\"description\">%s</desc>\n<style>%s</style>\n", escaped(c.Title), escaped(c.Description), chartStyle)
	fmt.Fprintf(&out, `<rect class="paper" width="%d" height="%d"/>`+"\n", chartWidth, height)
	most, seconds := 1.0, 1
	for _, l := range c.Lines {
		seconds = max(seconds, len(l.Values))
		for _, v := range l.Values {
			most = max(most, v)
		}
	}
	step := stepOf(most)
	most = step * float64(int(most/step)+1)
	x := func(second float64) float64 { return left + second/float64(seconds)*(chartWidth-left-right) }
	y := func(v float64) float64 { return chartHeight - bottom - v/most*(chartHeight-top-bottom) }
	for v := 0.0; v <= most; v += step {
		fmt.Fprintf(&out, `<path class="grid" d="M%d %.1f H%d"/><text class="scale" x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n", left, y(v), chartWidth-right, left-8, y(v)+4, thousands(v))
	}
	for s := 0; s <= seconds; s += 5 {
		fmt.Fprintf(&out, `<text class="scale" x="%.1f" y="%d" text-anchor="middle">%d s</text>`+"\n", x(float64(s)), chartHeight-bottom+18, s)
	}
	fmt.Fprintf(&out, `<text class="scale" x="%d" y="12">%s</text>`+"\n", left, escaped(c.Unit))
	for i, l := range c.Lines {
		var points []string
		for s, v := range l.Values {
			points = append(points, fmt.Sprintf("%.1f %.1f", x(float64(s)+0.5), y(v)))
		}
		at := chartHeight + i*legend
		fmt.Fprintf(&out, `<path class="%s" d="M%s"/><path class="%s" d="M%d %d h28"/><text x="%d" y="%d">%s</text>`+"\n",
			l.Class, strings.Join(points, " L"), l.Class, left, at, left+38, at+5, escaped(l.Label))
	}
	out.WriteString("</svg>\n")
	return []byte(out.String())
}

// stepOf is a round distance between lines of the grid, of which there are four to eight.
func stepOf(most float64) float64 {
	step := 1.0
	for {
		for _, factor := range []float64{1, 2, 5} {
			if most/(step*factor) <= 6 {
				return step * factor
			}
		}
		step *= 10
	}
}

func thousands(v float64) string {
	text := fmt.Sprintf("%.0f", v)
	if len(text) > 3 {
		return text[:len(text)-3] + "," + text[len(text)-3:]
	}
	return text
}

func escaped(text string) string {
	var out strings.Builder
	_ = xml.EscapeText(&out, []byte(text)) // a Builder never fails
	return out.String()
}
