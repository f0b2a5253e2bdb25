package charging

import (
	"context"
	"fmt"
	"net/http/httptest"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/jackc/pgx/v5"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/bench"
	"github.com/provider-finops/provider-finops/internal/jobs/charge"
)

// few is the number of Subscriptions that a large number is compared with.
const few = 10

// statements counts what an hourly run sends to the database.
func statements(ctx context.Context, env *bench.Env) (bench.Measure, error) {
	size := env.Scaled(members)
	small, err := countStatements(ctx, env, few)
	if err != nil {
		return bench.Measure{}, err
	}
	large, err := countStatements(ctx, env, size)
	if err != nil {
		return bench.Measure{}, err
	}
	if small != large {
		return bench.Measure{}, fmt.Errorf("%d statements for %d Subscriptions, %d for %d", small, few, large, size)
	}
	const allowed = 30 + 5*2
	return bench.Measure{
		Value: float64(large), Limit: allowed, Unit: "statements",
		Notes: []string{fmt.Sprintf("the same for %d and for %d Subscriptions", few, size)},
	}, nil
}

// A tracer counts statements.
type tracer struct{ n atomic.Int64 }

func (t *tracer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	t.n.Add(1)
	return ctx
}

func (*tracer) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (t *tracer) TraceCopyFromStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceCopyFromStartData) context.Context {
	t.n.Add(1)
	return ctx
}

func (*tracer) TraceCopyFromEnd(context.Context, *pgx.Conn, pgx.TraceCopyFromEndData) {}

// countStatements charges the first hour and then counts the statements of the
// run for the next one.
func countStatements(ctx context.Context, env *bench.Env, size int) (int64, error) {
	pool, drop, err := database(ctx, env, 3, size, size)
	if err != nil {
		return 0, err
	}
	defer drop()
	server := httptest.NewServer((&crowdAPI{size: size}).handler())
	defer server.Close()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return 0, fmt.Errorf("cannot register the API's types: %w", err)
	}
	kube, err := client.New(&rest.Config{Host: server.URL, QPS: -1}, client.Options{Scheme: scheme})
	if err != nil {
		return 0, fmt.Errorf("cannot make a client: %w", err)
	}

	counter := &tracer{}
	var before int64
	for _, pinned := range []time.Time{begin.Add(time.Hour), begin.Add(2 * time.Hour)} {
		settings, err := charge.FromEnvironment(func(name string) string {
			return map[string]string{
				"POSTGRES_CONNECTION_STRING": pool.Config().ConnString(),
				"CLUSTER_ID":                 crowd, "SCHEDULED_TIMESTAMP": pinned.Format(time.RFC3339),
			}[name]
		})
		if err != nil {
			return 0, err
		}
		settings.Database.Tracer = counter
		before = counter.n.Load()
		err = charge.Run(ctx, settings, charge.Dependencies{
			Client: kube, Clock: clocktesting.NewFakePassiveClock(pinned), Log: logr.Discard(),
		})
		if err != nil {
			return 0, err
		}
	}
	return counter.n.Load() - before, nil
}
