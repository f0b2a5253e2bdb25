package pricebook

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/finops/pricing"
)

const (
	messageDemoted     = "another PriceBook is the active one"
	messageActive      = "this PriceBook is the active one"
	messageNotRendered = "valuationMode percent is not rendered" // OPEN-PB-9.
	messageValid       = "the rates can be read"
)

// validate says on the book whether its own rates can be read, and returns the
// same.
func (e *external) validate(b *v1alpha1.PriceBook) bool {
	b.Status.ObservedGeneration = b.Generation
	note, err := priced(b).Validate()
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
// said when the slot moves: the condition is written on transitions only.
func reportSlot(b *v1alpha1.PriceBook, p plan) {
	won := p.winner != nil && p.winner.UID == b.UID
	active := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.TypeActive)
	switch {
	case !won && b.Status.Active, won && !b.Status.Active:
		return // Update moves the slot and says so.
	case won && (active == nil || active.Status != metav1.ConditionTrue || active.Message != messageActivated(b)):
		b.Report(v1alpha1.Activated(messageActivated(b)))
	case !won && (active == nil || active.Status != metav1.ConditionFalse):
		b.Report(v1alpha1.Demoted(messageDemoted)) // A new book that has lost its first election (OPEN-PB-3).
	}
	if !won || p.push.settled() {
		reportPricing(b, p.push)
	}
}

// reportPricing repeats on a book what OpenCost was told of it: nothing, unless
// it is active and ready.
func reportPricing(b *v1alpha1.PriceBook, p push) {
	b.Status.ActivePricing = p.document
}

func messageActivated(b *v1alpha1.PriceBook) string {
	if !rendered(b) {
		return messageNotRendered
	}

	return messageActive
}
