package charging

import (
	"context"
	"fmt"
	"net/http/httptest"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/provider-finops/provider-finops/internal/bench"
	"github.com/provider-finops/provider-finops/internal/bench/rig"
	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/finops/collection"
)

// A stand is what the binary is run on.
type stand struct{ *rig.Rig }

func newStand(ctx context.Context, env *bench.Env) (*stand, error) {
	r, err := rig.New(ctx, env, "charging")
	return &stand{r}, err
}

// run runs the binary for an hour, by a clock that stands a few seconds after it.
func (r *stand) run(ctx context.Context, kubeconfig string, pool *pgxpool.Pool, pinned time.Time) (rig.Pass, error) {
	if err := rig.Checkpoint(ctx, pool); err != nil {
		return rig.Pass{}, err
	}
	offset := time.Until(pinned.Add(7 * time.Second)).Round(time.Second)
	return r.Run(ctx, []string{"--mode=collectionjob", "--clock-offset=" + offset.String()},
		"KUBECONFIG="+kubeconfig, "CLUSTER_ID="+crowd, "POSTGRES_CONNECTION_STRING="+pool.Config().ConnString(),
		"SCHEDULED_TIMESTAMP="+pinned.Format(time.RFC3339))
}

// serve is an API server with so many members.
func (r *stand) serve(size int) (api *crowdAPI, kubeconfig string, stop func(), err error) {
	api = &crowdAPI{size: size}
	server := httptest.NewServer(api.handler())
	kubeconfig, err = r.Kubeconfig(server.URL)
	return api, kubeconfig, server.Close, err
}

// database is a migrated one with measured hours from begin on: so many rows in
// each, spread over the namespaces of the members.
func (r *stand) database(ctx context.Context, measured, items, size int) (_ *pgxpool.Pool, drop func(), err error) {
	return database(ctx, r.Env, measured, items, size)
}

func database(ctx context.Context, env *bench.Env, measured, items, size int) (_ *pgxpool.Pool, drop func(), err error) {
	pool, drop, err := rig.Database(ctx, env, "charging")
	if err != nil {
		return nil, nil, err
	}
	if err := plant(ctx, pool, measured, items, size); err != nil {
		drop()
		return nil, nil, err
	}
	return pool, drop, nil
}

func plant(ctx context.Context, pool *pgxpool.Pool, measured, items, size int) error {
	last := begin.Add(time.Duration(measured-1) * time.Hour)
	if _, err := postgres.EnsureMonths(ctx, pool, begin, last.Add(2*time.Hour)); err != nil {
		return err
	}
	_, err := pool.Exec(ctx, `
		INSERT INTO pricebooks (cluster_id, namespace, name, uid, generation, currency, content_hash, cpu_hour_micros, ram_gb_hour_micros)
		VALUES ('crowd', 'finops', 'tariff', gen_random_uuid(), 1, 'EUR', 'planted', 20000, 4000)`)
	if err != nil {
		return fmt.Errorf("cannot plant a price book: %w", err)
	}
	_, err = pool.Exec(ctx, `
		INSERT INTO provider_allocations (cluster_id, aggregation, hour, namespace, name, pod, controller, controller_kind, alloc_start,
		       alloc_end, collected_at, is_finalized, cpu_core_usage_avg, ram_bytes_usage_avg, pricebook_id, currency)
		SELECT 'crowd', $1, h, 'ns-' || n % $5::int, 'ns-' || n % $5::int || '/api-' || n || '/main', 'api-' || n, 'api', 'deployment',
		       h, h + interval '1 hour', h, true, (n % 800) / 100.0 + 0.00123, 3221225472 + n, (SELECT id FROM pricebooks), 'EUR'
		  FROM generate_series($2::timestamptz, $3::timestamptz, interval '1 hour') AS h,
		       generate_series(0, $4::int - 1) AS n`, collection.DefaultAggregation, begin, last, items, max(size, 1))
	if err != nil {
		return fmt.Errorf("cannot plant allocations: %w", err)
	}
	if _, err := pool.Exec(ctx, "ANALYZE provider_allocations"); err != nil {
		return fmt.Errorf("cannot analyze the allocations: %w", err)
	}
	return nil
}
