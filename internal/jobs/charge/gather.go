package charge

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/finops/ref"
)

// pageSize is how many objects are read at a time. Only one page of whole
// objects is ever held.
const pageSize = 200

// A world is what the API server says at the start of a run. All of it was read
// from the server, in this run.
type world struct {
	subjects  []*subject                     // In the order of uids, which is that of the database.
	offerings map[ref.Key]*v1alpha1.Offering // By name.

	// feeCurrency is that of the active price book, empty if there is none.
	feeCurrency string

	// collecting says that a CostJob of type ResourceCostCollection exists.
	collecting bool
}

// gather reads the objects. One that cannot be read ends the run: what could not
// be looked at is not missing.
func (r *run) gather(ctx context.Context) (world, error) {
	w := world{offerings: map[ref.Key]*v1alpha1.Offering{}}

	err := pages(ctx, r, func(list *v1alpha1.SubscriptionList) {
		for i := range list.Items {
			s := newSubject(&list.Items[i])
			if s.billed() || s.deleting {
				w.subjects = append(w.subjects, s)
			}
		}
	})
	if err != nil {
		return world{}, fmt.Errorf("cannot list Subscriptions: %w", err)
	}
	slices.SortFunc(w.subjects, func(a, b *subject) int { return strings.Compare(a.uid, b.uid) })

	err = pages(ctx, r, func(list *v1alpha1.OfferingList) {
		for i := range list.Items {
			o := &list.Items[i]
			o.ManagedFields = nil
			w.offerings[ref.Key{Namespace: o.Namespace, Name: o.Name}] = o
		}
	})
	if err != nil {
		return world{}, fmt.Errorf("cannot list Offerings: %w", err)
	}

	var active []string
	err = pages(ctx, r, func(list *v1alpha1.PriceBookList) {
		for _, b := range list.Items {
			if b.Status.Active {
				active = append(active, b.Spec.Currency)
			}
		}
	})
	if err != nil {
		return world{}, fmt.Errorf("cannot list PriceBooks: %w", err)
	}
	if len(active) == 1 { // Should two claim the slot for a moment, neither is believed.
		w.feeCurrency = active[0]
	}

	err = pages(ctx, r, func(list *v1alpha1.CostJobList) {
		for _, j := range list.Items {
			w.collecting = w.collecting || j.Spec.Type == v1alpha1.CostJobTypeResourceCostCollection
		}
	})
	if err != nil {
		return world{}, fmt.Errorf("cannot list CostJobs: %w", err)
	}
	return w, nil
}

// pages lists a kind in all namespaces and hands out one page at a time.
func pages[T any, L interface {
	*T
	client.ObjectList
}](ctx context.Context, r *run, each func(L)) error {
	for token := ""; ; {
		page := L(new(T))
		if err := r.list(ctx, page, token); err != nil {
			return err
		}
		each(page)
		if token = page.GetContinue(); token == "" {
			return nil
		}
	}
}

func (r *run) list(ctx context.Context, page client.ObjectList, token string) error {
	ctx, cancel := context.WithTimeout(ctx, r.KubernetesOperationTimeout)
	defer cancel()
	return r.client.List(ctx, page, client.Limit(pageSize), client.Continue(token))
}
