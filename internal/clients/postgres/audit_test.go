package postgres_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/testkit/pgtest"
)

// TestAuditOfOne asks for one Subscription among many, over and over, and counts
// what is read of the charges. To audit one must not cost what it costs to audit
// all, whether the server plans each question anew or once.
func TestAuditOfOne(t *testing.T) {
	db := pgtest.Database(t)
	const others, hours, times = 300, 100, 10
	until := midday.Add(hours * time.Hour)
	if _, err := postgres.EnsureMonths(t.Context(), db.Pool, midday, until); err != nil {
		t.Fatal(err)
	}
	offering, versions := plantVersions(t, db.Pool, first)
	_, err := db.Pool.Exec(t.Context(), `
		INSERT INTO subscription_charges (cluster_id, subscription_uid, window_start, window_end, charge_source, amount_micros,
		       finalized, offering_version_id, subscription_version_id, created_at, updated_at)
		SELECT $1, uid, $2::timestamptz + h * interval '1 hour', $2::timestamptz + (h + 1) * interval '1 hour', 'subscription', 7, true, $3, $4, $2, $2
		  FROM (SELECT $5::uuid AS uid UNION ALL SELECT gen_random_uuid() FROM generate_series(1, $6)) AS who, generate_series(0, $7 - 1) AS h`,
		billed, midday, offering, versions[first], first, others, hours)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Pool.Exec(t.Context(), "ANALYZE subscription_charges"); err != nil {
		t.Fatal(err)
	}

	var read int64
	err = pgx.BeginFunc(t.Context(), db.Pool, func(tx pgx.Tx) error {
		for range times {
			subjects, err := postgres.AuditSubjects(t.Context(), tx, billed, first)
			if err != nil {
				return err
			}
			changes, err := postgres.VersionChanges(t.Context(), tx, billed, first, postgres.Hours{First: midday, End: until})
			if err != nil {
				return err
			}
			if len(subjects) != 1 || len(changes) != 1 {
				t.Errorf("want one subject whose rows name one version, got %v and %v", subjects, changes)
			}
		}
		return tx.QueryRow(t.Context(), `
			SELECT sum(seq_tup_read) + sum(idx_tup_fetch) FROM pg_stat_xact_user_tables WHERE relname LIKE 'subscription\_charges\_%'`).Scan(&read)
	})
	if err != nil {
		t.Fatal(err)
	}
	if most := int64(times * 2 * hours); read > most {
		t.Errorf("%d rows were read of %d, want at most %d", read, (others+1)*hours, most)
	}
}

// TestAuditOfAll asks for everybody of whom something is final, and counts what is
// read of the charges: a row or two of each, however long they have been charged.
func TestAuditOfAll(t *testing.T) {
	pool := chargeable(t)
	const crowd, days = 200, 20
	charge := func(cluster, who string, final bool) {
		mustExec(t, pool, `
			INSERT INTO subscription_charges (cluster_id, subscription_uid, window_start, window_end, charge_source, amount_micros,
			       finalized, offering_version_id, subscription_version_id, created_at, updated_at)
			SELECT s.cluster_id, who.uid, h, h + interval '1 hour', 'subscription', 7, $3, (SELECT id FROM offerings WHERE cluster_id = $1), s.id, now(), h
			  FROM (`+who+`) AS who, subscriptions AS s, generate_series($4::timestamptz, $4 + make_interval(days => $5), interval '6 hours') AS h
			 WHERE s.cluster_id = $1 AND s.uid = $2::uuid`, cluster, first, final, spring.First, days)
	}
	charge("east", "SELECT gen_random_uuid() AS uid FROM generate_series(1, 200)", true)
	charge("east", "SELECT '"+first+"'::uuid AS uid", true)
	charge("east", "SELECT '"+second+"'::uuid AS uid", false)
	charge("west", "SELECT gen_random_uuid() AS uid FROM generate_series(1, 200)", true)
	mustExec(t, pool, "INSERT INTO subscription_watermarks VALUES ($1, now(), gen_random_uuid(), 'east')", spring.First)
	mustExec(t, pool, "VACUUM ANALYZE subscription_charges")

	var read int64
	err := pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		subjects, err := postgres.AuditSubjects(t.Context(), tx, "east", "")
		if err != nil {
			return err
		}
		if want := crowd + 2; len(subjects) != want { // The first one, and whom only a watermark knows.
			t.Errorf("want %d subjects, got %d", want, len(subjects))
		}
		for _, s := range subjects {
			if s.UID == second {
				t.Error("one of whom nothing is final is among them")
			}
		}
		return tx.QueryRow(t.Context(), `
			SELECT sum(seq_tup_read) + sum(idx_tup_fetch) FROM pg_stat_xact_user_tables WHERE relname LIKE 'subscription\_charges\_%'`).Scan(&read)
	})
	if err != nil {
		t.Fatal(err)
	}
	if most := int64(4 * crowd); read > most {
		t.Errorf("%d rows of the charges were read, want at most %d", read, most)
	}
}
