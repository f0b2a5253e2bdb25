package charge

import (
	"fmt"
	"strings"
	"time"

	"github.com/provider-finops/provider-finops/internal/finops/charge"
	"github.com/provider-finops/provider-finops/internal/finops/pricing"
)

// unrated counts what was used and has no rate, in hours that have become final:
// it will never be billed.
type unrated struct {
	hours         map[pricing.Meter]int // Hours of Subscriptions, by meter.
	subscriptions int
	last          *subject
	example       string
}

func (d *desk) noteUnrated(s *subject, p pass, window time.Time, measured []charge.Usage) {
	if !p.final || !s.bill.Final(d.pinned, window) {
		return // It may still get a rate; a later run will tell.
	}
	for _, m := range s.bill.Unrated(measured, d.books) {
		if d.unrated.hours == nil {
			d.unrated.hours = map[pricing.Meter]int{}
			d.unrated.example = fmt.Sprintf("%s of %s in hour %s", m, s.key, window.Format(time.RFC3339))
		}
		d.unrated.hours[m]++
		if d.unrated.last != s {
			d.unrated.subscriptions++
			d.unrated.last = s
		}
	}
}

// String says what is missing, and where to begin to look.
func (u unrated) String() string {
	parts := make([]string, 0, len(u.hours))
	for _, m := range charge.Sources() {
		if n := u.hours[m]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s in %d hours", m, n))
		}
	}
	return fmt.Sprintf("usage of %d Subscriptions has no rate and is not billed: %s; for example %s",
		u.subscriptions, strings.Join(parts, ", "), u.example)
}
