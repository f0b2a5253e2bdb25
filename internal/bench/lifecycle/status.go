package lifecycle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/jackc/pgx/v5"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/bench"
)

const (
	// statusLimit is what a status may take as JSON, in bytes.
	statusLimit = 4000

	// runs of the charge collector, more than a history keeps.
	runs = v1alpha1.MaxExecutionHistory + 2
)

// StatusSize is P15.
func StatusSize() []bench.Goal {
	return []bench.Goal{{
		ID: "P15", Title: "status of a Subscription with five meters", Ratio: "bytes of JSON by 4,000; no history is longer than ten", Must: 1, AtMost: true,
		Run: func(ctx context.Context, env *bench.Env) (m bench.Measure, err error) {
			w, err := newWorld(ctx, env)
			if err != nil {
				return bench.Measure{}, err
			}
			defer func() { err = errors.Join(err, w.stop(ctx)) }()
			if err := w.furnish(ctx); err != nil {
				return bench.Measure{}, err
			}
			return w.measureStatus(ctx)
		},
	}}
}

// measureStatus has one Subscription with all there is to say about it: a parent,
// a requirement, a fee and every meter, charged for hours of every unit.
func (w *world) measureStatus(ctx context.Context) (bench.Measure, error) {
	metered := offering("metered", "node")
	metered.Spec.Pricing = v1alpha1.Pricing{
		SubscriptionFee: &v1alpha1.SubscriptionFee{TickAlignment: v1alpha1.TickAlignmentHourBoundary, Period: "1", PriceMicros: 123_456_789},
	}
	for _, m := range []v1alpha1.MeterName{v1alpha1.MeterCPUHour, v1alpha1.MeterGPUHour, v1alpha1.MeterRAMGbHour, v1alpha1.MeterPVGbHour, v1alpha1.MeterNetworkGb} {
		metered.Spec.Pricing.ResourcePricing = append(metered.Spec.Pricing.ResourcePricing, v1alpha1.Meter{Name: m})
	}
	charged := subscription("charged", "root", "metered")
	charged.Spec.UsageSources = []v1alpha1.UsageSource{{Namespace: "workloads"}}
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: tenant, Name: name} }
	err := w.create(ctx,
		&v1alpha1.PriceBook{ObjectMeta: meta("tariff"), Spec: v1alpha1.PriceBookSpec{
			Currency: "EUR", ValuationMode: v1alpha1.ValuationModeCurrency,
			Rates: &v1alpha1.PriceRates{CPUHour: "0.031", GPUHour: "2.5", RAMGbHour: "0.004", PVGbHour: "0.0001", NetworkGiB: "0.09"},
		}},
		&v1alpha1.CostJob{ObjectMeta: meta("charges"), Spec: v1alpha1.CostJobSpec{Type: v1alpha1.CostJobTypeSubscriptionChargeCollection, Interval: metav1.Duration{Duration: time.Hour}}},
		metered, subscription("root", "", "suite"), subscription("node-1", "root", "node"), charged)
	if err != nil {
		return bench.Measure{}, err
	}
	if err := w.startProvider(ctx); err != nil {
		return bench.Measure{}, err
	}
	if err := w.until(ctx, "the Subscription to be active", func(s states) bool { return s.ready == 3 }); err != nil {
		return bench.Measure{}, err
	}
	if err := w.rest(ctx); err != nil {
		return bench.Measure{}, err
	}
	first := w.clock.Now().UTC().Truncate(time.Hour)
	if err := w.consume(ctx, first); err != nil {
		return bench.Measure{}, err
	}
	for n := range runs {
		if err := w.charge(ctx, first.Add(time.Duration(n+1)*time.Hour)); err != nil {
			return bench.Measure{}, err
		}
	}
	return w.weighStatus(ctx)
}

// consume plants usage of every kind in the hours of the runs.
func (w *world) consume(ctx context.Context, first time.Time) error {
	cfg, err := pgx.ParseConfig(w.dsn)
	if err != nil {
		return errors.New("cannot read the DSN of the database")
	}
	c, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return errors.New("cannot connect to the database")
	}
	for _, sql := range []string{
		fmt.Sprintf("SELECT finops_ensure_months('%s', '%s')", first.Format(time.RFC3339), first.Add(2*runs*time.Hour).Format(time.RFC3339)),
		`INSERT INTO pricebooks (cluster_id, namespace, name, uid, generation, currency, content_hash,
		        cpu_hour_micros, gpu_hour_micros, ram_gb_hour_micros, pv_gb_hour_micros, network_gib_micros)
		 VALUES ('default', 'tenant', 'tariff', gen_random_uuid(), 1, 'EUR', 'planted', 31000, 2500000, 4000, 100, 90000)`,
		fmt.Sprintf(`INSERT INTO provider_allocations (cluster_id, aggregation, hour, namespace, name, pod, controller, controller_kind,
		        alloc_start, alloc_end, collected_at, is_finalized, cpu_core_usage_avg, gpu_count, gpu_usage_avg, ram_bytes_usage_avg, pv_byte_hours,
		        network_transfer_bytes, network_receive_bytes, pricebook_id, currency)
		 SELECT 'default', 'namespace,pod,container', h, 'workloads', 'workloads/api/main', 'api', 'api', 'deployment', h, h + interval '1 hour', h,
		        true, 12.34567, 4, 3.21, 123456789012, 987654321098, 12345678901, 12345678901, (SELECT id FROM pricebooks LIMIT 1), 'EUR'
		   FROM generate_series('%s'::timestamptz, '%s'::timestamptz, interval '1 hour') AS h`, first.Format(time.RFC3339), first.Add(runs*time.Hour).Format(time.RFC3339)),
	} {
		if _, err = c.Exec(ctx, sql); err != nil {
			err = fmt.Errorf("cannot plant usage: %w", err)
			break
		}
	}
	return errors.Join(err, c.Close(ctx))
}

// charge runs the charge collector for an hour, a minute after it.
func (w *world) charge(ctx context.Context, pinned time.Time) error {
	offset := pinned.Add(time.Minute).Sub(w.clock.Now()).Round(time.Second)
	cmd := exec.CommandContext(ctx, w.binary, "--mode=collectionjob", "--clock-offset="+offset.String()) //nolint:gosec // A path of our own.
	cmd.Env = append(os.Environ(), "KUBECONFIG="+w.kubeconfig(), "POSTGRES_CONNECTION_STRING="+w.dsn, "COSTJOB_NAMESPACE="+tenant, "COSTJOB_NAME=charges",
		"SCHEDULED_TIMESTAMP="+pinned.Format(time.RFC3339))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("the charge collector failed: %w\n%s", err, out)
	}
	return nil
}

func (w *world) weighStatus(ctx context.Context) (bench.Measure, error) {
	s, j := subscription("charged", "", ""), &v1alpha1.CostJob{}
	if err := w.Get(ctx, client.ObjectKeyFromObject(s), s); err != nil {
		return bench.Measure{}, fmt.Errorf("cannot read the Subscription: %w", err)
	}
	if err := w.Get(ctx, client.ObjectKey{Namespace: tenant, Name: "charges"}, j); err != nil {
		return bench.Measure{}, fmt.Errorf("cannot read the CostJob: %w", err)
	}
	text, err := json.Marshal(s.Status)
	if err != nil {
		return bench.Measure{}, fmt.Errorf("cannot encode the status: %w", err)
	}
	parts := 0
	for _, c := range s.Status.Costs {
		parts = max(parts, len(c.Breakdown))
	}
	if parts != 6 {
		return bench.Measure{}, fmt.Errorf("the costs are made of %d parts, want a fee and five meters: %s", parts, text)
	}
	if n := len(j.Status.ExecutionHistory); n != v1alpha1.MaxExecutionHistory {
		return bench.Measure{}, fmt.Errorf("the history has %d entries after %d runs, want %d", n, runs, v1alpha1.MaxExecutionHistory)
	}
	history, err := json.Marshal(j.Status)
	return bench.Measure{Value: float64(len(text)), Limit: statusLimit, Unit: "bytes", Notes: []string{
		fmt.Sprintf("%d summaries of %d parts each, %d conditions", len(s.Status.Costs), parts, len(s.Status.Conditions)),
		fmt.Sprintf("after %d runs the status of their CostJob has %d entries, %d bytes", runs, len(j.Status.ExecutionHistory), len(history)),
	}}, err
}
