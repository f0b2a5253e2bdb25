// Package inputs turns what is stored, by the API server or the database, into
// what package finops/charge computes with. The collector and those who check it
// read the same inputs the same way.
package inputs

import (
	"encoding/json"
	"fmt"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/finops/charge"
	"github.com/provider-finops/provider-finops/internal/finops/money"
	"github.com/provider-finops/provider-finops/internal/finops/pricing"
	"github.com/provider-finops/provider-finops/internal/finops/tick"
)

// Terms translates the pricing of an Offering.
func Terms(p v1alpha1.Pricing) (charge.Terms, error) {
	var fee *tick.Terms
	if f := p.SubscriptionFee; f != nil {
		var minPeriods int64
		if f.MinPeriods != nil {
			minPeriods = int64(*f.MinPeriods)
		}
		terms, err := tick.ParseTerms(tick.Alignment(f.TickAlignment), f.Period, money.Micros(f.PriceMicros), minPeriods)
		if err != nil {
			return charge.Terms{}, err
		}
		fee = &terms
	}
	var meters []charge.Meter
	for _, m := range p.ResourcePricing {
		meter := charge.Meter{Name: pricing.Meter(m.Name)}
		if m.Margins != nil {
			meter.Margin = money.Margin{AbsoluteMicros: m.Margins.AbsoluteMicros, FactorMilli: m.Margins.FactorMilli}
		}
		meters = append(meters, meter)
	}
	return charge.NewTerms(fee, meters)
}

// RecordedSpec reads the specification of an Offering from the mirror.
func RecordedSpec(row postgres.RecordedOffering) (v1alpha1.OfferingSpec, error) {
	var spec v1alpha1.OfferingSpec
	if err := json.Unmarshal(row.Spec, &spec); err != nil {
		return spec, fmt.Errorf("cannot read the recorded terms: %w", err)
	}
	return spec, nil
}

// RecordedTerms are the terms of an Offering in the mirror.
func RecordedTerms(row postgres.RecordedOffering) (charge.Terms, error) {
	spec, err := RecordedSpec(row)
	if err != nil {
		return charge.Terms{}, err
	}
	return Terms(spec.Pricing)
}

// Sources are the usage sources that select something.
func Sources(given []v1alpha1.UsageSource) []charge.Source {
	var sources []charge.Source
	for _, u := range given {
		source := charge.Source{Kind: u.ResourceType, Name: u.Name, Namespace: u.Namespace}
		if !source.Ignored() {
			sources = append(sources, source)
		}
	}
	return sources
}

// Books translates recorded rates.
func Books(rows []postgres.RecordedBook) charge.Books {
	books := make(charge.Books, len(rows))
	for _, row := range rows {
		rates := pricing.Tariff{}
		for field, micros := range map[pricing.Field]*int64{
			pricing.FieldCPUHour:    row.CPUHourMicros,
			pricing.FieldGPUHour:    row.GPUHourMicros,
			pricing.FieldRAMGbHour:  row.RAMGbHourMicros,
			pricing.FieldPVGbHour:   row.PVGbHourMicros,
			pricing.FieldNetworkGiB: row.NetworkGiBMicros,
		} {
			if micros != nil {
				rates[field] = money.Micros(*micros)
			}
		}
		books[row.ID] = charge.Book{ID: row.ID, Currency: row.Currency, Rates: rates}
	}
	return books
}

// Measurement translates an allocation row.
func Measurement(m postgres.Measurement) charge.Measurement {
	return charge.Measurement{
		Workload: charge.Workload{Namespace: m.Namespace, Controller: m.Controller, ControllerKind: m.ControllerKind, Pod: m.Pod},
		Start:    m.Start, End: m.End, BookID: m.PricebookID,
		Cores: m.Cores, GPUs: m.GPUs, Bytes: m.Bytes, PVByteHours: m.PVByteHours, NetworkBytes: m.NetworkBytes,
	}
}
