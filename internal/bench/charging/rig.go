package charging

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/provider-finops/provider-finops/internal/bench"
	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/finops/collection"
)

// A pass is one run of the process.
type pass struct {
	wall   time.Duration
	memory int64 // The most it ever had, in bytes.
}

// A rig is the product's binary and a folder to work in.
type rig struct {
	env    *bench.Env
	folder string
	binary string
}

func newRig(ctx context.Context, env *bench.Env) (*rig, error) {
	folder, err := os.MkdirTemp("", "bench-charging-")
	if err != nil {
		return nil, fmt.Errorf("cannot make a folder: %w", err)
	}
	r := &rig{env: env, folder: folder, binary: filepath.Join(folder, "provider-finops")}
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", r.binary, "./cmd/provider") //nolint:gosec // Our own.
	build.Env = append(os.Environ(), "CGO_ENABLED=0")                                                                 // As it is shipped.
	if out, err := build.CombinedOutput(); err != nil {
		r.close()
		return nil, fmt.Errorf("cannot build the product: %w\n%s", err, out)
	}
	return r, nil
}

func (r *rig) close() {
	if err := os.RemoveAll(r.folder); err != nil {
		r.env.Logf("cannot remove %s: %v", r.folder, err)
	}
}

// kubeconfig writes how an API server without any authentication is reached.
func (r *rig) kubeconfig(url string) (string, error) {
	file := filepath.Join(r.folder, "kubeconfig")
	text := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"bench","contexts":[{"name":"bench","context":{"cluster":"bench","user":"bench"}}],`+
		`"clusters":[{"name":"bench","cluster":{"server":%q}}],"users":[{"name":"bench","user":{}}]}`, url)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return "", fmt.Errorf("cannot write the kubeconfig: %w", err)
	}
	return file, nil
}

// run runs the binary for an hour, by a clock that stands a few seconds after it.
func (r *rig) run(ctx context.Context, kubeconfig string, pool *pgxpool.Pool, pinned time.Time) (pass, error) {
	if _, err := pool.Exec(ctx, "CHECKPOINT"); err != nil {
		return pass{}, fmt.Errorf("cannot write a checkpoint: %w", err)
	}
	offset := time.Until(pinned.Add(7 * time.Second)).Round(time.Second)
	cmd := exec.CommandContext(ctx, r.binary, "--mode=collectionjob", "--clock-offset="+offset.String()) //nolint:gosec // Our own.
	cmd.Env = append(os.Environ(),
		"KUBECONFIG="+kubeconfig, "CLUSTER_ID="+crowd, "POSTGRES_CONNECTION_STRING="+pool.Config().ConnString(),
		"SCHEDULED_TIMESTAMP="+pinned.Format(time.RFC3339))
	var log strings.Builder
	cmd.Stdout, cmd.Stderr = &log, &log

	began := time.Now()
	if err := cmd.Start(); err != nil {
		return pass{}, fmt.Errorf("cannot start the charging process: %w", err)
	}
	peak := watchMemory(cmd.Process.Pid)
	if err := cmd.Wait(); err != nil {
		return pass{}, fmt.Errorf("the charging process failed: %w\n%s", err, log.String())
	}
	return pass{wall: time.Since(began), memory: <-peak}, nil
}

// watchMemory tells the most memory that a process ever had, once it is gone.
// The kernel keeps that figure for it, so none is missed between two looks.
func watchMemory(pid int) <-chan int64 {
	peak := make(chan int64, 1)
	go func() {
		var most int64
		for tick := time.NewTicker(5 * time.Millisecond); ; <-tick.C {
			status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
			_, after, found := strings.Cut(string(status), "VmHWM:")
			if err != nil || !found {
				peak <- most // It has ended, or is a name that waits to be collected.
				tick.Stop()
				return
			}
			var kilobytes int64
			if _, err := fmt.Sscanf(after, "%d kB", &kilobytes); err == nil {
				most = max(most, kilobytes<<10)
			}
		}
	}()
	return peak
}

// serve is an API server with so many members.
func (r *rig) serve(size int) (api *crowdAPI, kubeconfig string, stop func(), err error) {
	api = &crowdAPI{size: size}
	server := httptest.NewServer(api.handler())
	kubeconfig, err = r.kubeconfig(server.URL)
	return api, kubeconfig, server.Close, err
}

// database is a migrated one with measured hours from begin on: so many rows in
// each, spread over the namespaces of the members.
func (r *rig) database(ctx context.Context, measured, items, size int) (_ *pgxpool.Pool, drop func(), err error) {
	return database(ctx, r.env, measured, items, size)
}

func database(ctx context.Context, env *bench.Env, measured, items, size int) (_ *pgxpool.Pool, drop func(), err error) {
	admin, err := pgx.Connect(ctx, env.PostgresDSN)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot connect to the server: %w", err)
	}
	defer admin.Close(ctx) //nolint:errcheck // It served its purpose.
	name := fmt.Sprintf("bench_charging_%d_%d", os.Getpid(), time.Now().UnixNano())
	if _, err := admin.Exec(ctx, "CREATE DATABASE "+name); err != nil {
		return nil, nil, fmt.Errorf("cannot make a database: %w", err)
	}
	config := admin.Config().Copy()
	dsn := fmt.Sprintf("host=%s port=%d user=%s password='%s' dbname=%s sslmode=disable", config.Host, config.Port, config.User, config.Password, name)
	pool, err := postgres.Open(ctx, postgres.Config{DSN: dsn})
	if err != nil {
		return nil, nil, err
	}
	drop = func() {
		pool.Close()
		ctx := context.WithoutCancel(ctx)
		again, err := pgx.Connect(ctx, env.PostgresDSN)
		if err == nil {
			_, err = again.Exec(ctx, "DROP DATABASE "+name+" WITH (FORCE)")
			_ = again.Close(ctx)
		}
		if err != nil {
			env.Logf("cannot drop database %s: %v", name, err)
		}
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
