package pricebook

import (
	"context"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
)

// errOvertaken says that a decision would come out differently by now.
var errOvertaken = errors.New("the price books have changed in the meantime")

// stale says that a write, or the election before it, was about an older state
// of the books.
func stale(err error) bool {
	return kerrors.IsConflict(err) || kerrors.IsNotFound(err) || errors.Is(err, errOvertaken)
}

// move brings the slot to where the election wants it, so that at no moment two
// books hold it.
//
// Demoting the losers first is not enough for that, because somebody else may be
// doing the same for another winner: a controller that has lost its lease and
// does not know it yet, at any point between its reading and its writing. The
// server can refuse a write for what happened to that book, but not for what
// happened to another. So a book is first marked as the one that takes over,
// then all are read once more, and then whoever else holds the slot or is marked
// is put down, by a write that makes an outstanding promotion fail. Of two that
// are at it, the one that reads later finds the mark of the other.
func (e *external) move(ctx context.Context, b *v1alpha1.PriceBook) error {
	if e.next.settled() {
		return nil
	}
	winner := e.next.winner
	if e.next.promote {
		winner = own(b, winner)
		if err := e.mark(ctx, winner); err != nil {
			return err
		}
		o, err := e.electFrom(ctx, e.live)
		if err != nil {
			return err
		}
		if !o.promote || o.winner.UID != winner.UID {
			return errOvertaken
		}
		e.next.outcome = o
	}
	for _, loser := range e.next.demote {
		if err := e.demote(ctx, own(b, loser)); err != nil {
			return err
		}
	}
	if e.next.promote {
		if err := e.promote(ctx, winner); err != nil {
			return err
		}
	}
	if winner != nil && winner.UID != b.UID {
		e.wake(ctx, winner) // BETTER-PB-2: not only when its status comes back as an event.
	}

	return nil
}

// mark says on a book that it is about to take the slot.
func (e *external) mark(ctx context.Context, b *v1alpha1.PriceBook) error {
	b.Report(v1alpha1.Demoted(messageTakesOver))

	return errors.Wrapf(e.statuses.Keep(ctx, b), "cannot promise the slot to price book %q", key(b))
}

// demote takes the slot, or the promise of it, from a book.
func (e *external) demote(ctx context.Context, b *v1alpha1.PriceBook) error {
	held := b.Status.Active
	b.Status.Active = false
	b.Status.ActivePricing = nil
	b.Report(v1alpha1.Demoted(e.next.messageDemoted(b)))
	if err := e.statuses.Keep(ctx, b); err != nil {
		return errors.Wrapf(err, "cannot demote price book %q", key(b))
	}
	if held {
		e.record.Event(b, demoted(e.next.messageDemoted(b)))
	}

	return nil
}

// resign takes the slot from a book that is being deleted. Nobody else may be
// there to do it, and a heir reconciles by itself.
func (e *external) resign(ctx context.Context, b *v1alpha1.PriceBook) error {
	if !b.Status.Active && !takesOver(b) {
		return nil
	}
	o, err := e.electFrom(ctx, e.live)
	if err != nil {
		return errors.Wrap(err, "cannot elect the active price book")
	}
	e.next = plan{outcome: o}

	return e.demote(ctx, b)
}

// promote gives it to a book that is marked. The others have lost it before.
func (e *external) promote(ctx context.Context, b *v1alpha1.PriceBook) error {
	b.Status.Active = true
	b.Report(v1alpha1.Activated(messagePromoted(b)))
	if err := e.statuses.Keep(ctx, b); err != nil {
		return errors.Wrapf(err, "cannot promote price book %q", key(b))
	}
	switches.Inc()
	e.record.Event(b, activated())
	if e.next.annotated > 1 {
		e.record.Event(b, severalAnnotated(e.next.annotated, key(b)))
	}

	return nil
}

// own returns the object of this reconcile if the listed one is the same, so
// that its status in memory follows the one that is stored.
func own(b, listed *v1alpha1.PriceBook) *v1alpha1.PriceBook {
	if listed.UID == b.UID {
		return b
	}

	return listed.DeepCopy()
}

func key(b *v1alpha1.PriceBook) string {
	return types.NamespacedName{Namespace: b.Namespace, Name: b.Name}.String()
}
