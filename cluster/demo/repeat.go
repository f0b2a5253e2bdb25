package demo

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// tables are those that the collectors write.
var tables = []string{
	"pricebooks", "provider_allocations", "allocation_hours", "allocation_days",
	"offerings", "subscriptions", "subscription_charges", "subscription_watermarks",
}

// repeat runs both collectors for the last hour again. Nothing may be written:
// not even a row by an equal one, which shows in where rows lie and in which
// transaction wrote them.
func (d *demo) repeat(ctx context.Context) error {
	before, err := d.fingerprints(ctx)
	if err != nil {
		return err
	}
	if err := d.runCollectors(ctx, d.first.Add(runs*time.Hour)); err != nil {
		return err
	}
	after, err := d.fingerprints(ctx)
	if err != nil {
		return err
	}
	rows := 0
	for i, table := range tables {
		if before[i] != after[i] {
			return fmt.Errorf("running both collectors again has changed table %s: it had %d rows, now it has %d, and they are not the same",
				table, before[i].Rows, after[i].Rows)
		}
		rows += after[i].Rows
	}
	d.sayf("Both have run, and none of the %d rows of the %d tables was written anew.", rows, len(tables))
	return nil
}

// A fingerprint tells whether any row of a table has been written since.
type fingerprint struct {
	Rows int    `json:"rows"`
	Sum  string `json:"sum"`
}

func (d *demo) fingerprints(ctx context.Context) ([]fingerprint, error) {
	parts := make([]string, 0, len(tables))
	for i, table := range tables {
		parts = append(parts, fmt.Sprintf(`SELECT %d AS n, count(*) AS rows,
	md5(coalesce(string_agg(concat_ws(' ', tableoid, ctid, xmin), ',' ORDER BY tableoid, ctid), '')) AS sum FROM %s`, i, table))
	}
	var all []fingerprint
	err := d.Psql.Rows(ctx, &all, "SELECT rows, sum FROM ("+strings.Join(parts, " UNION ALL ")+") AS t ORDER BY n")
	if err == nil && len(all) != len(tables) {
		err = fmt.Errorf("cannot compare the tables: got %d fingerprints, want %d", len(all), len(tables))
	}
	return all, err
}
