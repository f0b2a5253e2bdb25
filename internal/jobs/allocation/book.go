package allocation

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/finops/collection"
	"github.com/provider-finops/provider-finops/internal/finops/pricing"
	"github.com/provider-finops/provider-finops/internal/finops/ref"
	"github.com/provider-finops/provider-finops/internal/objects"
)

// resolveBook finds the book that rows are priced with (part 20.10) and stores
// its rates. It returns nil if there is none: rows are kept without a price, and
// priced by a later run if a book appears before they are final (BETTER-PB-6).
func (j *Job) resolveBook(ctx context.Context, db postgres.DB, costJob *v1alpha1.CostJob, at time.Time) (*postgres.PriceBookRow, error) {
	found, err := j.priceBooks(ctx)
	if err != nil {
		return nil, err
	}
	books := make([]pricing.Book, len(found))
	for i := range found {
		books[i] = objects.Book(&found[i])
	}

	for _, candidate := range collection.Books(books, costJob.Namespace, j.Settings.ActiveBookFirst) {
		object := &found[slices.IndexFunc(books, func(b pricing.Book) bool { return b.Key == candidate.Key })]
		row, sound, err := j.storeBook(ctx, db, object, candidate, at)
		if err != nil {
			return nil, err
		}
		if !sound {
			continue
		}
		if !candidate.Active {
			j.warnInactive(ctx, costJob, candidate.Key, books)
		}
		return &row, nil
	}

	j.Log.Info("No PriceBook can be used; allocations are stored without a price", "namespace", costJob.Namespace)
	return nil, nil //nolint:nilnil // No book is an answer.
}

// storeBook stores the rates of a book, or finds the last good ones of a book
// that is unready. It returns false for a book that was never sound.
func (j *Job) storeBook(ctx context.Context, db postgres.DB, object *v1alpha1.PriceBook, b pricing.Book, at time.Time) (postgres.PriceBookRow, bool, error) {
	if _, err := b.Validate(); err != nil {
		j.Log.Info("A PriceBook is unready; looking for its last good rates", "priceBook", b.Key.String(), "reason", err.Error())
		return postgres.LastPriceBook(ctx, db, j.Settings.ClusterID, string(object.UID))
	}

	tariff, _, err := pricing.Parse(*b.Rates)
	if err != nil {
		return postgres.PriceBookRow{}, false, fmt.Errorf("cannot read the rates of PriceBook %q: %w", b.Key, err)
	}
	row, err := postgres.StorePriceBook(ctx, db, j.Settings.ClusterID, postgres.PriceBook{
		Namespace: object.Namespace, Name: object.Name, UID: string(object.UID), Generation: object.Generation,
		Currency: object.Spec.Currency, Tariff: tariff,
	}, at)
	return row, err == nil, err
}

func (j *Job) warnInactive(ctx context.Context, costJob *v1alpha1.CostJob, used ref.Key, books []pricing.Book) {
	inForce := "none"
	if i := slices.IndexFunc(books, func(b pricing.Book) bool { return b.Active }); i >= 0 {
		inForce = books[i].Key.String()
	}
	j.Log.Info("Allocations are priced with a PriceBook that is not the active one", "priceBook", used.String(), "active", inForce)
	j.warn(ctx, costJob, ReasonPriceBookNotActive, fmt.Sprintf("allocations are priced with PriceBook %s; the active one is %s", used, inForce))
}

func (j *Job) priceBooks(ctx context.Context) ([]v1alpha1.PriceBook, error) {
	ctx, cancel := context.WithTimeout(ctx, j.Settings.Timeouts.Kubernetes)
	defer cancel()

	list := &v1alpha1.PriceBookList{}
	if err := j.Kube.List(ctx, list); err != nil {
		return nil, fmt.Errorf("cannot list the PriceBooks: %w", err)
	}
	return list.Items, nil
}
