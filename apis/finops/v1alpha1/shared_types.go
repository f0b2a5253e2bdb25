package v1alpha1

// ObjectReference names one object of a known kind. It is never resolved
// against the namespace of the object that carries it, so both parts are
// required.
// +structType=atomic
type ObjectReference struct { //nolint:recvcheck // Deepcopy is generated on the pointer.
	// Name of the object.
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`

	// Namespace of the object. It is never filled in: an object in the
	// namespace of the referrer is named with its namespace too.
	// +kubebuilder:validation:MinLength=1
	Namespace string `json:"namespace"`

	// Inferred says that no namespace is stored and that the one above is the
	// referrer's. It is so only in memory, and only where that was asked for
	// (--legacy-reference-namespaces).
	Inferred bool `json:"-"`
}

// String returns namespace/name, the form used in messages and indexes.
func (r ObjectReference) String() string { return r.Namespace + "/" + r.Name }

// A MeterName is what a charge can be for.
// +kubebuilder:validation:Enum=subscription;cpuHour;gpuHour;ramGbHour;pvGbHour;networkGb
type MeterName string

// The meters. MeterSubscription stands for the subscription fee; the others
// measure what usage sources consumed.
const (
	MeterSubscription MeterName = "subscription"
	MeterCPUHour      MeterName = "cpuHour"
	MeterGPUHour      MeterName = "gpuHour"
	MeterRAMGbHour    MeterName = "ramGbHour"
	MeterPVGbHour     MeterName = "pvGbHour"
	MeterNetworkGb    MeterName = "networkGb"
)

// A ParentDeactivateAction is what happens to an active Subscription whose
// parent has ended or is gone.
// +kubebuilder:validation:Enum=Deactivate;Orphan
type ParentDeactivateAction string

const (
	// ParentDeactivateActionDeactivate ends the Subscription with its parent.
	ParentDeactivateActionDeactivate ParentDeactivateAction = "Deactivate"

	// ParentDeactivateActionOrphan lets it go on and be billed without one.
	ParentDeactivateActionOrphan ParentDeactivateAction = "Orphan"
)
