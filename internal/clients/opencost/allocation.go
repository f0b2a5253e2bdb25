package opencost

import (
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

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

// An item is an allocation on the wire. Any other member is passed over: later
// versions have more, and earlier ones fewer.
type item struct {
	Name       *string `json:"name"`
	Properties struct {
		Namespace      string `json:"namespace"`
		Pod            string `json:"pod"`
		Container      string `json:"container"`
		Controller     string `json:"controller"`
		ControllerKind string `json:"controllerKind"`
	} `json:"properties"`
	Window struct {
		Start string `json:"start"`
		End   string `json:"end"`
	} `json:"window"`
	Start string `json:"start"`
	End   string `json:"end"`

	Minutes     quantity `json:"minutes"`
	CPUCores    quantity `json:"cpuCoreUsageAverage"`
	RAMBytes    quantity `json:"ramByteUsageAverage"`
	GPUs        quantity `json:"gpuCount"`
	GPUUsage    quantity `json:"gpuUsageAverage"` // Up to v2.4.
	PVByteHours quantity `json:"pvByteHours"`
	SentBytes   quantity `json:"networkTransferBytes"`
	RecvBytes   quantity `json:"networkReceiveBytes"`

	GPUAllocation struct { // Since then. It is null without a GPU.
		Usage quantity `json:"gpuUsageAverage"`
	} `json:"gpuAllocation"`
}

// A quantity is a number or null on the wire.
type quantity struct {
	decimal.Decimal

	known bool
}

// UnmarshalJSONFrom reads the text of the number, never a float of it.
func (q *quantity) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	value, err := d.ReadValue()
	if err != nil {
		return err
	}

	if value.Kind() == 'n' {
		*q = quantity{}
		return nil
	}
	if value.Kind() != '0' {
		return fmt.Errorf("%s is not a number", abbreviate(string(value)))
	}

	q.known = true
	q.Decimal, err = decimal.Parse(string(value))
	return err
}

// allocation returns the item of a key, if it is one that was asked for.
func (i *item) allocation(key string, q Query) (Allocation, error) {
	refuse := func(kind error, format string, args ...any) (Allocation, error) {
		return Allocation{}, &AnswerError{Kind: kind, Detail: fmt.Sprintf("item %q: ", abbreviate(key)) + fmt.Sprintf(format, args...)}
	}

	if i.Name == nil {
		return refuse(ErrItem, "it has no name")
	}
	if *i.Name != key {
		return refuse(ErrItem, "its name is %q", abbreviate(*i.Name))
	}
	if !sameInstant(i.Window.Start, q.Start) || !sameInstant(i.Window.End, q.End) {
		return refuse(ErrWindow, "its window is %q to %q", abbreviate(i.Window.Start), abbreviate(i.Window.End))
	}

	a := Allocation{
		Name: key, Namespace: i.Properties.Namespace, Pod: i.Properties.Pod, Container: i.Properties.Container,
		Controller: i.Properties.Controller, ControllerKind: i.Properties.ControllerKind,
		Minutes: i.Minutes.Decimal, CPUCores: i.CPUCores.Decimal, RAMBytes: i.RAMBytes.Decimal,
		GPUs: i.GPUs.Decimal, GPUUsage: i.GPUUsage.Decimal, PVByteHours: i.PVByteHours.Decimal,
		SentBytes: i.SentBytes.Decimal, RecvBytes: i.RecvBytes.Decimal,
	}
	if i.GPUAllocation.Usage.known {
		a.GPUUsage = i.GPUAllocation.Usage.Decimal
	}
	a.identify(q.Aggregate)

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
	if a.Start, err = time.Parse(time.RFC3339, i.Start); err != nil {
		return refuse(ErrItem, "start: %q is not an instant", abbreviate(i.Start))
	}
	if a.End, err = time.Parse(time.RFC3339, i.End); err != nil {
		return refuse(ErrItem, "end: %q is not an instant", abbreviate(i.End))
	}
	return a, nil
}

// identify fills in what the key says. Where the key has exactly one part per
// dimension it wins over the properties, which OpenCost loses when it merges
// items. Values of labels and annotations may hold the separator themselves, so
// a key with one of those is not taken apart.
func (a *Allocation) identify(aggregate string) {
	dimensions, parts := strings.Split(aggregate, ","), strings.Split(a.Name, "/")
	if strings.Contains(aggregate, ":") || len(parts) != len(dimensions) {
		dimensions = nil
	}
	for n, dimension := range dimensions {
		switch dimension {
		case "namespace":
			a.Namespace = parts[n]
		case "pod":
			a.Pod = parts[n]
		case "container":
			a.Container = parts[n]
		}
	}

	// A name of OpenCost's own, such as __idle__, stands for all dimensions.
	if a.Namespace == "" && strings.HasPrefix(parts[0], "__") {
		a.Namespace = parts[0]
	}
}

// sameInstant compares instants, not texts: a server may write its own zone.
func sameInstant(text string, want time.Time) bool {
	got, err := time.Parse(time.RFC3339, text)
	return err == nil && got.Equal(want)
}

// unstorable says why PostgreSQL would refuse a text in the middle of a load;
// nothing if it would not.
func unstorable(text string) string {
	switch {
	case strings.ContainsRune(text, 0):
		return "holds a NUL"
	case len(text) > maxName:
		return fmt.Sprintf("is %d bytes long, more than %d", len(text), maxName)
	default:
		return ""
	}
}
