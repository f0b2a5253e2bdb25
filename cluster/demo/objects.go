package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"time"
)

// subscription is what the demo reads of a Subscription.
type subscription struct {
	Metadata struct{ Name, UID string }
	Spec     struct {
		OfferingRef  struct{ Name, Namespace string }
		UsageSources []usageSource
	}
	Status struct {
		ActivatedAt   time.Time
		DeactivatedAt time.Time
		Costs         []bucket
	}
}

type usageSource struct{ ResourceType, Name, Namespace string }

type bucket struct {
	Granularity         string
	Start, EndExclusive time.Time
	Current, Projected  int64
	Breakdown           []struct {
		Name               string
		Current, Projected int64
	}
}

// offering is what the demo reads of an Offering.
type offering struct {
	Spec struct {
		Pricing struct {
			SubscriptionFee *fee
			ResourcePricing []meter
		}
	}
}

type fee struct {
	TickAlignment, Period string
	PriceMicros           int64
}

type meter struct {
	Name    string
	Margins struct{ AbsoluteMicros, FactorMilli *int64 }
}

// priceBook is what the demo reads of a PriceBook: rates by field name.
type priceBook struct {
	Spec struct {
		Currency string
		Rates    map[string]string
	}
}

func (d *demo) subscription(ctx context.Context, name string) (subscription, error) {
	var s subscription
	err := d.Product.Kubectl.Get(ctx, &s, subscriptionKind, name, "--namespace="+tenant)
	return s, err
}

func (d *demo) offering(ctx context.Context, s subscription) (offering, error) {
	var o offering
	err := d.Product.Kubectl.Get(ctx, &o, "offerings.finops.stakater.com", s.Spec.OfferingRef.Name, "--namespace="+s.Spec.OfferingRef.Namespace)
	return o, err
}

func (d *demo) priceBook(ctx context.Context) (priceBook, error) {
	var p priceBook
	err := d.Product.Kubectl.Get(ctx, &p, "pricebooks.finops.stakater.com", "tariff-2026", "--namespace="+platformNamespace)
	return p, err
}

// micros is a rate in millionths of the currency.
func (p priceBook) micros(rate string) (*big.Rat, error) {
	value, ok := new(big.Rat).SetString(p.Spec.Rates[rate])
	if !ok {
		return nil, fmt.Errorf("the price book has no rate %q", rate)
	}
	return value.Mul(value, big.NewRat(1_000_000, 1)), nil
}

// An allocation is what OpenCost says about one container in one hour.
type allocation struct {
	Name       string     `json:"name"`
	Properties properties `json:"properties"`
	Start      time.Time  `json:"start"`
	End        time.Time  `json:"end"`

	CPUCoreUsageAverage  json.Number `json:"cpuCoreUsageAverage"`
	RAMByteUsageAverage  json.Number `json:"ramByteUsageAverage"`
	PVByteHours          json.Number `json:"pvByteHours"`
	NetworkTransferBytes json.Number `json:"networkTransferBytes"`
	NetworkReceiveBytes  json.Number `json:"networkReceiveBytes"`
}

type properties struct {
	Namespace      string `json:"namespace"`
	Pod            string `json:"pod"`
	Container      string `json:"container"`
	Controller     string `json:"controller"`
	ControllerKind string `json:"controllerKind"`
}

// amount reads a number exactly; null is nothing.
func amount(n json.Number) *big.Rat {
	value, ok := new(big.Rat).SetString(n.String())
	if !ok {
		return new(big.Rat)
	}
	return value
}
