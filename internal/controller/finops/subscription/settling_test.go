package subscription_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/jackc/pgx/v5"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/controller/finops/subscription"
	finops "github.com/provider-finops/provider-finops/internal/finops/charge"
	"github.com/provider-finops/provider-finops/internal/jobs/charge"
	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
)

// settling settles as the product does, and remembers at what time it was asked to
// settle whom.
type settling struct {
	api   client.Client
	dsn   string
	clock func() clock.PassiveClock

	mu    sync.Mutex
	asked []string
	hold  finops.Hold // If it or the error is set, this is all it does.
	fail  error
}

func (s *settling) Settle(ctx context.Context, key types.NamespacedName, uid types.UID) (finops.Hold, error) {
	now := s.clock()
	s.mu.Lock()
	s.asked = append(s.asked, key.Name+" "+now.Now().Format("02 15:04"))
	hold, fail := s.hold, s.fail
	s.mu.Unlock()
	if fail != nil || hold != (finops.Hold{}) {
		return hold, fail
	}
	settings, err := charge.FromEnvironment(func(name string) string { return map[string]string{"POSTGRES_CONNECTION_STRING": s.dsn}[name] })
	if err != nil {
		return finops.Hold{}, err
	}
	return charge.Release(ctx, settings, charge.Dependencies{Client: s.api, Clock: now, Log: logr.Discard()}, charge.One{Key: key, UID: uid})
}

// does makes it hold everybody, or fail, or settle.
func (s *settling) does(hold finops.Hold, fail error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hold, s.fail = hold, fail
}

// of is when it was asked to settle somebody.
func (s *settling) of(name string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.asked), func(l string) bool { return !strings.HasPrefix(l, name+" ") })
}

// lonely is a rig in a cluster without a charge collector, whose controller settles
// after an hour.
func lonely(t *testing.T, dsn string) (*rig, *settling) {
	t.Helper()
	var r *rig
	s := &settling{api: apitest.Client(t), dsn: dsn, clock: func() clock.PassiveClock { return r.clock }}
	mgr, writes := apitest.Manager(t)
	r = startBeside(t, mgr, writes, subscription.Settings{BuiltinReleaseAfter: time.Hour, Settler: s}, dsn)
	return r, s
}

// fee is an hourly fee, counted from the activation.
func fee(s *v1alpha1.OfferingSpec) {
	s.Pricing.SubscriptionFee = &v1alpha1.SubscriptionFee{PriceMicros: 40_000_000, Period: "1h", TickAlignment: v1alpha1.TickAlignmentActivatedAt}
}

// waitsFor waits until the message of Deleting says what is to be waited for.
func (r *rig) waitsFor(s *v1alpha1.Subscription, want string) {
	r.t.Helper()
	r.says(s, v1alpha1.TypeDeleting, want)
}

// charged are the rows of a Subscription, in words.
func (r *rig) charged(s *v1alpha1.Subscription) []string {
	r.t.Helper()
	rows, err := r.pool.Query(r.t.Context(), `SELECT concat_ws(' ', to_char(window_start AT TIME ZONE 'UTC', 'HH24'), charge_source, amount_micros,
		CASE WHEN finalized THEN 'final' END) FROM subscription_charges WHERE subscription_uid = $1::text::uuid ORDER BY 1`, string(s.UID))
	if err != nil {
		r.t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		r.t.Fatal(err)
	}
	return lines
}

// unserved is what a Subscription waits for where nobody collects.
func unserved(since, from, held string) string {
	return "DeletionBlocked: waiting for a SubscriptionChargeCollection run to settle the charges; without one since 2026-03-02T" + since +
		":00Z, the controller settles them itself from 2026-03-02T" + from + ":00Z on" + held + "; no SubscriptionChargeCollection CostJob exists"
}
