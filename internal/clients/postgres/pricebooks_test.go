package postgres_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/finops/money"
	"github.com/provider-finops/provider-finops/internal/finops/pricing"
	"github.com/provider-finops/provider-finops/internal/testkit/pgtest"
)

func TestStorePriceBook(t *testing.T) {
	pool := pgtest.Database(t).Pool
	book := func(currency string, tariff pricing.Tariff) postgres.PriceBook {
		return postgres.PriceBook{Namespace: "finops", Name: "tariff", UID: uidA, Generation: 1, Currency: currency, Tariff: tariff}
	}

	for _, step := range []struct {
		reason string
		book   postgres.PriceBook
		want   int64
	}{
		{"A new book is a row.", book("EUR", pricing.Tariff{pricing.FieldCPUHour: 31000}), 1},
		{"The same book is that row.", book("EUR", pricing.Tariff{pricing.FieldCPUHour: 31000}), 1},
		{"Other rates are another row; rows are never changed.", book("EUR", pricing.Tariff{pricing.FieldCPUHour: 32000}), 2},
		{"An explicit zero is not an unset rate (OPEN-PB-8).", book("EUR", pricing.Tariff{pricing.FieldCPUHour: 32000, pricing.FieldPVGbHour: 0}), 3},
		{"Another currency is another row.", book("USD", pricing.Tariff{pricing.FieldCPUHour: 31000}), 4},
		{"Going back to old rates is going back to the old row.", book("EUR", pricing.Tariff{pricing.FieldCPUHour: 31000}), 1},
	} {
		got, err := postgres.StorePriceBook(t.Context(), pool, cluster, step.book, lunchtime.Add(time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(postgres.PriceBookRow{ID: step.want, Currency: step.book.Currency}, got); diff != "" {
			t.Fatalf("%s\n-want, +got:\n%s", step.reason, diff)
		}
	}

	want := []string{"31000|-", "32000|-", "32000|0", "31000|-"}
	got := list(t, pool, "SELECT concat_ws('|', cpu_hour_micros, coalesce(pv_gb_hour_micros::text, '-')) FROM pricebooks ORDER BY id")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

func TestLastPriceBook(t *testing.T) {
	pool := pgtest.Database(t).Pool
	if _, known, err := postgres.LastPriceBook(t.Context(), pool, cluster, uidA); known || err != nil {
		t.Errorf("known = %t, %v; want a book that was never stored to be unknown", known, err)
	}

	for _, cpu := range []money.Micros{1, 2} {
		b := postgres.PriceBook{Namespace: "finops", Name: "tariff", UID: uidA, Currency: "EUR", Tariff: pricing.Tariff{}}
		b.Tariff[pricing.FieldCPUHour] = cpu
		if _, err := postgres.StorePriceBook(t.Context(), pool, cluster, b, lunchtime); err != nil {
			t.Fatal(err)
		}
	}
	// The first rates come back: they have a row already, and it is the last again.
	first := postgres.PriceBook{Namespace: "finops", Name: "tariff", UID: uidA, Currency: "EUR", Tariff: pricing.Tariff{pricing.FieldCPUHour: 1}}
	for range 2 {
		if _, err := postgres.StorePriceBook(t.Context(), pool, cluster, first, lunchtime); err != nil {
			t.Fatal(err)
		}
		back, known, err := postgres.LastPriceBook(t.Context(), pool, cluster, uidA)
		if diff := cmp.Diff(postgres.PriceBookRow{ID: 1, Currency: "EUR"}, back); diff != "" || !known || err != nil {
			t.Errorf("rates that came back: known = %t, %v; -want, +got:\n%s", known, err, diff)
		}
	}
	other := postgres.PriceBook{Namespace: "finops", Name: "tariff", UID: uidA, Currency: "EUR", Tariff: pricing.Tariff{pricing.FieldCPUHour: 2}}
	if _, err := postgres.StorePriceBook(t.Context(), pool, cluster, other, lunchtime); err != nil {
		t.Fatal(err)
	}
	got, known, err := postgres.LastPriceBook(t.Context(), pool, cluster, uidA)
	if diff := cmp.Diff(postgres.PriceBookRow{ID: 2, Currency: "EUR"}, got); diff != "" || !known || err != nil {
		t.Errorf("known = %t, %v; -want, +got:\n%s", known, err, diff)
	}
}
