// Package objects says what objects of the API are to the core, for all shells
// alike.
package objects

import (
	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/finops/pricing"
	"github.com/provider-finops/provider-finops/internal/finops/ref"
)

// Book is a PriceBook as pricing sees it. A book without rates stays one without:
// that is not the same as rates of which none is set.
func Book(b *v1alpha1.PriceBook) pricing.Book {
	book := pricing.Book{
		Key:        ref.Key{Namespace: b.Namespace, Name: b.Name},
		Generation: b.Generation,
		Active:     b.Status.Active,
		Mode:       string(b.Spec.ValuationMode),
	}
	if r := b.Spec.Rates; r != nil {
		book.Rates = &pricing.Rates{
			CPUHour:       r.CPUHour,
			SpotCPUHour:   r.SpotCPUHour,
			RAMGbHour:     r.RAMGbHour,
			SpotRAMGbHour: r.SpotRAMGbHour,
			PVGbHour:      r.PVGbHour,
			GPUHour:       r.GPUHour,
			NetworkGiB:    r.NetworkGiB,
		}
	}
	return book
}
