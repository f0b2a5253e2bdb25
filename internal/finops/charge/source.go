package charge

import "strings"

// A Source selects workloads whose measured usage is charged. Its set fields
// are combined: each has to match. An empty field is not set.
type Source struct {
	Kind      string // The resourceType, such as "StatefulSet".
	Name      string
	Namespace string
}

// A Workload is how a measured row names what it was measured on.
type Workload struct {
	Namespace      string
	Controller     string
	ControllerKind string // In whatever case.
	Pod            string
}

const (
	kindPod     = "Pod"
	kindCronJob = "CronJob"
	kindJob     = "Job"
)

// pseudo reports whether a namespace is one of those in which OpenCost puts cost
// that no workload caused. It is nobody's unless somebody names it (BETTER-CJ-9).
func pseudo(namespace string) bool {
	return namespace == "__idle__" || namespace == "__unmounted__" || namespace == "__unallocated__"
}

// Ignored reports whether a source selects nothing because it says nothing: one
// without any field, or of kind Pod alone, which adds no filter and would select
// the whole cluster (BETTER-SUB-12).
func (s Source) Ignored() bool {
	return s.Name == "" && s.Namespace == "" && (s.Kind == "" || s.Kind == kindPod)
}

// Selects reports whether a workload is selected (40.10).
func (s Source) Selects(w Workload) bool {
	switch {
	case s.Ignored():
		return false
	case s.Namespace == "" && pseudo(w.Namespace):
		return false
	case s.Namespace != "" && s.Namespace != w.Namespace:
		return false
	case s.Kind == kindPod:
		return s.Name == "" || s.Name == w.Pod
	case s.Kind == kindCronJob && s.Name != "" && strings.EqualFold(w.ControllerKind, kindJob):
		return s.Name == w.Controller || s.Name == jobOwner(w.Controller)
	default:
		return (s.Kind == "" || strings.EqualFold(s.Kind, w.ControllerKind)) && (s.Name == "" || s.Name == w.Controller)
	}
}

// SelectedBy reports whether any of the sources selects the workload. However
// many do, it counts once (OPEN-SUB-12).
func (w Workload) SelectedBy(sources []Source) bool {
	for _, s := range sources {
		if s.Selects(w) {
			return true
		}
	}
	return false
}

// jobOwner is the CronJob that a Job of that name was made by, if one was:
// CronJobs name their Jobs after themselves and the minute (OPEN-SUB-14). Other
// names give an empty one.
func jobOwner(job string) string {
	stem := strings.TrimRight(job, "0123456789")
	owner, dashed := strings.CutSuffix(stem, "-")
	if !dashed || stem == job {
		return ""
	}
	return owner
}
