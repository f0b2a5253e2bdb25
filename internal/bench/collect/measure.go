package collect

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/provider-finops/provider-finops/internal/bench"
	"github.com/provider-finops/provider-finops/internal/clients/opencost"
	"github.com/provider-finops/provider-finops/internal/clients/postgres"
)

// A rig is everything around the process that is measured.
type rig struct {
	env    *bench.Env
	binary string
	url    string // Of OpenCost and of the API server.
	folder string
	pinned time.Time
	hour   *hourOfItems
}

func measure(ctx context.Context, env *bench.Env) (_ *figures, err error) {
	r := &rig{env: env, pinned: time.Now().UTC().Truncate(time.Hour)}
	if r.folder, err = os.MkdirTemp("", "bench-collect-"); err != nil {
		return nil, fmt.Errorf("cannot make a folder: %w", err)
	}
	defer os.RemoveAll(r.folder) //nolint:errcheck // In the temporary folder.
	r.binary = filepath.Join(r.folder, "provider-finops")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", r.binary, "./cmd/provider").CombinedOutput(); err != nil { //nolint:gosec // Our own.
		return nil, fmt.Errorf("cannot build the product: %w\n%s", err, out)
	}

	r.hour = newHour(env.Scaled(items))
	mux := http.NewServeMux()
	mux.Handle("GET /allocation/compute", r.hour)
	serveAPI(mux)
	server := httptest.NewServer(mux)
	defer server.Close()
	r.url = server.URL
	if err := r.writeKubeconfig(); err != nil {
		return nil, err
	}

	f := &figures{nameBytes: r.hour.nameBytes, itemBytes: r.hour.bytes / int64(env.Scaled(items))}
	if f.decoded, f.decodedBytes, err = r.decode(ctx); err != nil {
		return nil, err
	}
	return f, r.measure(ctx, f)
}

func (r *rig) measure(ctx context.Context, f *figures) error {
	alone, drop, err := r.database(ctx, 0)
	if err != nil {
		return err
	}
	f.single, err = r.collect(ctx, alone, "HOURS_LOOKBACK=0", "MAX_BACKFILL_HOURS=0")
	drop()
	if err != nil {
		return err
	}
	// A machine that others work on is never the same twice, so that everything
	// is done twice, in turn, and the better time counts, for the limit as well.
	for range 2 {
		if err := r.load(ctx, f); err != nil {
			return err
		}
		if err := r.replay(ctx, f); err != nil {
			return err
		}
	}
	return nil
}

// better keeps the quicker of two passes, and the most memory of either.
func better(before, now pass) pass {
	if before.wall == 0 {
		return now
	}
	now.memory = max(now.memory, before.memory)
	if before.wall < now.wall {
		now.wall, now.cpu, now.server = before.wall, before.cpu, before.server
	}
	return now
}

// load collects hours that are final, and copies the same rows.
func (r *rig) load(ctx context.Context, f *figures) error {
	pool, drop, err := r.database(ctx, hours)
	if err != nil {
		return err
	}
	defer drop()
	r.env.Logf("collecting %d hours of %d items", hours, r.env.Scaled(items))
	collected, err := r.collect(ctx, pool, closed...)
	if err != nil {
		return err
	}
	f.closed = better(f.closed, collected)
	if err := r.weigh(ctx, pool, f); err != nil {
		return err
	}

	r.env.Logf("copying the same rows")
	if err := r.keepRows(ctx, pool); err != nil {
		return err
	}
	copied, err := r.bareCopy(ctx)
	f.raw = better(f.raw, copied)
	return err
}

// replay collects hours that stay open, twice.
func (r *rig) replay(ctx context.Context, f *figures) error {
	pool, drop, err := r.database(ctx, hours)
	if err != nil {
		return err
	}
	defer drop()
	r.env.Logf("collecting %d hours that stay open, twice", hours)
	first, err := r.collect(ctx, pool, open...)
	if err != nil {
		return err
	}
	f.first = better(f.first, first)
	once := figures{}
	if err := r.weigh(ctx, pool, &once); err != nil {
		return err
	}
	before, err := tuples(ctx, pool)
	if err != nil {
		return err
	}
	again, err := r.collect(ctx, pool, open...)
	if err != nil {
		return err
	}
	f.replay = better(f.replay, again)
	after, err := tuples(ctx, pool)
	if err != nil {
		return err
	}
	f.inserted += after[0] - before[0]
	f.updated += after[1] - before[1]
	twice := figures{}
	if err := r.weigh(ctx, pool, &twice); err != nil {
		return err
	}
	f.growth = float64(twice.tableBytes) / float64(once.tableBytes)
	return nil
}

// weigh looks at what the rows take.
func (r *rig) weigh(ctx context.Context, pool *pgxpool.Pool, f *figures) error {
	err := pool.QueryRow(ctx, `SELECT (SELECT count(*) FROM provider_allocations), sum(pg_total_relation_size(inhrelid)), sum(pg_relation_size(inhrelid))
		FROM pg_inherits WHERE inhparent = 'provider_allocations'::regclass AND pg_relation_size(inhrelid) > 0`).Scan(&f.rows, &f.tableBytes, &f.heapBytes)
	if err != nil {
		return fmt.Errorf("cannot weigh the table: %w", err)
	}
	if want := int64(hours * r.env.Scaled(items)); f.rows != want {
		return fmt.Errorf("%d rows were collected, want %d", f.rows, want)
	}
	return nil
}

// What a run is told: the documented window and the hours before it; and whether
// hours stay open, so that another run fetches them again.
var (
	closed = []string{"HOURS_LOOKBACK=5", "MAX_BACKFILL_HOURS=" + strconv.Itoa(hours-1)}
	open   = append([]string{"SETTLE_DELAY=1000h"}, closed...)
)

// collect runs the product over all hours that are due.
func (r *rig) collect(ctx context.Context, pool *pgxpool.Pool, variables ...string) (pass, error) {
	if err := exec1(ctx, pool, "CHECKPOINT"); err != nil {
		return pass{}, err
	}
	from, err := position(ctx, pool)
	if err != nil {
		return pass{}, err
	}
	computed := watchServer(ctx, pool)
	p, err := r.run(ctx, pool, variables...)
	p.server = computed()
	if err != nil {
		return pass{}, err
	}
	to, err := position(ctx, pool)
	p.wal = to - from
	return p, err
}

func (r *rig) run(ctx context.Context, pool *pgxpool.Pool, variables ...string) (pass, error) {
	cmd := exec.CommandContext(ctx, r.binary, "--mode=cronjob") //nolint:gosec // Our own.
	cmd.Env = append(os.Environ(),
		"KUBECONFIG="+filepath.Join(r.folder, "kubeconfig"), "COSTJOB_NAMESPACE="+namespace, "COSTJOB_NAME="+costJob,
		"POSTGRES_CONNECTION_STRING="+pool.Config().ConnString(), "OPENCOST_CONNECTION_STRING="+r.url,
		"SCHEDULED_TIMESTAMP="+r.pinned.Format(time.RFC3339),
		"OPENCOST_FETCH_TIMEOUT=10m", "HTTP_CLIENT_TIMEOUT=10m")
	cmd.Env = append(cmd.Env, variables...)
	var log strings.Builder
	cmd.Stdout, cmd.Stderr = &log, &log

	began := time.Now()
	if err := cmd.Start(); err != nil {
		return pass{}, fmt.Errorf("cannot start the collecting process: %w", err)
	}
	peak := watchMemory(cmd.Process.Pid)
	if err := cmd.Wait(); err != nil {
		return pass{}, fmt.Errorf("the collecting process failed: %w\n%s", err, log.String())
	}
	p := pass{wall: time.Since(began), cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), memory: <-peak}
	return p, r.settled(ctx, pool)
}

// watchMemory tells the most memory that a process ever had, once it is gone.
// The kernel keeps that figure for it, so none is missed between two looks; the
// one it hands to the parent would count what the parent had when it forked.
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

// settled waits until the server has counted what the process did: a session
// reports when it ends.
func (r *rig) settled(ctx context.Context, pool *pgxpool.Pool) error {
	for there := true; there; {
		err := pool.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_stat_activity
			WHERE datname = current_database() AND application_name = 'provider-finops allocations')`).Scan(&there)
		if err != nil {
			return fmt.Errorf("cannot wait for the sessions of the process: %w", err)
		}
	}
	return nil
}

// decode reads all answers as the product does and keeps none.
func (r *rig) decode(ctx context.Context) (took time.Duration, read int64, err error) {
	client, err := opencost.New(r.url, opencost.Options{Timeout: 10 * time.Minute})
	if err != nil {
		return 0, 0, err
	}
	began := time.Now()
	for n := range hours {
		h := r.pinned.Add(-time.Duration(n) * time.Hour)
		for _, err := range client.Allocations(ctx, opencost.Query{Start: h, End: h.Add(time.Hour), Aggregate: "namespace,pod,container", Step: "1h"}) {
			if err != nil {
				return 0, 0, err
			}
		}
		read += r.hour.bytes
	}
	return time.Since(began), read, nil
}

// keepRows writes the rows down in the order of their key.
func (r *rig) keepRows(ctx context.Context, from *pgxpool.Pool) (err error) {
	file, err := os.Create(filepath.Join(r.folder, "rows"))
	if err != nil {
		return fmt.Errorf("cannot keep the rows: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return from.AcquireFunc(ctx, func(c *pgxpool.Conn) error {
		_, err := c.Conn().PgConn().CopyTo(ctx, file, "COPY (SELECT * FROM provider_allocations ORDER BY cluster_id, aggregation, hour, namespace, name) TO STDOUT (FORMAT binary)")
		return err
	})
}

// bareCopy copies the rows that were kept into an equal table elsewhere.
func (r *rig) bareCopy(ctx context.Context) (pass, error) {
	file, err := os.Open(filepath.Join(r.folder, "rows"))
	if err != nil {
		return pass{}, fmt.Errorf("cannot read the rows: %w", err)
	}
	defer file.Close() //nolint:errcheck // It was only read.

	pool, drop, err := r.database(ctx, 0)
	if err != nil {
		return pass{}, err
	}
	defer drop()
	if _, err := postgres.EnsureMonths(ctx, pool, r.pinned.Add(-hours*time.Hour), r.pinned); err != nil {
		return pass{}, err
	}
	if err := exec1(ctx, pool, `INSERT INTO pricebooks (cluster_id, namespace, name, uid, generation, currency, content_hash)
		VALUES ('default', 'finops', 'tariff', gen_random_uuid(), 1, 'EUR', 'hash')`); err != nil {
		return pass{}, err
	}
	if err := exec1(ctx, pool, "CHECKPOINT"); err != nil {
		return pass{}, err
	}
	began := time.Now()
	err = pool.AcquireFunc(ctx, func(c *pgxpool.Conn) error {
		_, err := c.Conn().PgConn().CopyFrom(ctx, file, "COPY provider_allocations FROM STDIN (FORMAT binary)")
		return err
	})
	return pass{wall: time.Since(began)}, err
}

// database is a migrated one. A past above zero is how many hours ago somebody
// collected for the last time.
func (r *rig) database(ctx context.Context, past int) (_ *pgxpool.Pool, drop func(), err error) {
	admin, err := pgx.Connect(ctx, r.env.PostgresDSN)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot connect to the server: %w", err)
	}
	defer admin.Close(ctx) //nolint:errcheck // It served its purpose.
	name := fmt.Sprintf("bench_collect_%d_%d", os.Getpid(), time.Now().UnixNano())
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
		again, err := pgx.Connect(context.WithoutCancel(ctx), r.env.PostgresDSN)
		if err != nil {
			r.env.Logf("cannot drop database %s: %v", name, err)
			return
		}
		defer again.Close(context.WithoutCancel(ctx)) //nolint:errcheck // As above.
		if _, err := again.Exec(context.WithoutCancel(ctx), "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			r.env.Logf("cannot drop database %s: %v", name, err)
		}
	}
	if past > 0 {
		_, err = pool.Exec(ctx, `INSERT INTO allocation_hours (cluster_id, aggregation, hour, state, updated_at)
			VALUES ('default', 'namespace,pod,container', $1, 'empty', now())`, r.pinned.Add(-time.Duration(past)*time.Hour))
	}
	return pool, drop, err
}

func (r *rig) writeKubeconfig() error {
	text := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"bench","contexts":[{"name":"bench","context":{"cluster":"bench","user":"bench"}}],`+
		`"clusters":[{"name":"bench","cluster":{"server":%q}}],"users":[{"name":"bench","user":{}}]}`, r.url)
	if err := os.WriteFile(filepath.Join(r.folder, "kubeconfig"), []byte(text), 0o600); err != nil {
		return fmt.Errorf("cannot write the kubeconfig: %w", err)
	}
	return nil
}

// tuples counts what was inserted, and what was updated or deleted, in all of
// the product's tables.
func tuples(ctx context.Context, pool *pgxpool.Pool) (n [2]int64, err error) {
	err = pool.QueryRow(ctx, "SELECT sum(n_tup_ins)::bigint, sum(n_tup_upd + n_tup_del)::bigint FROM pg_stat_user_tables").Scan(&n[0], &n[1])
	if err != nil {
		err = fmt.Errorf("cannot read the server's counters: %w", err)
	}
	return n, err
}

func position(ctx context.Context, pool *pgxpool.Pool) (bytes int64, err error) {
	err = pool.QueryRow(ctx, "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint").Scan(&bytes)
	if err != nil {
		err = fmt.Errorf("cannot read the position in the WAL: %w", err)
	}
	return bytes, err
}

func exec1(ctx context.Context, pool *pgxpool.Pool, sql string) error {
	if _, err := pool.Exec(ctx, sql); err != nil {
		return fmt.Errorf("cannot %s: %w", strings.ToLower(strings.Fields(sql)[0]), err)
	}
	return nil
}
