package pricing

// A Meter names something an Offering can price.
type Meter string

// The meters, as Offerings spell them.
const (
	MeterSubscription Meter = "subscription"
	MeterCPUHour      Meter = "cpuHour"
	MeterGPUHour      Meter = "gpuHour"
	MeterRAMGbHour    Meter = "ramGbHour"
	MeterPVGbHour     Meter = "pvGbHour"
	MeterNetworkGb    Meter = "networkGb"
)

// Field returns the rate a meter is priced with, or false for the meter
// subscription, which no rate belongs to. The network has two names: the rate
// is networkGiB, the meter networkGb.
func (m Meter) Field() (Field, bool) {
	switch m {
	case MeterCPUHour:
		return FieldCPUHour, true
	case MeterGPUHour:
		return FieldGPUHour, true
	case MeterRAMGbHour:
		return FieldRAMGbHour, true
	case MeterPVGbHour:
		return FieldPVGbHour, true
	case MeterNetworkGb:
		return FieldNetworkGiB, true
	case MeterSubscription:
		return "", false
	default:
		return "", false
	}
}

// A Field names a rate of a PriceBook.
type Field string

// The rates, as PriceBooks spell them. The two for spot nodes are for OpenCost
// only: no meter uses them.
const (
	FieldCPUHour       Field = "cpuHour"
	FieldSpotCPUHour   Field = "spotCPUHour"
	FieldRAMGbHour     Field = "ramGbHour"
	FieldSpotRAMGbHour Field = "spotRAMGbHour"
	FieldPVGbHour      Field = "pvGbHour"
	FieldGPUHour       Field = "gpuHour"
	FieldNetworkGiB    Field = "networkGiB"
)

// Fields returns all rates in the order in which they are checked.
func Fields() []Field {
	return []Field{
		FieldCPUHour, FieldSpotCPUHour, FieldRAMGbHour, FieldSpotRAMGbHour, FieldPVGbHour, FieldGPUHour, FieldNetworkGiB,
	}
}
