package database

import (
	"context"
	"math/big"
	"sync"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"

	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/finops/collection"
	"github.com/provider-finops/provider-finops/internal/finops/hour"
	"github.com/provider-finops/provider-finops/internal/finops/tick"
)

const (
	// watchEvery is how often the ledger is looked at, and watchTimeout how long
	// a look may take.
	watchEvery   = time.Minute
	watchTimeout = 20 * time.Second
)

var (
	boundary = prometheus.NewDesc("finops_allocation_boundary_timestamp_seconds",
		"The hour up to which usage is measured for good: metered charges before it are final.", nil, nil)

	gap = prometheus.NewDesc("finops_allocation_gap_hours",
		"How many hours that have closed are not measured for good, of those that a run may still fetch.", nil, nil)

	lag = prometheus.NewDesc("finops_charge_watermark_lag_seconds",
		"How far behind now the slowest Subscription is settled, of those that are still charged.", nil, nil)

	late = prometheus.NewDesc("finops_allocation_late_change_total",
		"How many rows OpenCost told otherwise once they were final. They stand as they were.", nil, nil)

	unclaimed = prometheus.NewDesc("finops_usage_unclaimed_ratio",
		"How much of what was measured in the last final hour no Subscription claims, by meter.", []string{"meter"}, nil)

	unrated = prometheus.NewDesc("finops_usage_unrated_ratio",
		"How much of what was measured in the last final hour is claimed but has no rate, by meter.", []string{"meter"}, nil)
)

// A Watcher reads from the database how far the collection of a cluster has come,
// and its charges. It tells nothing while it cannot look: an old figure would hide an outage.
type Watcher struct {
	connection *Connection
	scope      postgres.Scope
	limits     collection.Limits
	clock      clock.PassiveClock
	log        logging.Logger

	mu    sync.Mutex
	lives func(context.Context) (map[string]tick.Life, bool) // Nil until somebody tells.
	known bool
	now   figures
}

type figures struct {
	boundary time.Time // Zero while nothing is measured for good.
	gap      int
	lag      *time.Duration // Nil while it is not known.
	late     int64
	claims   []postgres.UsageClaim // Of the last hour that a charge run has counted.
}

// NewWatcher returns a watcher of the rows that the pods of this installation
// write. Of the limits those count that say how far back a run looks.
func NewWatcher(c *Connection, clusterID string, l collection.Limits, now clock.PassiveClock, log logging.Logger) *Watcher {
	scope := postgres.Scope{ClusterID: clusterID, Aggregation: collection.DefaultAggregation}
	return &Watcher{connection: c, scope: scope, limits: l, clock: now, log: log}
}

// Register makes the figures known to a registry. Of several watchers in one
// process the first one tells.
func (w *Watcher) Register(registry prometheus.Registerer) error {
	err := registry.Register(w)
	var again prometheus.AlreadyRegisteredError
	if err != nil && !errors.As(err, &again) {
		return errors.Wrap(err, "cannot register the metrics of the collection")
	}
	return nil
}

// Start looks every minute, as soon as the database can be used. It ends with
// its context.
func (w *Watcher) Start(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-w.connection.Ready():
	}
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		if err := w.look(ctx); err != nil {
			w.log.Info("cannot read how far the collection has come", "error", err.Error())
		}
	}, watchEvery)
	return nil
}

// NeedLeaderElection is true: one replica that asks is enough.
func (w *Watcher) NeedLeaderElection() bool { return true }

func (w *Watcher) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, watchTimeout)
	defer cancel()
	f, err := w.read(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.known, w.now = err == nil, f
	return err
}

func (w *Watcher) read(ctx context.Context) (figures, error) {
	pool, err := w.connection.Pool()
	if err != nil {
		return figures{}, err
	}
	now := w.clock.Now()
	present := hour.Of(now)
	evidence, err := postgres.CollectionEvidence(ctx, pool, w.scope, w.limits.Oldest(present), present)
	if err != nil {
		return figures{}, err
	}

	evidence.Collecting = true // Whoever reads this wants to know whether it is so.
	f := figures{gap: w.limits.Gap(present, evidence.Ledger)}
	if at := w.limits.Boundary(present, evidence).Cap(present); !at.IsZero() {
		f.boundary = at
	}
	if f.lag, err = w.lag(ctx, pool, now); err != nil {
		return figures{}, err
	}
	if f.late, err = postgres.LateChanges(ctx, pool, w.scope); err != nil {
		return figures{}, err
	}
	f.claims, err = postgres.UsageClaims(ctx, pool, w.scope, time.Time{})
	return f, err
}

// Describe implements prometheus.Collector.
func (w *Watcher) Describe(out chan<- *prometheus.Desc) {
	out <- boundary
	out <- gap
	out <- lag
	out <- late
	out <- unclaimed
	out <- unrated
}

// Collect implements prometheus.Collector.
func (w *Watcher) Collect(out chan<- prometheus.Metric) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.known {
		return
	}
	if !w.now.boundary.IsZero() {
		out <- prometheus.MustNewConstMetric(boundary, prometheus.GaugeValue, float64(w.now.boundary.Unix()))
	}
	out <- prometheus.MustNewConstMetric(gap, prometheus.GaugeValue, float64(w.now.gap)) //nolint:promlinter // Hours are what is counted; the name is documented.
	if w.now.lag != nil {
		out <- prometheus.MustNewConstMetric(lag, prometheus.GaugeValue, w.now.lag.Seconds())
	}
	out <- prometheus.MustNewConstMetric(late, prometheus.CounterValue, float64(w.now.late))
	for _, c := range w.now.claims {
		if c.Measured.Sign() > 0 { // Nothing is no part of nothing.
			out <- ratio(unclaimed, c.Meter, c.Unclaimed, c.Measured)
			out <- ratio(unrated, c.Meter, c.Unrated, c.Measured)
		}
	}
}

func ratio(of *prometheus.Desc, meter string, part, whole *big.Rat) prometheus.Metric {
	share, _ := new(big.Rat).Quo(part, whole).Float64()
	return prometheus.MustNewConstMetric(of, prometheus.GaugeValue, share, meter)
}
