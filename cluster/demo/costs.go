package demo

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"
)

// currency writes micros as an amount with all its digits.
func currency(micros int64) string {
	if micros == 0 {
		return "-"
	}
	return fmt.Sprintf("%d.%06d", micros/1_000_000, micros%1_000_000)
}

// showCosts shows status.costs of every Subscription as a table.
func (d *demo) showCosts(ctx context.Context) error {
	book, err := d.priceBook(ctx)
	if err != nil {
		return err
	}
	d.typed("kubectl get " + subscriptionKind + " -n " + tenant + " -o yaml   # status.costs, as a table, in " + book.Spec.Currency)
	var table strings.Builder
	columns := tabwriter.NewWriter(&table, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(columns, "SUBSCRIPTION\tBUCKET\tFROM\tUNTIL\tSOURCE\tCURRENT\tPROJECTED\t")
	for _, name := range []string{parent, child} {
		s, err := d.subscription(ctx, name)
		if err != nil {
			return err
		}
		if len(s.Status.Costs) != 3 {
			return fmt.Errorf("subscription %q has %d cost buckets, want hour, day and month", name, len(s.Status.Costs))
		}
		for _, b := range s.Status.Costs {
			writeBucket(columns, name, b)
		}
	}
	if err := columns.Flush(); err != nil {
		return err
	}
	d.printed(table.String())
	return nil
}

func writeBucket(columns *tabwriter.Writer, name string, b bucket) {
	const instant = "01-02 15:04"
	_, _ = fmt.Fprintf(columns, "%s\t%s\t%s\t%s\ttotal\t%s\t%s\t\n", name, b.Granularity, b.Start.UTC().Format(instant),
		b.EndExclusive.UTC().Format(instant), currency(b.Current), currency(b.Projected))
	for _, entry := range b.Breakdown {
		_, _ = fmt.Fprintf(columns, "\t\t\t\t%s\t%s\t%s\t\n", entry.Name, currency(entry.Current), currency(entry.Projected))
	}
}

// chargesByMeter has a line for each Subscription and hour, a column for each meter.
const chargesByMeter = `
SELECT s.name AS subscription,
       to_char(c.window_start AT TIME ZONE 'UTC', 'HH24:MI') AS hour,
       max(amount_micros / 1e6) FILTER (WHERE charge_source = 'subscription')::numeric(12,6) AS fee,
       max(amount_micros / 1e6) FILTER (WHERE charge_source = 'cpuHour')::numeric(12,6)      AS cpu,
       max(amount_micros / 1e6) FILTER (WHERE charge_source = 'ramGbHour')::numeric(12,6)    AS ram,
       max(amount_micros / 1e6) FILTER (WHERE charge_source = 'pvGbHour')::numeric(12,6)     AS volumes,
       max(amount_micros / 1e6) FILTER (WHERE charge_source = 'networkGb')::numeric(12,6)    AS network,
       bool_and(finalized) AS final
  FROM subscription_charges c
  JOIN subscriptions s ON s.cluster_id = c.cluster_id AND s.id = c.subscription_version_id
 GROUP BY s.name, c.window_start
 ORDER BY s.name, c.window_start`

func (d *demo) showCharges(ctx context.Context) error {
	return d.query(ctx, chargesByMeter)
}

// query shows a statement and its rows.
func (d *demo) query(ctx context.Context, sql string) error {
	sql = strings.TrimSpace(sql)
	d.typed(`psql "$DSN" -c "` + sql + `"`)
	text, err := d.Psql.Run(ctx, sql)
	d.printed(text)
	return err
}

// showBill shows what is left of a Subscription that has gone: its charges.
func (d *demo) showBill(ctx context.Context, s subscription) error {
	d.blank()
	d.sayf("The object is gone; what it owes stays, by its uid. Its last tick began at %s and is charged",
		lastTick(s).Format("15:04:05"))
	d.sayf("in full, in advance: the row of %s was written before the release.", lastTick(s).Add(time.Hour).Format("15:00"))
	return d.query(ctx, fmt.Sprintf(`
SELECT charge_source, count(*) FILTER (WHERE amount_micros > 0) AS hours, (sum(amount_micros) / 1e6)::numeric(12,6) AS amount, bool_and(finalized) AS final
  FROM subscription_charges
 WHERE subscription_uid = '%s'
 GROUP BY charge_source
 ORDER BY charge_source`, s.Metadata.UID))
}

// lastTick is when the tick began in which the Subscription ended; its period is an hour.
func lastTick(s subscription) time.Time {
	active := s.Status.DeactivatedAt.Sub(s.Status.ActivatedAt)
	return s.Status.ActivatedAt.UTC().Add(active.Truncate(time.Hour))
}
