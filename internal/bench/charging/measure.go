package charging

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/provider-finops/provider-finops/internal/bench"
	"github.com/provider-finops/provider-finops/internal/bench/rig"
	"github.com/provider-finops/provider-finops/internal/finops/collection"
)

// figures are what P3C and P4 share.
type figures struct {
	members, items int
	rows           int64 // Of the first day.

	idle, first, again, large rig.Pass
	statement                 time.Duration
}

func measure(ctx context.Context, env *bench.Env) (*figures, error) {
	r, err := newStand(ctx, env)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	f := &figures{members: env.Scaled(members), items: env.Scaled(hourItems)}
	if err := r.firstDay(ctx, f); err != nil {
		return nil, err
	}
	f.large, err = r.hourOf(ctx, f.items, f.members)
	return f, err
}

// firstDay charges everybody for a day of which nobody has a row, nor a version
// in the mirror, and then once more, which writes nothing. The better of two
// single statements, before and after, is the limit.
func (r *stand) firstDay(ctx context.Context, f *figures) error {
	pool, drop, err := r.database(ctx, hours, f.members, f.members)
	if err != nil {
		return err
	}
	defer drop()
	_, nobody, stop, err := r.serve(0)
	if err != nil {
		return err
	}
	f.idle, err = r.run(ctx, nobody, pool, begin.Add(hours*time.Hour))
	stop()
	if err != nil {
		return err
	}

	api, kubeconfig, stop, err := r.serve(f.members)
	if err != nil {
		return err
	}
	defer stop()
	if f.statement, err = r.oneStatement(ctx, f.members); err != nil {
		return err
	}
	r.Env.Logf("charging %d Subscriptions for %d hours", f.members, hours)
	if f.first, err = r.run(ctx, kubeconfig, pool, begin.Add(hours*time.Hour)); err != nil {
		return err
	}
	if err := pool.QueryRow(ctx, "SELECT count(*) FROM subscription_charges").Scan(&f.rows); err != nil {
		return fmt.Errorf("cannot count the rows: %w", err)
	}
	if want := int64(f.members) * (hours*3 + 1); f.rows != want {
		return fmt.Errorf("%d rows were charged, want %d", f.rows, want)
	}
	if want := int64(f.members); api.patched.Load() != want {
		return fmt.Errorf("%d statuses were written, want %d", api.patched.Load(), want)
	}
	if f.again, err = r.run(ctx, kubeconfig, pool, begin.Add(hours*time.Hour)); err != nil {
		return err
	}
	again, err := r.oneStatement(ctx, f.members)
	f.statement = min(f.statement, again)
	return err
}

// oneStatement writes the same rows of the closed hours without any program, and
// those of the hour in progress, and tells how long that took.
func (r *stand) oneStatement(ctx context.Context, size int) (time.Duration, error) {
	pool, drop, err := r.database(ctx, hours, size, size)
	if err != nil {
		return 0, err
	}
	defer drop()
	if err := mirror(ctx, pool, size); err != nil {
		return 0, err
	}
	r.Env.Logf("writing the same rows by one statement")
	if err := rig.Checkpoint(ctx, pool); err != nil {
		return 0, err
	}
	began := time.Now()
	tag, err := pool.Exec(ctx, `
		INSERT INTO subscription_charges AS c (cluster_id, subscription_uid, window_start, window_end, charge_source, amount_micros,
		       quantity, unit_price_micros, currency, finalized, offering_version_id, subscription_version_id, pricebook_id,
		       created_at, updated_at)
		SELECT 'crowd', u.uid, u.hour, u.hour + interval '1 hour', s.source, floor(s.quantity * s.price), s.quantity, s.price, 'EUR',
		       true, (SELECT max(id) FROM offerings), u.id, s.book, u.hour, u.hour
		  FROM (SELECT m.uid, m.id, a.hour, a.pricebook_id, sum(a.cpu_core_usage_avg) AS cores,
		               sum(a.ram_bytes_usage_avg) / 1073741824 AS gib
		          FROM members AS m
		          JOIN provider_allocations AS a USING (namespace)
		         WHERE a.cluster_id = 'crowd' AND a.aggregation = $1
		         GROUP BY m.uid, m.id, a.hour, a.pricebook_id) AS u
		  JOIN pricebooks AS p ON p.cluster_id = 'crowd' AND p.id = u.pricebook_id,
		       LATERAL (VALUES ('subscription', 1::numeric, 1000::bigint, NULL::bigint),
		                       ('cpuHour', u.cores, p.cpu_hour_micros, p.id),
		                       ('ramGbHour', u.gib, p.ram_gb_hour_micros, p.id)) AS s (source, quantity, price, book)
		ON CONFLICT (cluster_id, subscription_uid, window_start, charge_source) DO UPDATE
		   SET amount_micros = excluded.amount_micros
		 WHERE NOT c.finalized`, collection.DefaultAggregation)
	took := time.Since(began)
	if err != nil {
		return 0, fmt.Errorf("cannot charge by one statement: %w", err)
	}
	if want := int64(size * hours * 3); tag.RowsAffected() != want {
		return 0, fmt.Errorf("one statement wrote %d rows, want %d", tag.RowsAffected(), want)
	}
	return took, nil
}

// mirror stores a version of everybody, and a table that says what each may be
// charged for.
func mirror(ctx context.Context, pool *pgxpool.Pool, size int) error {
	for _, sql := range []string{
		`INSERT INTO offerings (cluster_id, namespace, name, uid, generation, content_hash, valid_from, spec)
		 VALUES ('crowd', 'catalogue', 'both', gen_random_uuid(), 1, 'planted', '2026-03-05T00:00:00Z', '{}')`,
		fmt.Sprintf(`INSERT INTO subscriptions (cluster_id, namespace, name, uid, generation, content_hash, valid_from, offering_namespace,
		        offering_name, spec)
		 SELECT 'crowd', 'crowd', 'member-' || n, ('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid, 1, 'planted',
		        '2026-03-05T00:00:00Z', 'catalogue', 'both', '{}'
		   FROM generate_series(0, %d - 1) AS n`, size),
		`CREATE TABLE members AS SELECT id, uid, 'ns-' || substring(name FROM 8) AS namespace FROM subscriptions`,
		`ANALYZE members`,
	} {
		if _, err := pool.Exec(ctx, sql); err != nil {
			return fmt.Errorf("cannot plant the members: %w", err)
		}
	}
	return nil
}
