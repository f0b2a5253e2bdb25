package charge

import (
	"fmt"
	"time"

	"github.com/provider-finops/provider-finops/internal/finops/hour"
	"github.com/provider-finops/provider-finops/internal/finops/money"
	"github.com/provider-finops/provider-finops/internal/finops/pricing"
)

// A Granularity is the length of a bucket.
type Granularity string

// The granularities.
const (
	Hour  Granularity = "hour"
	Day   Granularity = "day"
	Month Granularity = "month"
)

// Granularities are all there are, in the order in which they are shown.
func Granularities() []Granularity { return []Granularity{Hour, Day, Month} }

// Span is the bucket's window in UTC around the pinned hour of a run, end not
// included. It does not move with a reader's clock.
func (g Granularity) Span(pinned time.Time) (start, end time.Time) {
	year, month, day := pinned.UTC().Date()
	switch g {
	case Day:
		start = time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
		return start, start.AddDate(0, 0, 1)
	case Month:
		start = time.Date(year, month, 1, 0, 0, 0, 0, time.UTC)
		return start, start.AddDate(0, 1, 0)
	case Hour:
	}
	return hour.Of(pinned), hour.Of(pinned).Add(hour.Length)
}

// Over reports whether nothing is ever charged in or after a span that begins at
// start: the life has ended before it, closing tick included.
func (b Bill) Over(start time.Time) bool {
	end, ended := b.end()
	return ended && !start.Before(end)
}

// Recorded is what stands in a Subscription's rows: the sum for every source
// and granularity.
type Recorded map[Granularity]map[pricing.Meter]money.Micros

// A Bucket sums up one window of a Subscription's charges.
type Bucket struct {
	Granularity        Granularity
	Start, End         time.Time
	Current, Projected money.Micros
	Breakdown          []Share // Sources without any figure are left out.
}

// A Share is one source's part of a bucket. Only the fee is ever projected.
type Share struct {
	Source             pricing.Meter
	Current, Projected money.Micros
}

// FromRecorded gives the buckets of a run with the charges that are recorded
// (60.8). They are three, each computed on its own.
func (b Bill) FromRecorded(run Run, recorded Recorded) ([]Bucket, error) {
	return b.buckets(run, func(g Granularity, source pricing.Meter) (money.Micros, error) {
		return recorded[g][source], nil
	})
}

// FromCalculator gives the buckets of a run without any record: the fee up to
// the pinned hour, and no usage (OPEN-BILL-7).
func (b Bill) FromCalculator(run Run) ([]Bucket, error) {
	return b.buckets(run, func(g Granularity, source pricing.Meter) (money.Micros, error) {
		start, end := g.Span(run.Hour)
		if source != pricing.MeterSubscription || b.fee == nil {
			return 0, nil
		}
		if run.Hour.Before(end) {
			end = run.Hour
		}
		return b.fee.Amount(start, end)
	})
}

type current func(Granularity, pricing.Meter) (money.Micros, error)

func (b Bill) buckets(run Run, current current) ([]Bucket, error) {
	var buckets []Bucket
	for _, g := range Granularities() {
		bucket, err := b.bucket(g, run, current)
		if err != nil {
			return nil, fmt.Errorf("cannot sum up the %s from %s: %w", g, bucket.Start.Format(time.RFC3339), err)
		}
		buckets = append(buckets, bucket)
	}
	return buckets, nil
}

func (b Bill) bucket(g Granularity, run Run, current current) (Bucket, error) {
	bucket := Bucket{Granularity: g}
	bucket.Start, bucket.End = g.Span(run.Hour)

	var amounts []money.Micros
	for _, source := range Sources() {
		share := Share{Source: source}
		var err error
		if share.Current, err = current(g, source); err != nil {
			return bucket, err
		}
		if source == pricing.MeterSubscription && b.fee != nil {
			if share.Projected, err = b.fee.Amount(bucket.Start, bucket.End); err != nil {
				return bucket, err
			}
			bucket.Projected = share.Projected
		}
		if share.Current != 0 || share.Projected != 0 {
			bucket.Breakdown = append(bucket.Breakdown, share)
		}
		amounts = append(amounts, share.Current)
	}

	var err error
	bucket.Current, err = money.Sum(amounts...)
	return bucket, err
}
