package postgres_test

import (
	"errors"
	"fmt"
	"iter"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/testkit/pgtest"
)

// batch stores charges the way a run does and returns how many rows were
// written and deleted.
func batch(t *testing.T, pool *pgxpool.Pool, hours postgres.Hours, charges []postgres.Charge, windows []postgres.ChargedWindow) (written, deleted int64) {
	t.Helper()
	conn, err := pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = conn.Conn().Close(t.Context()) // Its temporary tables go with it.
		conn.Release()
	}()
	if err := postgres.PrepareCharges(t.Context(), conn); err != nil {
		t.Fatal(err)
	}
	err = pgx.BeginFunc(t.Context(), conn, func(tx pgx.Tx) error {
		if _, err := postgres.StageCharges(t.Context(), tx, without(charges)); err != nil {
			return err
		}
		if err := postgres.StageWindows(t.Context(), tx, slices.Values(windows)); err != nil {
			return err
		}
		if deleted, err = postgres.DeleteVanishedCharges(t.Context(), tx, billed, hours); err != nil {
			return err
		}
		if written, err = postgres.MergeCharges(t.Context(), tx, billed, hours, midday); err != nil {
			return err
		}
		return postgres.AdvanceWatermarks(t.Context(), tx, billed, midday)
	})
	if err != nil {
		t.Fatal(err)
	}
	return written, deleted
}

func without(charges []postgres.Charge) iter.Seq2[postgres.Charge, error] {
	return func(yield func(postgres.Charge, error) bool) {
		for _, c := range charges {
			if !yield(c, nil) {
				return
			}
		}
	}
}

// dump is what stands in the table, without the columns that say when.
func dump(t *testing.T, pool *pgxpool.Pool) []string {
	t.Helper()
	rows, err := pool.Query(t.Context(), `
		SELECT format('%s %s %s amount=%s quantity=%s price=%s book=%s currency=%s final=%s details=%s',
		              subscription_uid, to_char(window_start AT TIME ZONE 'UTC', 'HH24'), charge_source, amount_micros,
		              quantity, unit_price_micros, pricebook_id, currency, finalized, details)
		  FROM subscription_charges
		 ORDER BY subscription_uid, window_start, charge_source`)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// plantVersions stores a version of an Offering and of Subscriptions, which
// charges have to name.
func plantVersions(t *testing.T, pool *pgxpool.Pool, subscriptions ...string) (offering int64, versions map[string]int64) {
	t.Helper()
	object := func(uid, name string) postgres.Object {
		return postgres.Object{Namespace: "red", Name: name, UID: uid, Generation: 1, Spec: []byte(`{}`)}
	}
	stored, err := postgres.StoreOfferings(t.Context(), pool, billed, midday, postgres.Offering{Object: object(uuid.NewString(), "offering")})
	if err != nil {
		t.Fatal(err)
	}
	versions = map[string]int64{}
	for i, uid := range subscriptions {
		v, err := postgres.StoreSubscriptions(t.Context(), pool, billed, midday, postgres.Subscription{
			Object: object(uid, fmt.Sprintf("subscription-%d", i)), OfferingNamespace: "red", OfferingName: "offering",
		})
		if err != nil {
			t.Fatal(err)
		}
		versions[uid] = v[0].ID
	}
	return stored[0].ID, versions
}

const (
	first  = "11111111-1111-1111-1111-111111111111"
	second = "22222222-2222-2222-2222-222222222222"
)

func TestChargesAreMerged(t *testing.T) {
	db := pgtest.Database(t)
	if _, err := postgres.EnsureMonths(t.Context(), db.Pool, midday, midday); err != nil {
		t.Fatal(err)
	}
	offering, versions := plantVersions(t, db.Pool, first, second)
	charge := func(uid string, hour int, source string, amount int64, final bool) postgres.Charge {
		return postgres.Charge{
			SubscriptionUID: uid, WindowStart: midday.Add(time.Duration(hour) * time.Hour), Source: source, AmountMicros: amount,
			QuantityCoefficient: big.NewInt(1500000000000), QuantityDigits: 12, Currency: "EUR", Finalized: final,
			OfferingVersionID: offering, SubscriptionVersionID: versions[uid], Details: []byte(`{"closeOut": true}`),
		}
	}
	line := func(uid string, hour int, source string, amount int64, final string) string {
		return fmt.Sprintf(`%s %d %s amount=%d quantity=1.500000000000 price= book= currency=EUR final=%s details={"closeOut": true}`, uid, 12+hour, source, amount, final)
	}
	window := func(uid string, hour int, through int) postgres.ChargedWindow {
		w := postgres.ChargedWindow{SubscriptionUID: uid, First: midday.Add(time.Duration(hour) * time.Hour)}
		if through >= 0 {
			w.FinalizedThrough = midday.Add(time.Duration(through) * time.Hour)
		}
		return w
	}
	hours := postgres.Hours{First: midday, End: midday.Add(3 * time.Hour)}

	type want struct {
		written, deleted int64
		rows             []string
	}
	steps := []struct {
		reason  string
		charges []postgres.Charge
		windows []postgres.ChargedWindow
		want    want
	}{
		{
			reason: "New rows are written.",
			charges: []postgres.Charge{
				charge(first, 0, "subscription", 1, true), charge(first, 1, "subscription", 2, false),
				charge(first, 1, "cpuHour", 3, false), charge(second, 0, "subscription", 4, false),
			},
			windows: []postgres.ChargedWindow{window(first, 0, 0), window(second, 0, -1)},
			want: want{written: 4, rows: []string{
				line(first, 0, "subscription", 1, "t"), line(first, 1, "cpuHour", 3, "f"),
				line(first, 1, "subscription", 2, "f"), line(second, 0, "subscription", 4, "f"),
			}},
		},
		{
			reason: "Equal rows are not written again, and a final one is not changed whatever comes.",
			charges: []postgres.Charge{
				charge(first, 0, "subscription", 99, false), charge(first, 1, "subscription", 2, false),
				charge(first, 1, "cpuHour", 3, false), charge(second, 0, "subscription", 4, false),
			},
			windows: []postgres.ChargedWindow{window(first, 0, 0), window(second, 0, -1)},
			want: want{rows: []string{
				line(first, 0, "subscription", 1, "t"), line(first, 1, "cpuHour", 3, "f"),
				line(first, 1, "subscription", 2, "f"), line(second, 0, "subscription", 4, "f"),
			}},
		},
		{
			reason:  "An open row that is not computed again vanishes; a Subscription that was left out keeps its own.",
			charges: []postgres.Charge{charge(first, 1, "subscription", 5, true)},
			windows: []postgres.ChargedWindow{window(first, 1, 1)},
			want: want{written: 1, deleted: 1, rows: []string{
				line(first, 0, "subscription", 1, "t"), line(first, 1, "subscription", 5, "t"), line(second, 0, "subscription", 4, "f"),
			}},
		},
		{
			reason:  "What lies before the window of a Subscription is not spoken for.",
			windows: []postgres.ChargedWindow{window(second, 1, -1)},
			want: want{rows: []string{
				line(first, 0, "subscription", 1, "t"), line(first, 1, "subscription", 5, "t"), line(second, 0, "subscription", 4, "f"),
			}},
		},
	}
	for _, step := range steps {
		written, deleted := batch(t, db.Pool, hours, step.charges, step.windows)
		got := want{written: written, deleted: deleted, rows: dump(t, db.Pool)}
		if diff := cmp.Diff(step.want, got, cmp.AllowUnexported(want{})); diff != "" {
			t.Errorf("%s\n-want, +got:\n%s", step.reason, diff)
		}
	}

	got, err := postgres.Watermarks(t.Context(), db.Pool, billed, []string{first, second})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]time.Time{first: midday.Add(time.Hour)}, got); diff != "" {
		t.Errorf("The watermark of the first rose to its last final hour, the second has none: -want, +got:\n%s", diff)
	}
	batch(t, db.Pool, hours, nil, []postgres.ChargedWindow{window(first, 3, 0)})
	if got, err = postgres.Watermarks(t.Context(), db.Pool, billed, []string{first}); err != nil || !got[first].Equal(midday.Add(time.Hour)) {
		t.Errorf("A watermark never falls: want %s, got %v, %v", midday.Add(time.Hour), got, err)
	}
}

func TestSummaries(t *testing.T) {
	db := pgtest.Database(t)
	monthStart := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	monthEnd := monthStart.AddDate(0, 1, 0)
	if _, err := postgres.EnsureMonths(t.Context(), db.Pool, monthStart.Add(-time.Hour), monthEnd); err != nil {
		t.Fatal(err)
	}
	offering, versions := plantVersions(t, db.Pool, first, second)
	charge := func(uid string, at time.Time, amount int64, currency string) postgres.Charge {
		return postgres.Charge{
			SubscriptionUID: uid, WindowStart: at, Source: "subscription", AmountMicros: amount, Currency: currency, Finalized: true,
			OfferingVersionID: offering, SubscriptionVersionID: versions[uid],
		}
	}
	const large = int64(9_000_000_000_000_000_000)
	batch(t, db.Pool, postgres.Hours{First: monthStart.Add(-time.Hour), End: monthEnd.Add(time.Hour)}, []postgres.Charge{
		charge(first, monthStart.Add(-time.Hour), 1, "USD"), // The month before.
		charge(first, monthStart, 10, "EUR"),
		charge(first, midday.Truncate(24*time.Hour), 100, "EUR"),
		charge(first, midday, 1000, "EUR"),
		charge(first, monthEnd.Add(-time.Hour), 10000, "EUR"), // A close-out counts where its window lies.
		charge(first, monthEnd, 100000, "USD"),
		charge(second, midday, large, ""),
		charge(second, midday.Add(time.Hour), large, "CHF"),
	}, nil)

	day := midday.Truncate(24 * time.Hour)
	var got []string
	for s, err := range postgres.Summaries(t.Context(), db.Pool, postgres.SummaryQuery{
		ClusterID: billed,
		Hour:      postgres.Hours{First: midday, End: midday.Add(time.Hour)},
		Day:       postgres.Hours{First: day, End: day.AddDate(0, 0, 1)},
		Month:     postgres.Hours{First: monthStart, End: monthEnd},
	}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%s %s %s %s %s %q %q %t", s.UID, s.Source, s.Hour, s.Day, s.Month, s.FirstCurrency, s.LastCurrency, s.SomeWithoutCurrency))
	}
	want := []string{
		first + ` subscription 1000 1100 11110 "EUR" "EUR" false`,
		second + ` subscription 9000000000000000000 18000000000000000000 18000000000000000000 "CHF" "CHF" true`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Summaries: -want, +got:\n%s", diff)
	}
}

// TestStagingEndsWithItsSource checks that an error in the middle of a batch
// reaches the caller and leaves the connection usable.
func TestStagingEndsWithItsSource(t *testing.T) {
	db := pgtest.Database(t)
	conn, err := db.Pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	if err := postgres.PrepareCharges(t.Context(), conn); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("the source broke")
	_, err = postgres.StageCharges(t.Context(), conn, func(yield func(postgres.Charge, error) bool) {
		if yield(postgres.Charge{SubscriptionUID: first, WindowStart: midday, Source: "subscription"}, nil) {
			yield(postgres.Charge{}, broken)
		}
	})
	if err == nil || !strings.Contains(err.Error(), broken.Error()) {
		t.Errorf("StageCharges: want %v, got %v", broken, err)
	}
	if _, err := conn.Exec(t.Context(), "SELECT 1"); err != nil {
		t.Errorf("The connection after a broken COPY: %v", err)
	}
}
