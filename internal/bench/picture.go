package bench

import (
	"fmt"
	"html"
	"io"
	"math"
	"strings"
)

// The colours of the picture, legible on white and in print.
const (
	green = "#2a7f4f"
	red   = "#b3372b"
	blue  = "#2b5d93"
	grey  = "#8a8a8a"
	pale  = "#e6e6e6"
	ink   = "#222222"
)

// Measures of the picture in pixels.
const (
	pictureWidth = 960
	margin       = 24
	rowHeight    = 22
	labelWidth   = 400
	valueWidth   = 190
	panelHeight  = 210
	panels       = 3 // Beside each other.

	// widest is how many times the goal the longest bar shows; what is beyond is
	// cut and says so.
	widest = 2.0
)

// Picture draws the report as SVG: a bar for each goal that shows how much of
// what it may take was taken, and a panel for each curve.
func Picture(w io.Writer, r *Report) error {
	p := &picture{}
	p.text(margin, 30, "start", 18, ink, "provider-finops, measured beside the limits of the same run")
	p.text(margin, 50, "start", 11, grey, fmt.Sprintf("%s, scale %s: %s", r.Began.UTC().Format("2006-01-02 15:04 UTC"), figure(r.Scale), r.Machine))
	y := p.bars(r, 84)
	y = p.curves(r, y+30)
	_, err := fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %.0f" width="%d" height="%.0f" font-family="DejaVu Sans, Verdana, sans-serif">`+
		"\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n%s</svg>\n", pictureWidth, y, pictureWidth, y, p.out.String())
	return err
}

type picture struct{ out strings.Builder }

func (p *picture) text(x, y float64, anchor string, size int, colour, text string) {
	fmt.Fprintf(&p.out, `<text x="%.1f" y="%.1f" text-anchor="%s" font-size="%d" fill="%s">%s</text>`+"\n", x, y, anchor, size, colour, html.EscapeString(text))
}

func (p *picture) rect(x, y, width, height float64, colour string) {
	fmt.Fprintf(&p.out, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>`+"\n", x, y, max(width, 0), height, colour)
}

func (p *picture) line(x1, y1, x2, y2 float64, colour string, width float64) {
	fmt.Fprintf(&p.out, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s" stroke-width="%.1f"/>`+"\n", x1, y1, x2, y2, colour, width)
}

// taken is how much of what a goal allows was taken: one is the goal itself,
// less is better, whichever way the goal is put.
func (r *Result) taken() float64 {
	switch {
	case r.AtMost && r.Must == 0:
		if r.Ratio == 0 {
			return 0
		}
		return math.Inf(1)
	case r.AtMost:
		return r.Ratio / r.Must
	case r.Ratio == 0:
		return math.Inf(1)
	}
	return r.Must / r.Ratio
}

// bars draws a row for each goal and returns where it ends.
func (p *picture) bars(r *Report, top float64) float64 {
	const left, full = labelWidth, pictureWidth - labelWidth - valueWidth - margin
	goal := float64(left) + full/widest
	bottom := top + float64(len(r.Results)*rowHeight)
	p.text(goal, top-8, "middle", 11, ink, "goal")
	p.text(left, top-8, "start", 10, grey, "better")
	p.text(left+full, top-8, "end", 10, grey, "worse")
	for i := range r.Results {
		one := &r.Results[i]
		y := top + float64(i*rowHeight)
		colour := red
		if one.Pass {
			colour = green
		}
		p.text(margin, y+15, "start", 11, ink, one.ID)
		p.text(margin+44, y+15, "start", 11, ink, one.Title)
		p.rect(left, y+4, full, rowHeight-8, pale)
		if one.Err != "" {
			p.text(left+6, y+15, "start", 10, red, "could not be measured")
			continue
		}
		taken := one.taken()
		p.rect(left, y+4, full*min(taken, widest)/widest, rowHeight-8, colour)
		if taken > widest {
			p.text(left+full-4, y+15, "end", 10, "white", "beyond")
		}
		p.text(left+full+8, y+15, "start", 11, colour, fmt.Sprintf("%s (%s) %s", figure(one.Ratio), one.bound(), one.verdict()))
	}
	p.line(goal, top-4, goal, bottom, ink, 1.5)
	return bottom
}

// curves draws a panel for each curve and returns where they end.
func (p *picture) curves(r *Report, top float64) float64 {
	const width = (pictureWidth - 2*margin) / panels
	p.text(margin, top, "start", 11, grey, "Growth, on logarithmic axes. The dashed line is what would cost each one the same.")
	top += 16
	n := 0
	for i := range r.Results {
		c := r.Results[i].Measure.Curve
		if c == nil {
			continue
		}
		x, y := float64(margin+n%panels*width), top+float64(n/panels*panelHeight)
		p.curve(&r.Results[i], c, x, y, width-16, panelHeight-20)
		n++
	}
	return top + float64((n+panels-1)/panels*panelHeight)
}

// curve draws one on two logarithmic axes, with the straight line of growth in
// proportion through its last point.
func (p *picture) curve(r *Result, c *Curve, x, y, width, height float64) {
	p.text(x, y+12, "start", 12, ink, r.ID+" "+r.Title)
	p.text(x, y+27, "start", 10, grey, c.Unit+" by number of "+c.Of)
	left, right, top, bottom := x+44, x+width-10, y+40, y+height-22
	across := &axis{low: math.Inf(1), high: math.Inf(-1), from: left, to: right}
	up := &axis{low: math.Inf(1), high: math.Inf(-1), from: bottom, to: top}
	for _, point := range c.Points {
		across.hold(float64(point.N))
		up.hold(point.Value)
	}
	across.widen()
	up.widen()
	for v := across.low; v <= across.high*1.01; v *= 10 {
		p.line(across.at(v), top, across.at(v), bottom, pale, 1)
		p.text(across.at(v), bottom+14, "middle", 10, grey, figure(v))
	}
	for v := up.low; v <= up.high*1.01; v *= 10 {
		p.line(left, up.at(v), right, up.at(v), pale, 1)
		p.text(left-4, up.at(v)+4, "end", 10, grey, figure(v))
	}
	last := c.Points[len(c.Points)-1]
	p.proportion(last, across, up)
	for i, point := range c.Points {
		px, py := across.at(float64(point.N)), up.at(point.Value)
		if i > 0 {
			before := c.Points[i-1]
			p.line(across.at(float64(before.N)), up.at(before.Value), px, py, blue, 2)
		}
		fmt.Fprintf(&p.out, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`+"\n", px, py, blue)
	}
	p.text(across.at(float64(last.N)), up.at(last.Value)-7, "end", 10, blue, figure(last.Value)+" "+c.Unit)
}

// proportion draws the line of what costs each the same, as far as it is in the
// panel.
func (p *picture) proportion(last Point, across, up *axis) {
	each := last.Value / float64(last.N)
	from := max(across.low, up.low/each)
	fmt.Fprintf(&p.out, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s" stroke-dasharray="4 3"/>`+"\n",
		across.at(from), up.at(from*each), across.at(float64(last.N)), up.at(last.Value), grey)
}

// An axis is logarithmic.
type axis struct{ low, high, from, to float64 }

func (a *axis) hold(v float64) {
	v = max(v, 1e-9) // Zero has no place on it.
	a.low, a.high = min(a.low, v), max(a.high, v)
}

// widen goes to whole powers of ten.
func (a *axis) widen() {
	a.low = math.Pow(10, math.Floor(math.Log10(a.low)))
	a.high = math.Pow(10, math.Ceil(math.Log10(a.high)))
	if a.high <= a.low {
		a.high = a.low * 10
	}
}

func (a *axis) at(v float64) float64 {
	return a.from + (a.to-a.from)*math.Log10(max(v, 1e-9)/a.low)/math.Log10(a.high/a.low)
}
