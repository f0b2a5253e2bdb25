package opencost

import (
	"fmt"
	"strings"
	"time"

	"github.com/provider-finops/provider-finops/internal/finops/decimal"
)

// maxName bounds the length of a name in bytes. Kubernetes needs 381 for
// namespace, pod and container; an index entry holds no more than twice this.
const maxName = 1024

// An Allocation is what OpenCost measured of one workload in one window.
//
// Quantities are exact and as sent, negative ones included; what OpenCost could
// not measure (it writes null) is zero.
type Allocation struct {
	// Name is the key of the item: the values of the aggregation, joined by "/".
	Name string

	// What the item belongs to, as far as its aggregation tells. OpenCost has
	// names of its own that begin with "__", for what belongs to no workload.
	Namespace, Pod, Container, Controller, ControllerKind string

	// Start and End are when the workload ran, as rounded by OpenCost. They may
	// lie outside of the window, and End before Start.
	Start, End time.Time

	Minutes     decimal.Decimal // End - Start, in minutes.
	CPUCores    decimal.Decimal // Cores used, on average over the minutes.
	RAMBytes    decimal.Decimal // Bytes used, on average over the minutes.
	GPUs        decimal.Decimal // Devices reserved.
	GPUUsage    decimal.Decimal // Usage of a device, on average over devices and minutes.
	PVByteHours decimal.Decimal // Bytes of volumes, times hours.
	SentBytes   decimal.Decimal
	RecvBytes   decimal.Decimal
}

// An asked is a query as answers are held against it.
type asked struct {
	Query

	wanted     map[string]struct{} // Namespaces; nil for all.
	start, end string              // As most servers write them.
	dimensions []string            // Of a key; nil if a key cannot be taken apart.
}

func ask(q Query) *asked {
	a := &asked{Query: q, start: q.Start.UTC().Format(time.RFC3339), end: q.End.UTC().Format(time.RFC3339)}
	if q.Namespaces != nil {
		a.wanted = make(map[string]struct{}, len(q.Namespaces))
		for _, n := range q.Namespaces {
			a.wanted[n] = struct{}{}
		}
	}
	// Values of labels and annotations may hold the separator themselves.
	if !strings.Contains(q.Aggregate, ":") {
		a.dimensions = strings.Split(q.Aggregate, ",")
	}
	return a
}

// instant reads one, most of which are an end of the window.
func (q *asked) instant(text []byte) (time.Time, error) {
	switch string(text) {
	case q.start:
		return q.Start.UTC(), nil
	case q.end:
		return q.End.UTC(), nil
	default:
		return time.Parse(time.RFC3339, string(text))
	}
}

// is compares instants, not texts: a server may write its own zone.
func (q *asked) is(want time.Time, text []byte) bool {
	got, err := q.instant(text)
	return err == nil && got.Equal(want)
}

// allocation returns the item of a key, if it is one that was asked for.
func (i *item) allocation(key string, q *asked) (Allocation, error) {
	refuse := func(kind error, format string, args ...any) (Allocation, error) {
		return Allocation{}, &AnswerError{Kind: kind, Detail: fmt.Sprintf("item %q: ", abbreviate(key)) + fmt.Sprintf(format, args...)}
	}

	if !i.hasName {
		return refuse(ErrItem, "it has no name")
	}
	if string(i.name) != key {
		return refuse(ErrItem, "its name is %q", abbreviate(string(i.name)))
	}
	if !q.is(q.Start, i.windowStart) || !q.is(q.End, i.windowEnd) {
		return refuse(ErrWindow, "its window is %q to %q", abbreviate(string(i.windowStart)), abbreviate(string(i.windowEnd)))
	}

	a := Allocation{
		Name: key, Controller: string(i.controller), ControllerKind: string(i.controllerKind),
		Minutes: i.minutes.Decimal, CPUCores: i.cpuCores.Decimal, RAMBytes: i.ramBytes.Decimal,
		GPUs: i.gpus.Decimal, GPUUsage: i.gpuUsage.Decimal, PVByteHours: i.pvByteHours.Decimal,
		SentBytes: i.sentBytes.Decimal, RecvBytes: i.recvBytes.Decimal,
	}
	if i.gpuNested.known {
		a.GPUUsage = i.gpuNested.Decimal
	}
	a.identify(i, q.dimensions)

	for _, text := range [...]struct{ field, value string }{
		{"name", a.Name},
		{"namespace", a.Namespace},
		{"pod", a.Pod},
		{"container", a.Container},
		{"controller", a.Controller},
		{"controllerKind", a.ControllerKind},
	} {
		if fault := unstorable(text.value); fault != "" {
			return refuse(ErrItem, "%s %s", text.field, fault)
		}
	}

	var err error
	if a.Start, err = q.instant(i.start); err != nil {
		return refuse(ErrItem, "start: %q is not an instant", abbreviate(string(i.start)))
	}
	if a.End, err = q.instant(i.end); err != nil {
		return refuse(ErrItem, "end: %q is not an instant", abbreviate(string(i.end)))
	}
	return a, nil
}

// identify says what an item belongs to. Where its key has exactly one part per
// dimension it wins over the properties, which OpenCost loses when it merges
// items.
func (a *Allocation) identify(i *item, dimensions []string) {
	if strings.Count(a.Name, "/")+1 != len(dimensions) {
		dimensions = nil
	}
	var hasNamespace, hasPod, hasContainer bool
	rest := a.Name
	for _, dimension := range dimensions {
		var part string
		part, rest, _ = strings.Cut(rest, "/")
		switch dimension {
		case "namespace":
			a.Namespace, hasNamespace = part, true
		case "pod":
			a.Pod, hasPod = part, true
		case "container":
			a.Container, hasContainer = part, true
		}
	}
	if !hasNamespace {
		a.Namespace = string(i.namespace)
	}
	if !hasPod {
		a.Pod = string(i.pod)
	}
	if !hasContainer {
		a.Container = string(i.container)
	}

	// A name of OpenCost's own, such as __idle__, stands for all dimensions.
	if own, _, _ := strings.Cut(a.Name, "/"); a.Namespace == "" && strings.HasPrefix(own, "__") {
		a.Namespace = own
	}
}

// unstorable says why PostgreSQL would refuse a text in the middle of a load;
// nothing if it would not.
func unstorable(text string) string {
	switch {
	case strings.IndexByte(text, 0) >= 0:
		return "holds a NUL"
	case len(text) > maxName:
		return fmt.Sprintf("is %d bytes long, more than %d", len(text), maxName)
	default:
		return ""
	}
}
