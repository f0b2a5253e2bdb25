package audit

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math/big"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/finops/charge"
	"github.com/provider-finops/provider-finops/internal/finops/hour"
	"github.com/provider-finops/provider-finops/internal/finops/money"
	"github.com/provider-finops/provider-finops/internal/finops/pricing"
	"github.com/provider-finops/provider-finops/internal/jobs/inputs"
)

// A Question names the charges that are to be explained.
type Question struct {
	Subscription string // NAMESPACE/NAME, or a uid.
	Period       Period
	Source       pricing.Meter // Empty for all.
}

// Explain writes for people where a figure comes from: of a month or a day, the
// hours that it is the sum of; of an hour, how each row was computed, down to the
// allocation rows.
func Explain(ctx context.Context, s Settings, q Question, out io.Writer) error {
	pool, err := open(ctx, s)
	if err != nil {
		return err
	}
	defer pool.Close()

	who, namesakes, err := find(ctx, pool, s.ClusterID, q.Subscription)
	if err != nil {
		return err
	}
	rows, err := chargesOf(ctx, pool, s.ClusterID, who.UID, q)
	if err != nil {
		return err
	}

	p := &printer{out: out}
	p.heading(who, namesakes, q)
	if len(rows) == 0 {
		p.linef("No charges.")
		return p.err
	}
	if !q.Period.isHour() {
		p.sums(rows, q.Period)
		return p.err
	}
	e := explanation{Settings: s, pool: pool, printer: p}
	for _, row := range rows {
		if err := e.row(ctx, row); err != nil {
			return err
		}
	}
	return p.err
}

// find looks for a Subscription, living or not. Of several that have held the
// name it takes the one that came last.
func find(ctx context.Context, db postgres.DB, clusterID, text string) (postgres.NamedSubscription, []postgres.NamedSubscription, error) {
	namespace, name, named := strings.Cut(text, "/")
	uid := ""
	if !named {
		namespace, uid = "", text
	}
	found, err := postgres.NamedSubscriptions(ctx, db, clusterID, namespace, name, uid)
	if err != nil {
		return postgres.NamedSubscription{}, nil, err
	}
	if len(found) == 0 {
		return postgres.NamedSubscription{}, nil, fmt.Errorf("cannot find subscription %q in cluster %q: neither NAMESPACE/NAME nor a uid that is recorded", text, clusterID)
	}
	slices.SortFunc(found, func(a, b postgres.NamedSubscription) int { return cmp.Compare(b.ID, a.ID) })
	return found[0], found[1:], nil
}

func chargesOf(ctx context.Context, db postgres.DB, clusterID, uid string, q Question) ([]postgres.RecordedCharge, error) {
	var rows []postgres.RecordedCharge
	query := postgres.ChargeQuery{ClusterID: clusterID, UID: uid, Hours: postgres.Hours{First: q.Period.Start, End: q.Period.End}}
	for row, err := range postgres.RecordedCharges(ctx, db, query) {
		if err != nil {
			return nil, err
		}
		if q.Source == "" || row.Source == string(q.Source) {
			rows = append(rows, row)
		}
	}
	order := charge.Sources()
	slices.SortStableFunc(rows, func(a, b postgres.RecordedCharge) int {
		return cmp.Or(
			a.Window.Compare(b.Window),
			cmp.Compare(slices.Index(order, pricing.Meter(a.Source)), slices.Index(order, pricing.Meter(b.Source))),
		)
	})
	return rows, nil
}

// An explanation is of the rows of one hour.
type explanation struct {
	*printer
	Settings

	pool *pgxpool.Pool
}

// row explains one row from the versions that it names.
func (e explanation) row(ctx context.Context, row postgres.RecordedCharge) error {
	subjects, err := postgres.AuditSubjects(ctx, e.pool, e.ClusterID, row.UID)
	if err != nil {
		return err
	}
	if len(subjects) == 0 { // Nothing of it is final yet, so nobody audits it.
		if subjects, err = recorded(ctx, e.pool, e.ClusterID, row.UID); err != nil {
			return err
		}
	}
	named := []postgres.VersionChange{{
		UID: row.UID, FirstWindow: row.Window, SubscriptionVersionID: row.SubscriptionVersionID, OfferingVersionID: row.OfferingVersionID,
	}}
	parts := tenuresOf(subjects[0], named, postgres.Hours{First: row.Window, End: row.Window.Add(hour.Length)})
	if err := bind(ctx, e.pool, e.ClusterID, parts); err != nil {
		return err
	}
	offerings, err := postgres.OfferingVersions(ctx, e.pool, e.ClusterID, []int64{row.OfferingVersionID})
	if err != nil {
		return err
	}
	details, err := detailsOf(row)
	if err != nil {
		return err
	}

	e.rowHeading(row, offerings)
	if row.Source == string(pricing.MeterSubscription) {
		return e.feeRow(parts[0], row, details)
	}
	return e.usageRow(ctx, parts[0], row)
}

// recorded is a Subscription of which nothing is final.
func recorded(ctx context.Context, db postgres.DB, clusterID, uid string) ([]postgres.AuditSubject, error) {
	named, err := postgres.NamedSubscriptions(ctx, db, clusterID, "", "", uid)
	if err != nil || len(named) == 0 {
		return nil, errOr(err, fmt.Errorf("cannot find subscription uid %q", uid))
	}
	n := named[0]
	return []postgres.AuditSubject{{
		UID: n.UID, Namespace: n.Namespace, Name: n.Name, VersionID: n.ID, ActivatedAt: n.ActivatedAt, DeactivatedAt: n.DeactivatedAt,
	}}, nil
}

func errOr(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}

func (e explanation) feeRow(t *tenure, row postgres.RecordedCharge, details charge.Details) error {
	terms, fee, some := t.bill.Fee()
	if !some {
		e.linef("  The Offering has no fee, so there should be no such row.")
		return e.err
	}
	e.linef("  Price       %s a tick, period %s, aligned to %s", e.micros(int64(terms.PriceMicros), row.Currency), terms.Period, terms.Period.Alignment())
	end := row.Window.Add(hour.Length)
	before := fee.Ticks(row.Window)
	if snap, ended := fee.Snap(); ended {
		e.linef("  Ended       %s, charged up to the boundary %s", instant(t.life.DeactivatedAt), instant(snap))
		end = earliest(end, snap)
	}
	if !row.Finalized && row.AmountMicros == 0 && fee.Ticks(end) > before {
		e.linef("  Boundaries  the hour has not closed, so none counts yet")
		return e.err
	}
	count := max(0, fee.Ticks(end)-before)
	e.linef("  Boundaries  %d in (%s, %s]", count, instant(row.Window), instant(row.Window.Add(hour.Length)))
	const maxBoundaries = 10
	for n := before + 1; n <= min(before+count, before+maxBoundaries); n++ {
		e.linef("              %s  the %s since activation", instant(fee.Boundary(n)), ordinal(n))
	}
	if details.ProratedSeconds > 0 {
		e.linef("  Opening     the first one counts for the %d seconds since activation at %s, rounded down", details.ProratedSeconds, instant(t.life.ActivatedAt))
	}
	if details.CloseOut {
		e.linef("  Closed out  the row was written ahead, when the Subscription was let go")
	}
	due, err := fee.Due(row.Window, row.Window.Add(hour.Length))
	if err != nil {
		return err
	}
	e.verdict(row, int64(due.Amount))
	return e.err
}

// maxLines is how many allocation rows are written out; all are counted.
const maxLines = 200

func (e explanation) usageRow(ctx context.Context, t *tenure, row postgres.RecordedCharge) error {
	meter, some := t.bill.Meter(pricing.Meter(row.Source))
	if !some {
		e.linef("  Neither terms nor sources ask for this meter, so there should be no such row.")
		return e.err
	}
	stored, err := postgres.RecordedBooks(ctx, e.pool, e.ClusterID)
	if err != nil {
		return err
	}
	books := inputs.Books(stored)
	var sources []charge.Source
	err = eachSources(ctx, e.pool, e.ClusterID, []int64{t.versionID}, func(_ int64, all []charge.Source) { sources = all })
	if err != nil {
		return err
	}
	e.linef("  Margin      %s", margin(meter.Margin))

	quantity, amount := new(big.Rat), new(big.Rat)
	var lines, unrated int
	scope := postgres.Scope{ClusterID: e.ClusterID, Aggregation: e.Aggregation}
	for m, err := range postgres.Measurements(ctx, e.pool, scope, row.Window) {
		if err != nil {
			return err
		}
		measured := inputs.Measurement(m)
		if !measured.SelectedBy(sources) {
			continue
		}
		l, err := t.bill.Line(measured, row.Window, meter, books)
		if err != nil {
			return err
		}
		if !l.Rated {
			unrated++
		} else if l.SpanSeconds > 0 {
			quantity.Add(quantity, l.Quantity)
			amount.Add(amount, l.Amount)
		}
		if lines++; lines <= maxLines {
			e.measured(m.Name, m.Namespace, l, books[measured.BookID].Currency)
		}
	}
	if lines > maxLines {
		e.linef("              ... and %d more", lines-maxLines)
	}
	e.linef("  Rows        %d allocation rows of hour %s, %d of them without a rate, which are not billed", lines, instant(row.Window), unrated)
	if err := e.claims(ctx, scope, row); err != nil {
		return err
	}
	e.linef("  Quantity    %s", decimal(quantity))
	e.linef("  Exact       %s micros, rounded down once", decimal(amount))
	micros, err := money.Floor(amount)
	if err != nil {
		return err
	}
	e.verdict(row, int64(micros))
	return e.err
}

// claims says how much of the meter's usage, in all of the cluster, is billed to
// nobody in the hour of a row.
func (e explanation) claims(ctx context.Context, scope postgres.Scope, row postgres.RecordedCharge) error {
	claims, err := postgres.UsageClaims(ctx, e.pool, scope, row.Window)
	if err != nil {
		return err
	}
	for _, c := range claims {
		if c.Meter == row.Source {
			e.linef("  Cluster     %s measured in the hour, of which nobody claims %s; %s are claimed and have no rate",
				decimal(c.Measured), decimal(c.Unclaimed), decimal(c.Unrated))
		}
	}
	return nil
}
