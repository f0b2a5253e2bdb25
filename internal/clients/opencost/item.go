package opencost

import (
	"fmt"

	"github.com/provider-finops/provider-finops/internal/finops/decimal"
)

// An item is an allocation on the wire. Any other member is passed over: later
// versions have more, and earlier ones fewer. A member that is null is as good as
// absent. Texts are parts of the answer and gone when it is read on.
type item struct {
	hasName bool
	name    []byte

	namespace, pod, container, controller, controllerKind []byte

	windowStart, windowEnd []byte
	start, end             []byte

	minutes, cpuCores, ramBytes, gpus, pvByteHours, sentBytes, recvBytes quantity

	gpuUsage  quantity // Up to v2.4.
	gpuNested quantity // Since then, within an object that is null without a GPU.
}

// A quantity is a number or null on the wire.
type quantity struct {
	decimal.Decimal

	known bool
}

// A kindError is a member that is of another kind than it has to be.
type kindError struct{ member, detail string }

// Error implements error.
func (e *kindError) Error() string { return e.member + ": " + e.detail }

// read reads the one object that a reader holds.
func (i *item) read(r *reader) error {
	o, err := r.object("it")
	for err == nil && r.more(o) {
		switch name := r.name(); string(name) {
		case "name":
			i.hasName = r.kind() != 'n'
			i.name, err = r.string("name")
		case "properties":
			err = i.readProperties(r)
		case "window":
			err = i.readWindow(r)
		case "start":
			i.start, err = r.string("start")
		case "end":
			i.end, err = r.string("end")
		case "minutes":
			i.minutes, err = r.quantity("minutes")
		case "cpuCoreUsageAverage":
			i.cpuCores, err = r.quantity("cpuCoreUsageAverage")
		case "ramByteUsageAverage":
			i.ramBytes, err = r.quantity("ramByteUsageAverage")
		case "gpuCount":
			i.gpus, err = r.quantity("gpuCount")
		case "gpuUsageAverage":
			i.gpuUsage, err = r.quantity("gpuUsageAverage")
		case "gpuAllocation":
			err = i.readGPUs(r)
		case "pvByteHours":
			i.pvByteHours, err = r.quantity("pvByteHours")
		case "networkTransferBytes":
			i.sentBytes, err = r.quantity("networkTransferBytes")
		case "networkReceiveBytes":
			i.recvBytes, err = r.quantity("networkReceiveBytes")
		default:
			r.skip()
		}
	}
	return err
}

func (i *item) readProperties(r *reader) error {
	o, err := r.object("properties")
	for err == nil && r.more(o) {
		switch name := r.name(); string(name) {
		case "namespace":
			i.namespace, err = r.string("namespace")
		case "pod":
			i.pod, err = r.string("pod")
		case "container":
			i.container, err = r.string("container")
		case "controller":
			i.controller, err = r.string("controller")
		case "controllerKind":
			i.controllerKind, err = r.string("controllerKind")
		default:
			r.skip()
		}
	}
	return err
}

func (i *item) readWindow(r *reader) error {
	o, err := r.object("window")
	for err == nil && r.more(o) {
		switch name := r.name(); string(name) {
		case "start":
			i.windowStart, err = r.string("window.start")
		case "end":
			i.windowEnd, err = r.string("window.end")
		default:
			r.skip()
		}
	}
	return err
}

func (i *item) readGPUs(r *reader) error {
	o, err := r.object("gpuAllocation")
	for err == nil && r.more(o) {
		if string(r.name()) == "gpuUsageAverage" {
			i.gpuNested, err = r.quantity("gpuAllocation.gpuUsageAverage")
		} else {
			r.skip()
		}
	}
	return err
}

// string reads a text. Null is an empty one.
func (r *reader) string(member string) ([]byte, error) {
	switch r.kind() {
	case '"':
		return r.text(), nil
	case 'n':
		r.skip()
		return nil, nil
	default:
		return nil, &kindError{member, fmt.Sprintf("%s is no text", abbreviate(string(r.raw())))}
	}
}

// quantity reads the text of a number, never a float of it.
func (r *reader) quantity(member string) (quantity, error) {
	switch kind := r.kind(); {
	case kind == 'n':
		r.skip()
		return quantity{}, nil
	case kind == '-' || '0' <= kind && kind <= '9':
		d, err := decimal.Parse(string(r.raw()))
		if err != nil {
			return quantity{}, &kindError{member, err.Error()}
		}
		return quantity{d, true}, nil
	default:
		return quantity{}, &kindError{member, fmt.Sprintf("%s is not a number", abbreviate(string(r.raw())))}
	}
}
