package charge

import (
	"encoding/json"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/finops/charge"
	"github.com/provider-finops/provider-finops/internal/finops/ref"
	"github.com/provider-finops/provider-finops/internal/finops/tick"
	"github.com/provider-finops/provider-finops/internal/objects"
)

// A subject is a Subscription as a run knows it: what its bill depends on, how
// far it is settled, and what came of it. There may be many thousands, so it
// holds no more than that of the object.
type subject struct {
	uid             string
	key             types.NamespacedName
	resourceVersion string
	generation      int64
	offering        ref.Key
	soldAt          time.Time // See objects.SoldAt.
	life            tick.Life // What it is charged by.
	told            tick.Life // What the object says.
	sources         selection
	deleting        bool
	leaving         bool // It was deleted, and no run holds it any more.
	published       published

	bill              *charge.Bill // Nil until the terms are known.
	offeringUID       string       // Whose terms they are.
	offeringVersionID int64
	versionID         int64
	windows           charge.Windows

	// departing says that the run lets it go unless something comes between, so
	// that the hour in progress has nothing for it.
	departing bool

	sums *sums // Nil if it has no rows in the month.

	failure error // What was recorded against it. The first failure stands.
	parked  error // Which charge is held back.
	changed bool  // The object is no longer what was charged.

	// overtaken says that it has changed since the run began to read, so that it is
	// left to the next one.
	overtaken bool
}

// newSubject takes from an object what a run needs of it.
func newSubject(s *v1alpha1.Subscription) *subject {
	sub := &subject{
		uid:             string(s.UID),
		key:             types.NamespacedName{Namespace: s.Namespace, Name: s.Name},
		resourceVersion: s.ResourceVersion,
		generation:      s.Generation,
		offering:        ref.Key{Namespace: s.Spec.OfferingRef.Namespace, Name: s.Spec.OfferingRef.Name},
		soldAt:          objects.SoldAt(s),
		life:            lifeOf(s),
		told:            lifeOf(s),
		sources:         selectionOf(s.Spec.UsageSources),
		deleting:        s.DeletionTimestamp != nil && slices.Contains(s.Finalizers, v1alpha1.SubscriptionFinalizer),
		leaving:         s.DeletionTimestamp != nil && !slices.Contains(s.Finalizers, v1alpha1.SubscriptionFinalizer),
		published:       publishedOn(s),
	}
	return sub
}

func lifeOf(s *v1alpha1.Subscription) tick.Life {
	var life tick.Life
	if t := s.Status.ActivatedAt; t != nil {
		life.ActivatedAt = t.UTC()
	}
	if t := s.Status.DeactivatedAt; t != nil {
		life.DeactivatedAt = t.UTC()
	}
	return life
}

// billed reports whether there is anything to charge, ever.
func (s *subject) billed() bool { return !s.life.ActivatedAt.IsZero() }

// served reports whether the run writes charges for it. Once something went
// wrong it does not any more: a later hour must not pass an earlier one.
func (s *subject) served() bool {
	return s.bill != nil && !s.behind()
}

// behind reports whether charges are left to be written by a later run.
func (s *subject) behind() bool { return s.failure != nil || s.parked != nil || s.overtaken }

func (s *subject) fail(err error) {
	if s.failure == nil {
		s.failure = err
	}
}

// refuse records why a charge could not be computed: an implausible one is
// parked, for somebody to look at, and fails nothing else.
func (s *subject) refuse(err error) {
	if charge.Parked(err) {
		if s.parked == nil {
			s.parked = err
		}
		return
	}
	s.fail(err)
}

const changedMeanwhile = "The Subscription has changed since the run began, keeping finalizer"

// departure is what decides whether it may go.
func (s *subject) departure(run charge.Run) charge.Departure {
	d := charge.Departure{Run: run, Life: s.life, Bill: s.bill}
	switch {
	case s.failure != nil:
		d.Failure = s.failure.Error()
	case s.parked != nil:
		d.Failure = s.parked.Error()
	case s.overtaken:
		d.Failure = changedMeanwhile
	}
	return d
}

// version is the Subscription as the mirror stores it, for one that has no row
// there. The labels of its namespace are the controller's to add.
func version(s *v1alpha1.Subscription, spec []byte, life tick.Life, offeringUID string) postgres.Subscription {
	v := postgres.Subscription{
		Object: postgres.Object{
			Namespace: s.Namespace, Name: s.Name, UID: string(s.UID), Generation: s.Generation,
			Spec: spec, Labels: s.Labels, Annotations: s.Annotations,
		},
		OfferingNamespace: s.Spec.OfferingRef.Namespace,
		OfferingName:      s.Spec.OfferingRef.Name,
		OfferingUID:       offeringUID,
		CompatibilityRoot: s.Status.CompatibilityRoot,
		ActivatedAt:       life.ActivatedAt,
		DeactivatedAt:     life.DeactivatedAt,
	}
	if p := s.Spec.Parent; p != nil {
		v.ParentNamespace, v.ParentName = p.SubscriptionRef.Namespace, p.SubscriptionRef.Name
	}
	return v
}

// isChargedAs reports whether an object is charged by what the run has read.
func (s *subject) isChargedAs(now *v1alpha1.Subscription) bool {
	return same(lifeOf(now), s.told) && selectionOf(now.Spec.UsageSources) == s.sources
}

// isRecorded reports whether a mirror row says what the Subscription is charged
// by.
func (s *subject) isRecorded(row postgres.RecordedSubscription) bool {
	var life tick.Life
	if row.ActivatedAt != nil {
		life.ActivatedAt = *row.ActivatedAt
	}
	if row.DeactivatedAt != nil {
		life.DeactivatedAt = *row.DeactivatedAt
	}
	var given []v1alpha1.UsageSource
	if json.Unmarshal(row.UsageSources, &given) != nil {
		return false
	}
	return same(life, s.life) && selectionOf(given) == s.sources
}

// recall has it charged by the life that is recorded, where the object tells
// another: it was restored from an earlier copy, and has begun or ended anew before
// the database could be asked. What is written once cannot be put right there. It
// reports whether there is any difference.
func (s *subject) recall(row postgres.RecordedSubscription) bool {
	if row.ActivatedAt != nil && !s.told.ActivatedAt.IsZero() {
		s.life.ActivatedAt = row.ActivatedAt.UTC()
	}
	if row.DeactivatedAt != nil && !s.told.DeactivatedAt.IsZero() {
		s.life.DeactivatedAt = row.DeactivatedAt.UTC()
	}
	return !same(s.life, s.told)
}

// knownOtherwise says what a mirror row tells of a life and the object does not yet,
// nothing if they agree as far as the row goes. What was recorded stays true.
func (s *subject) knownOtherwise(row postgres.RecordedSubscription) string {
	switch {
	case row.ActivatedAt != nil && !row.ActivatedAt.Equal(s.life.ActivatedAt):
		return "it was activated at " + row.ActivatedAt.UTC().Format(time.RFC3339)
	case row.DeactivatedAt != nil && !row.DeactivatedAt.Equal(s.life.DeactivatedAt):
		return "it ended at " + row.DeactivatedAt.UTC().Format(time.RFC3339)
	}
	return ""
}

func same(a, b tick.Life) bool {
	return a.ActivatedAt.Equal(b.ActivatedAt) && a.DeactivatedAt.Equal(b.DeactivatedAt)
}
