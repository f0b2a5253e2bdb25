package bench

import (
	"fmt"
	"strings"
)

// A Curve is a value at growing sizes.
type Curve struct {
	Unit   string  `json:"unit"`
	Of     string  `json:"of"` // What there are N of.
	Points []Point `json:"points"`
}

// A Point of a curve.
type Point struct {
	N     int     `json:"n"`
	Value float64 `json:"value"`
}

// LinearGrowth compares what each costs at the largest size with what each costs
// at the size before. A ratio of one is linear growth; what costs every one
// something for every other gives ten where the sizes are tenfold.
func (c Curve) LinearGrowth() Measure {
	last, before := c.ends(len(c.Points) - 2)
	return Measure{
		Value: last.Value / float64(last.N), Limit: before.Value / float64(before.N), Unit: c.Unit + " each",
		Notes: []string{c.String()}, Curve: &c,
	}
}

// ConstantGrowth compares the value at the largest size with that at the
// smallest, for what should not depend on the size.
func (c Curve) ConstantGrowth() Measure {
	last, first := c.ends(0)
	return Measure{Value: last.Value, Limit: first.Value, Unit: c.Unit, Notes: []string{c.String()}, Curve: &c}
}

// ends are the last point and another one. A curve has at least one.
func (c Curve) ends(other int) (last, first Point) {
	return c.Points[len(c.Points)-1], c.Points[max(other, 0)]
}

// String is the curve on one line.
func (c Curve) String() string {
	points := make([]string, 0, len(c.Points))
	for _, p := range c.Points {
		points = append(points, fmt.Sprintf("%d in %.3g %s", p.N, p.Value, c.Unit))
	}
	return c.Of + ": " + strings.Join(points, "; ")
}
