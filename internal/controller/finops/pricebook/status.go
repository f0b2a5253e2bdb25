package pricebook

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/finops/election"
	"github.com/provider-finops/provider-finops/internal/finops/pricing"
	"github.com/provider-finops/provider-finops/internal/objects"
)

const (
	messageActive       = "this PriceBook is the active one: it prices OpenCost, Offerings, and what is measured by CostJobs of this namespace and of those without a PriceBook"
	messageRestartDue   = "this PriceBook is the active one; OpenCost is yet to be restarted on its prices"
	messageUnready      = "this PriceBook is the active one; OpenCost keeps the prices it was told before, because these cannot be read"
	messageNotRendered  = "valuationMode percent is not rendered" // OPEN-PB-9.
	messageOwnNamespace = "; what CostJobs of this namespace measure is priced by a book of this namespace"
	messageTakesOver    = "this PriceBook is about to become the active one"
	messageValid        = "the rates can be read"
)

// validate says on the book whether its own rates can be read, and returns the
// same.
func (e *external) validate(b *v1alpha1.PriceBook) bool {
	b.Status.ObservedGeneration = b.Generation
	note, err := objects.Book(b).Validate()
	if err != nil {
		if !meta.IsStatusConditionFalse(b.Status.Conditions, v1alpha1.TypeReady) {
			e.record.Event(b, parseFailed(err))
		}
		b.Report(v1alpha1.NotReady(v1alpha1.ReasonPricebookParseFailed, err.Error()))

		return false
	}
	if note == "" {
		note = messageValid
	}
	b.Report(v1alpha1.Ready(v1alpha1.ReasonValidationSucceeded, note))

	return true
}

// rendered says whether a book's numbers are money that OpenCost can be told.
func rendered(b *v1alpha1.PriceBook) bool {
	return b.Spec.ValuationMode == pricing.Currency
}

// reportSlot says on a book how it stands to the slot, as far as that is not
// said when the slot moves.
func (e *external) reportSlot(b *v1alpha1.PriceBook) {
	o := e.next.outcome
	switch active := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.TypeActive); {
	case o.won(b) && b.Status.Active && e.next.push.settled():
		reportWinner(b, e.next)
	case o.won(b), b.Status.Active, takesOver(b):
		return // Update moves the slot or tells OpenCost, and says so.
	case active == nil, active.Message != o.messageDemoted(b):
		// A new book that has lost its first election (OPEN-PB-3), or one that
		// has lost to another than before, or for another reason.
		b.Status.ActivePricing = nil
		b.Report(v1alpha1.Demoted(o.messageDemoted(b)))
		if c := o.candidates[b.UID]; c.Annotation == election.Elected && !c.Outside && o.annotated > 1 {
			e.record.Event(b, severalAnnotated(o.annotated, key(o.winner)))
		}
	}
}

// reportWinner says on the book that holds the slot what it prices, and repeats
// what OpenCost was told of it. While a restart is due OpenCost still runs on
// what it was told before, and that stays.
func reportWinner(b *v1alpha1.PriceBook, p plan) {
	switch {
	case !rendered(b):
		b.Status.ActivePricing = nil
		b.Report(v1alpha1.Activated(messageNotRendered))
	case !p.ready:
		b.Status.ActivePricing = nil
		b.Report(v1alpha1.Activated(messageUnready))
	case !p.push.settled():
		b.Report(v1alpha1.Activated(messageRestartDue))
	default:
		b.Status.ActivePricing = p.push.document
		b.Report(v1alpha1.Activated(messageActive))
	}
}

// messagePromoted is said before OpenCost has been looked at.
func messagePromoted(b *v1alpha1.PriceBook) string {
	if !rendered(b) {
		return messageNotRendered
	}

	return messageActive
}

// messageDemoted names the book that is active, says why it is not this one, and
// what this one may price all the same: a collector looks for a book in its own
// namespace first (OPEN-PB-10).
func (o outcome) messageDemoted(b *v1alpha1.PriceBook) string {
	loser := o.candidates[b.UID]
	message := "no PriceBook is the active one: " + election.Why(election.Book{}, loser)
	if o.winner != nil {
		message = fmt.Sprintf("PriceBook %s is the active one: %s", key(o.winner), election.Why(o.candidates[o.winner.UID], loser))
	}
	if ousted := o.winner != nil && o.winner.Namespace == b.Namespace && rendered(o.winner); rendered(b) && !ousted {
		message += messageOwnNamespace
	}

	return message
}

// takesOver says whether a book is marked as the next to hold the slot. No field
// of the API is for that, so the message of the condition is the mark.
func takesOver(b *v1alpha1.PriceBook) bool {
	active := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.TypeActive)

	return active != nil && active.Status == metav1.ConditionFalse && active.Message == messageTakesOver
}
