package pricebook

import (
	"context"
	"slices"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/finops/election"
)

// An outcome is what an election comes to: which books lose the slot, and which
// one takes it.
type outcome struct {
	winner *v1alpha1.PriceBook // Nil if there is no candidate.
	demote []*v1alpha1.PriceBook

	// promote says that the winner does not hold the slot yet.
	promote bool

	// annotated is how many candidates ask for the slot.
	annotated int

	// candidates is how the election sees each book.
	candidates map[types.UID]election.Book
}

// settled says that the slot is where it belongs.
func (o outcome) settled() bool { return len(o.demote) == 0 && !o.promote }

// won says whether the book is the winner.
func (o outcome) won(b *v1alpha1.PriceBook) bool { return o.winner != nil && o.winner.UID == b.UID }

// elect holds the election over all books of the cluster.
func (e *external) elect(ctx context.Context) (outcome, error) {
	o, err := e.electFrom(ctx, e.cache)
	if err != nil || o.settled() {
		return o, err
	}

	// Statuses have been written that the cache may not have seen yet: among
	// incumbents of yesterday the wrong one could win. What is written is
	// decided on what the server says.
	return e.electFrom(ctx, e.live)
}

func (e *external) electFrom(ctx context.Context, from client.Reader) (outcome, error) {
	return electFrom(ctx, from, e.settings.Namespaces)
}

func electFrom(ctx context.Context, from client.Reader, namespaces []string) (outcome, error) {
	books := &v1alpha1.PriceBookList{}
	if err := from.List(ctx, books); err != nil {
		return outcome{}, errors.Wrap(err, "cannot list price books")
	}

	o := outcome{candidates: map[types.UID]election.Book{}}
	candidates := make([]election.Book, 0, len(books.Items))
	for i := range books.Items {
		c := candidate(&books.Items[i], namespaces)
		candidates = append(candidates, c)
		o.candidates[books.Items[i].UID] = c
		if c.Annotation == election.Elected && !c.Deleting && !c.Outside {
			o.annotated++
		}
	}
	elected, ok := election.Winner(candidates)

	for i := range books.Items {
		b := &books.Items[i]
		switch {
		case ok && b.Namespace == elected.Namespace && b.Name == elected.Name:
			o.winner, o.promote = b, !b.Status.Active
		case b.Status.Active || takesOver(b):
			o.demote = append(o.demote, b)
		}
	}

	return o, nil
}

// candidate is a book as the election sees it. Without a list of namespaces all
// of them take part.
func candidate(b *v1alpha1.PriceBook, namespaces []string) election.Book {
	return election.Book{
		Namespace:  b.Namespace,
		Name:       b.Name,
		CreatedAt:  b.CreationTimestamp.Time,
		Annotation: b.Annotations[v1alpha1.AnnotationActive],
		Incumbent:  b.Status.Active,
		Deleting:   b.DeletionTimestamp != nil,
		Outside:    len(namespaces) > 0 && !slices.Contains(namespaces, b.Namespace),
	}
}

// document reads the ConfigMap that OpenCost takes its prices from, nil if
// there is none. The read is not cached: one that misses our own last write
// would restart OpenCost a second time.
func (e *external) document(ctx context.Context) (*corev1.ConfigMap, error) {
	cm := &corev1.ConfigMap{}
	key := client.ObjectKey{Namespace: e.settings.OpenCost.Namespace, Name: ConfigMapName}
	switch err := e.live.Get(ctx, key, cm); {
	case kerrors.IsNotFound(err):
		return nil, nil //nolint:nilnil // No ConfigMap is an answer.
	case err != nil:
		return nil, errors.Wrapf(err, "cannot read the pricing document, ConfigMap %q", key.String())
	}

	return cm, nil
}
