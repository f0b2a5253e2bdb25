package charge

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/finops/ref"
	"github.com/provider-finops/provider-finops/internal/objects"
)

// A world is what the API server says at the start of a run. All of it was read
// from the server, in this run.
type world struct {
	subjects  []*subject                     // In the order of uids, which is that of the database.
	offerings map[ref.Key]*v1alpha1.Offering // By name.

	// feeCurrency is that of the active price book, empty if there is none.
	feeCurrency string

	// collecting says that a CostJob of type ResourceCostCollection exists, and
	// charging that one does which collects charges.
	collecting, charging bool
}

// gather reads the objects. One that cannot be read ends the run: what could not
// be looked at is not missing.
func (r *run) gather(ctx context.Context) (world, error) {
	if r.one != nil {
		return r.gatherOne(ctx)
	}
	w := world{offerings: map[ref.Key]*v1alpha1.Offering{}}

	for o, err := range r.subscriptions(ctx) {
		if err != nil {
			return world{}, fmt.Errorf("cannot list Subscriptions: %w", err)
		}
		if s := newSubject(o); s.billed() || s.deleting {
			w.subjects = append(w.subjects, s)
		}
	}
	slices.SortFunc(w.subjects, func(a, b *subject) int { return strings.Compare(a.uid, b.uid) })

	for o, err := range items(ctx, r, func(l *v1alpha1.OfferingList) []v1alpha1.Offering { return l.Items }) {
		if err != nil {
			return world{}, fmt.Errorf("cannot list Offerings: %w", err)
		}
		o.ManagedFields = nil
		w.offerings[ref.Key{Namespace: o.Namespace, Name: o.Name}] = o
	}

	if err := r.gatherPriceBooks(ctx, &w); err != nil {
		return world{}, err
	}
	return w, r.gatherCostJobs(ctx, &w)
}

func (r *run) gatherPriceBooks(ctx context.Context, w *world) error {
	var active []string
	for b, err := range items(ctx, r, func(l *v1alpha1.PriceBookList) []v1alpha1.PriceBook { return l.Items }) {
		if err != nil {
			return fmt.Errorf("cannot list PriceBooks: %w", err)
		}
		if b.Status.Active {
			active = append(active, b.Spec.Currency)
		}
	}
	if len(active) == 1 { // Should two claim the slot for a moment, neither is believed.
		w.feeCurrency = active[0]
	}
	return nil
}

func (r *run) gatherCostJobs(ctx context.Context, w *world) error {
	for j, err := range items(ctx, r, func(l *v1alpha1.CostJobList) []v1alpha1.CostJob { return l.Items }) {
		if err != nil {
			return fmt.Errorf("cannot list CostJobs: %w", err)
		}
		w.collecting = w.collecting || j.Spec.Type == v1alpha1.CostJobTypeResourceCostCollection
		w.charging = w.charging || objects.CollectsCharges(j)
	}
	return nil
}
