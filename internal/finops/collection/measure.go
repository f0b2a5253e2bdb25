package collection

import (
	"time"

	"github.com/provider-finops/provider-finops/internal/finops/decimal"
	"github.com/provider-finops/provider-finops/internal/finops/hour"
)

// A Workload is what a measurement belongs to. Name is its key within an hour
// and aggregation; the other parts are empty where the aggregation or OpenCost
// does not know them.
type Workload struct {
	Name, Namespace, Pod, Container, Controller, ControllerKind string
}

// A Sample is what OpenCost says of a workload, as it says it.
type Sample struct {
	Workload

	Start, End time.Time
	Minutes    decimal.Decimal

	CPUCores decimal.Decimal // Used, on average.
	RAMBytes decimal.Decimal // Used, on average.
	GPUs     decimal.Decimal // Reserved.
	GPUUsage decimal.Decimal // Of a device, on average; see GPUsUsed.

	PVByteHours, SentBytes, RecvBytes decimal.Decimal
}

// A Measurement is what is stored of a Sample: an interval within the hour and
// quantities that are not negative.
type Measurement struct {
	Workload

	Start, End time.Time
	Minutes    decimal.Decimal

	CPUCores, RAMBytes, GPUs, GPUsUsed, PVByteHours, SentBytes, RecvBytes decimal.Decimal
}

// Corrections counts what was wrong with samples, because silence hides money.
type Corrections struct {
	Negative int64 // Quantities that were negative and count as zero.
	Clipped  int64 // Intervals that did not lie within their hour, or ran backwards.
	IdleGPUs int64 // Workloads with GPUs of which nothing was used: unmonitored ones look the same.
}

// Add adds other counts.
func (c *Corrections) Add(o Corrections) {
	c.Negative += o.Negative
	c.Clipped += o.Clipped
	c.IdleGPUs += o.IdleGPUs
}

// Measure returns what is stored of a sample of an hour. Negative quantities are
// clamped to zero, and the interval is clipped to the hour; one that runs
// backwards is empty.
func Measure(s Sample, h time.Time) (Measurement, Corrections) {
	var c Corrections
	atLeastZero := func(d decimal.Decimal) decimal.Decimal {
		if d.Sign() < 0 {
			c.Negative++
			return decimal.Decimal{}
		}
		return d
	}

	m := Measurement{
		Workload:    s.Workload,
		Start:       within(s.Start, h),
		End:         within(s.End, h),
		Minutes:     atLeastZero(s.Minutes),
		CPUCores:    atLeastZero(s.CPUCores),
		RAMBytes:    atLeastZero(s.RAMBytes),
		GPUs:        atLeastZero(s.GPUs),
		PVByteHours: atLeastZero(s.PVByteHours),
		SentBytes:   atLeastZero(s.SentBytes),
		RecvBytes:   atLeastZero(s.RecvBytes),
	}
	m.GPUsUsed = GPUsUsed(atLeastZero(s.GPUUsage), m.GPUs)

	if m.End.Before(m.Start) {
		m.End = m.Start
	}
	if !m.Start.Equal(s.Start) || !m.End.Equal(s.End) {
		c.Clipped++
	}
	if m.GPUs.Sign() > 0 && m.GPUsUsed.Sign() == 0 {
		c.IdleGPUs++
	}
	return m, c
}

// within moves an instant into an hour, both ends included.
func within(t, h time.Time) time.Time {
	switch end := h.Add(hour.Length); {
	case t.Before(h):
		return h
	case t.After(end):
		return end
	default:
		return t.UTC()
	}
}

// GPUsUsed returns how many GPUs a workload drives (OPEN-CJ-11). What OpenCost
// calls the usage average is the usage of one device, averaged over the
// reserved ones: it counts for all of them. An average above one cannot be a
// share of a device, so it is taken for the number itself.
func GPUsUsed(average, reserved decimal.Decimal) decimal.Decimal {
	if average.Cmp(decimal.FromInt(1)) <= 0 {
		return average.Mul(reserved)
	}
	return average
}
