package migrations_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/provider-finops/provider-finops/internal/testkit/pgtest"
)

// TestHistoryRefuses tries every way we know by which a stored bill, or what
// it was computed from, could be changed.
func TestHistoryRefuses(t *testing.T) {
	cases := map[string]struct {
		reason string
		sql    string
		want   string
	}{
		"UpdateFinalized": {
			reason: "OPEN-CJ-16: a finalized row is final.",
			sql:    "UPDATE subscription_charges SET amount_micros = 2 WHERE finalized",
			want:   "finalized_charge_is_history",
		},
		"Reopen": {
			reason: "A row that could be reopened would not be final.",
			sql:    "UPDATE subscription_charges SET finalized = false WHERE finalized",
			want:   "finalized_charge_is_history",
		},
		"TouchFinalized": {
			reason: "An update that changes nothing still rewrites the row.",
			sql:    "UPDATE subscription_charges SET amount_micros = amount_micros WHERE finalized",
			want:   "finalized_charge_is_history",
		},
		"DeleteFinalized": {
			reason: "Taking a bill away changes it.",
			sql:    "DELETE FROM subscription_charges WHERE finalized",
			want:   "finalized_charge_is_history",
		},
		"ByTheMonth": {
			reason: "The months are tables that can be named.",
			sql:    "UPDATE subscription_charges_2026_11 SET amount_micros = 2 WHERE finalized",
			want:   "finalized_charge_is_history",
		},
		"MoveToAnotherMonth": {
			reason: "An update of the window deletes here and inserts there.",
			sql:    "UPDATE subscription_charges SET window_start = window_start + interval '31 days', window_end = window_end + interval '31 days' WHERE finalized",
			want:   "finalized_charge_is_history",
		},
		"Upsert": {
			reason: "A statement that forgets the condition.",
			sql: `INSERT INTO subscription_charges
				SELECT * FROM subscription_charges WHERE finalized
				ON CONFLICT (cluster_id, subscription_uid, window_start, charge_source) DO UPDATE SET amount_micros = 2`,
			want: "finalized_charge_is_history",
		},
		"Replica": {
			reason: "The mode in which ordinary triggers are silent.",
			sql:    "SET LOCAL session_replication_role = replica; UPDATE subscription_charges SET amount_micros = 2 WHERE finalized",
			want:   "finalized_charge_is_history",
		},
		"TruncateAll": {
			reason: "Row triggers do not see it.",
			sql:    "TRUNCATE subscription_charges",
			want:   "charges_are_not_truncated",
		},
		"TruncateAMonth": {
			reason: "The parent's statement triggers do not see it.",
			sql:    "TRUNCATE subscription_charges_2026_11",
			want:   "charges_are_not_truncated",
		},
		"TruncateWhatItRefersTo": {
			reason: "Reaches the charges by way of the foreign key.",
			sql:    "TRUNCATE offerings CASCADE",
			want:   "charges_are_not_truncated",
		},
		"DeleteVersion": {
			reason: "70.9: versions that a charge names are never removed.",
			sql:    "DELETE FROM offerings",
			want:   "charge_names_its_offering",
		},
		"DeleteSubscriptionVersion": {
			reason: "70.9: versions that a charge names are never removed.",
			sql:    "DELETE FROM subscriptions",
			want:   "charge_names_its_subscription",
		},
		"ChangeRates": {
			reason: "OPEN-DB-4: a changed book is a new row.",
			sql:    "UPDATE pricebooks SET cpu_hour_micros = 1",
			want:   "pricebook_is_append_only",
		},
		"ChangeTerms": {
			reason: "A bill is explained by the terms it names.",
			sql:    `UPDATE offerings SET spec = '{"price": 0}'`,
			want:   "offering_version_is_history",
		},
		"ChangeTenant": {
			reason: "Charges roll up to the tenant of their time.",
			sql:    `UPDATE subscriptions SET namespace_labels = '{"stakater.com/tenant": "other"}'`,
			want:   "subscription_version_is_history",
		},
	}
	db := pgtest.Database(t)
	history(t, db.Pool)
	if err := insert(t, db.Pool, "subscription_charges", good["subscription_charges"]); err != nil {
		t.Fatal(err)
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			conn := connect(t, db.DSN)
			// One message, so one transaction, which SET LOCAL needs.
			_, err := conn.PgConn().Exec(t.Context(), tc.sql).ReadAll()
			if diff := cmp.Diff(tc.want, violated(err)); diff != "" {
				t.Errorf("%s\n%s: %v\n-want, +got:\n%s", tc.reason, tc.sql, err, diff)
			}
		})
	}
}

// TestHistoryAllows runs what has to stay possible, in this order.
func TestHistoryAllows(t *testing.T) {
	db := pgtest.Database(t)
	history(t, db.Pool)
	final := good["subscription_charges"]
	for _, row := range []record{
		final,
		final.with(record{"finalized": false, "charge_source": "ramGbHour"}),
		final.with(record{"finalized": false, "charge_source": "gpuHour"}),
	} {
		if err := insert(t, db.Pool, "subscription_charges", row); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct {
		reason string
		sql    string
		rows   int64
	}{
		{"An open row is computed again.", "UPDATE subscription_charges SET amount_micros = 5 WHERE charge_source = 'ramGbHour'", 1},
		{"And becomes final.", "UPDATE subscription_charges SET finalized = true WHERE charge_source = 'ramGbHour'", 1},
		{"OPEN-CJ-15: an open row may turn out to be none.", "DELETE FROM subscription_charges WHERE charge_source = 'gpuHour'", 1},
		{"A version's object goes.", "UPDATE offerings SET deleted_at = '2026-11-11T00:00:00Z'", 1},
		{"A book that nothing names yet may go.", "DELETE FROM pricebooks WHERE id <> 1", 0},
		{"BETTER-DB-2: a month is dropped whole.", "DROP TABLE subscription_charges_2026_11", 0},
	} {
		tag, err := db.Pool.Exec(t.Context(), step.sql)
		if err != nil || tag.RowsAffected() != step.rows {
			t.Errorf("%s\n%s: want %d rows, got %d, %v", step.reason, step.sql, step.rows, tag.RowsAffected(), err)
		}
	}
}

// TestSummary reads the roll-up in the units of the meters.
func TestSummary(t *testing.T) {
	db := pgtest.Database(t)
	row := good["allocation_days"].with(record{
		"cpu_core_seconds": 5400, "gpu_seconds": 7200, "ram_byte_seconds": 3221225472 * 3600, "pv_byte_hours": 10737418240,
		"network_bytes": 2147483648, "row_count": 24,
	})
	if err := insert(t, db.Pool, "allocation_days", row); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Pool.Exec(t.Context(), "REFRESH MATERIALIZED VIEW CONCURRENTLY mv_provider_allocations_summary"); err != nil {
		t.Fatal(err)
	}
	rows, err := db.Pool.Query(t.Context(), `
		SELECT concat_ws(' ', day, namespace, controller_kind, controller, row_count, trim_scale(cpu_hours),
		                 trim_scale(gpu_hours), trim_scale(ram_gib_hours), trim_scale(pv_gib_hours), trim_scale(network_gib))
		  FROM mv_provider_allocations_summary`)
	if err != nil {
		t.Fatal(err)
	}
	got, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"2026-11-10 team-a deployment web 24 1.5 2 3 10 2"}, got); diff != "" {
		t.Errorf("the view: -want, +got:\n%s", diff)
	}
}
