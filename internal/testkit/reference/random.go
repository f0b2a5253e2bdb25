package reference

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// Meters are the usage meters there are.
var Meters = []string{"cpuHour", "gpuHour", "ramGbHour", "pvGbHour", "networkGb"}

var (
	kinds      = []string{"deployment", "statefulset", "daemonset", "job", "cronjob", "replicaset", "Deployment", ""}
	wanted     = []string{"", "", "Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob", "ReplicaSet", pod}
	namespaces = []string{"red", "green", "blue", "__idle__", "__unmounted__", "__unallocated__"}
	names      = []string{"api", "pg", "sync", "sync-1", "sync-29584140", "sync-29584140-1", "sync-", "-7", "api-x", "%", "a_i", ""}
)

// RandomRows draws measured rows of one hour, small enough a world that
// sources overlap and name things that look alike.
func RandomRows(r *rand.Rand, hour time.Time, books []*Book, n int) []Allocation {
	rows := make([]Allocation, n)
	for i := range rows {
		start, end := hour, hour.Add(time.Hour)
		if r.IntN(3) == 0 {
			start = hour.Add(time.Duration(r.IntN(3600)) * time.Second)
			end = start.Add(time.Duration(r.IntN(int(hour.Add(time.Hour).Sub(start)/time.Second)+1)) * time.Second)
		}
		rows[i] = Allocation{
			Namespace: pick(r, namespaces), Controller: pick(r, names), Kind: pick(r, kinds), Pod: pick(r, names),
			Start: start, End: end,
			CPU: decimal(r, 8), RAM: decimal(r, 64<<30), GPU: decimal(r, 4),
			PVByteHours: decimal(r, 500<<30), Sent: decimal(r, 20<<30), Received: decimal(r, 20<<30),
		}
		if len(books) > 0 && r.IntN(12) != 0 {
			rows[i].Book = books[r.IntN(len(books))]
		}
	}
	return rows
}

// RandomBook draws a book, some rates of which may be unset or zero.
func RandomBook(r *rand.Rand) *Book {
	b := &Book{Rates: map[string]int64{}}
	for _, m := range Meters {
		switch r.IntN(6) {
		case 0:
		case 1:
			b.Rates[m] = 0
		default:
			b.Rates[m] = r.Int64N(5_000_000)
		}
	}
	return b
}

// RandomSubscription draws a Subscription that is activated within some hours
// of a time, and in half of all cases ended some hours later.
func RandomSubscription(r *rand.Rand, around time.Time, hours int) Subscription {
	s := Subscription{Activated: around.Add(time.Duration(r.IntN(hours*3600)) * time.Second)}
	if r.IntN(5) == 0 {
		s.Activated = s.Activated.Truncate(time.Hour)
	}
	if r.IntN(2) == 0 {
		s.Deactivated = s.Activated.Add(time.Duration(r.IntN(hours*3600)) * time.Second)
		if r.IntN(5) == 0 && s.Deactivated.Truncate(time.Hour).After(s.Activated) {
			s.Deactivated = s.Deactivated.Truncate(time.Hour)
		}
	}
	if r.IntN(5) != 0 {
		s.Fee = &Fee{Price: 1 + r.Int64N(1_000_000_000)}
		s.Fee.Alignment = pick(r, []string{activatedAt, hourBoundary, dayBoundary, monthBoundary})
		switch s.Fee.Alignment {
		case activatedAt:
			s.Fee.Period = fmt.Sprintf("%d%s", 1+r.IntN(90), pick(r, []string{"h", "m"}))
		case hourBoundary:
			s.Fee.Period = fmt.Sprintf("%d%s", 1+r.IntN(30), pick(r, []string{"", "h"}))
		case dayBoundary:
			s.Fee.Period = fmt.Sprintf("%d%s", 1+r.IntN(10), pick(r, []string{"", "d"}))
		case monthBoundary:
			s.Fee.Period = fmt.Sprintf("%d%s", 1+r.IntN(13), pick(r, []string{"", "mo"}))
		}
	}
	for _, m := range append([]string{"subscription"}, Meters...) {
		if r.IntN(2) == 0 {
			continue
		}
		meter := Meter{Name: m}
		margin := r.Int64N(3000)
		switch r.IntN(3) {
		case 0:
			meter.Absolute = &margin
		case 1:
			meter.Factor = &margin
		}
		s.Meters = append(s.Meters, meter)
	}
	for range r.IntN(4) {
		src := Source{Kind: pick(r, wanted)}
		if r.IntN(2) == 0 {
			src.Namespace = pick(r, namespaces)
		}
		if r.IntN(2) == 0 {
			src.Name = pick(r, names)
		}
		if src == (Source{}) {
			continue // The API refuses an entry without any field.
		}
		s.Sources = append(s.Sources, src)
	}
	return s
}

func pick(r *rand.Rand, from []string) string { return from[r.IntN(len(from))] }

// decimal draws a quantity with the five digits that OpenCost writes.
func decimal(r *rand.Rand, below int64) string {
	if r.IntN(6) == 0 {
		return "0"
	}
	return fmt.Sprintf("%d.%05d", r.Int64N(below), r.IntN(100000))
}
