package charge

import (
	"crypto/sha256"
	"encoding/json"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/finops/charge"
)

const (
	messageFromDB         = "Status.Costs resolved from DBCostSummary"
	messageFromCalculator = "Status.Costs resolved from calculator"
	messagePlausible      = "what was held back has been settled"
)

// A report is what the collector says on a Subscription: the costs and its two
// conditions, and nothing of anybody else's.
type report struct {
	Costs    []v1alpha1.CostBucket `json:"costs"`
	Resolved *metav1.Condition     `json:"resolved"`
	Parked   *metav1.Condition     `json:"parked"`
}

// published is how the report stands on the object: enough to tell whether
// another one differs, and since when the conditions have had their status.
type published struct {
	digest   [sha256.Size]byte
	empty    time.Time // Where the month begins, if no bucket holds any figure.
	resolved transition
	parked   transition
}

// A transition is when a condition took on its status.
type transition struct {
	status metav1.ConditionStatus // Empty if there is no such condition.
	at     metav1.Time
}

func publishedOn(s *v1alpha1.Subscription) published {
	r := report{
		Costs:    s.Status.Costs,
		Resolved: meta.FindStatusCondition(s.Status.Conditions, v1alpha1.TypeCostsResolved),
		Parked:   meta.FindStatusCondition(s.Status.Conditions, v1alpha1.TypeChargesParked),
	}
	return published{digest: r.digest(), empty: emptyMonth(s.Status.Costs), resolved: transitionOf(r.Resolved), parked: transitionOf(r.Parked)}
}

// emptyMonth is where the month of three buckets without any figure begins, the
// zero time if there are no such buckets.
func emptyMonth(costs []v1alpha1.CostBucket) time.Time {
	var month time.Time
	for _, b := range costs {
		if b.Current != 0 || b.Projected != 0 || len(b.Breakdown) > 0 {
			return time.Time{}
		}
		if b.Granularity == v1alpha1.CostGranularity(charge.Month) {
			month = b.Start.UTC()
		}
	}
	return month
}

// rests reports whether everything has been said of a Subscription: it has ended,
// and buckets that lie past its end are published without a figure. Others would
// say the same of other hours.
func (s *subject) rests() bool {
	return s.served() && !s.published.empty.IsZero() && s.bill.Over(s.published.empty) && s.published.parked.status != metav1.ConditionTrue
}

func transitionOf(c *metav1.Condition) transition {
	if c == nil {
		return transition{}
	}
	return transition{status: c.Status, at: c.LastTransitionTime}
}

// since gives a condition the time at which it took on its status.
func (t transition) since(c metav1.Condition, now time.Time) *metav1.Condition {
	c.LastTransitionTime = metav1.NewTime(now.Truncate(time.Second))
	if c.Status == t.status {
		c.LastTransitionTime = t.at
	}
	return &c
}

// digest tells reports apart.
func (r report) digest() [sha256.Size]byte {
	text, err := json.Marshal(r)
	if err != nil {
		panic(err) // Plain values: it cannot fail.
	}
	return sha256.Sum256(text)
}

// apply is the report as a server-side apply of the collector's own fields. The
// resource version makes sure that it reaches the object it was made for: the
// name may have gone to another one.
func (r report) apply(s *subject) (*unstructured.Unstructured, error) {
	var conditions []metav1.Condition
	for _, c := range []*metav1.Condition{r.Resolved, r.Parked} {
		if c != nil {
			conditions = append(conditions, *c)
		}
	}
	status, err := json.Marshal(struct {
		Costs      []v1alpha1.CostBucket `json:"costs,omitempty"`
		Conditions []metav1.Condition    `json:"conditions,omitempty"`
	}{r.Costs, conditions})
	if err != nil {
		return nil, err
	}
	var fields map[string]any
	if err := json.Unmarshal(status, &fields); err != nil {
		return nil, err
	}

	object := &unstructured.Unstructured{Object: map[string]any{"status": fields}}
	object.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Subscription"))
	object.SetNamespace(s.key.Namespace)
	object.SetName(s.key.Name)
	object.SetResourceVersion(s.resourceVersion)
	return object, nil
}

// report decides what is to be said about a Subscription after a run. It reports
// false if nothing can be said anew.
func (r *run) report(s *subject, summed bool) (report, bool) {
	if s.bill == nil {
		return report{}, false
	}
	var buckets []charge.Bucket
	var err error
	reason, message := v1alpha1.ReasonFromDB, messageFromDB
	switch {
	case !summed:
		reason, message = v1alpha1.ReasonFromCalculator, messageFromCalculator
		buckets, err = s.bill.FromCalculator(r.pinned)
	case s.sums == nil:
		buckets, err = s.bill.FromRecorded(r.pinned, nil)
	case s.sums.err != nil:
		err = s.sums.err
	default:
		message += s.sums.currency.String()
		buckets, err = s.bill.FromRecorded(r.pinned, s.sums.recorded())
	}
	if err != nil {
		s.refuse(err)
	}

	var out report
	if s.parked != nil {
		out.Parked = s.published.parked.since(s.stamped(v1alpha1.ChargesParked(s.parked.Error())), r.now)
	} else if s.published.parked.status != "" {
		out.Parked = s.published.parked.since(s.stamped(v1alpha1.ChargesPlausible(messagePlausible)), r.now)
	}
	if err != nil {
		return out, out.Parked != nil // Figures that do not fit are not shown.
	}
	out.Costs = costsOf(buckets)
	out.Resolved = s.published.resolved.since(s.stamped(v1alpha1.CostsResolved(reason, message)), r.now)
	return out, true
}

// stamped is a condition as of the generation that was charged.
func (s *subject) stamped(c metav1.Condition) metav1.Condition {
	c.ObservedGeneration = s.generation
	return c
}

func costsOf(buckets []charge.Bucket) []v1alpha1.CostBucket {
	costs := make([]v1alpha1.CostBucket, 0, len(buckets))
	for _, b := range buckets {
		cost := v1alpha1.CostBucket{
			Granularity:  v1alpha1.CostGranularity(b.Granularity),
			Start:        metav1.NewTime(b.Start),
			EndExclusive: metav1.NewTime(b.End),
			Current:      int64(b.Current),
			Projected:    int64(b.Projected),
		}
		for _, share := range b.Breakdown {
			cost.Breakdown = append(cost.Breakdown, v1alpha1.CostMetric{
				Name: v1alpha1.MeterName(share.Source), Current: int64(share.Current), Projected: int64(share.Projected),
			})
		}
		costs = append(costs, cost)
	}
	return costs
}
