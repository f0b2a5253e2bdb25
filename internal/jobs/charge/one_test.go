package charge_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	finops "github.com/provider-finops/provider-finops/internal/finops/charge"
	"github.com/provider-finops/provider-finops/internal/jobs/charge"
	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
)

// release settles one Subscription, as the controller does where nobody collects.
func (s *stage) release(ctx context.Context, settings charge.Settings, sub *v1alpha1.Subscription, now string) (finops.Hold, error) {
	api, err := client.New(s.writes.config, client.Options{Scheme: apitest.Scheme()})
	if err != nil {
		return finops.Hold{}, err
	}
	return charge.Release(ctx, settings, charge.Dependencies{
		Client: api, Clock: clocktesting.NewFakePassiveClock(at(now)), Log: s.logger(),
	}, charge.One{Key: client.ObjectKeyFromObject(sub), UID: sub.UID})
}

// lonelyStage has three Subscriptions of one Offering in a cluster where nobody
// charges: two were deleted, of which "sub" is to be settled.
func lonelyStage(t *testing.T) *stage {
	t.Helper()
	s := newStage(t)
	s.activeBook()
	book := s.tariff("EUR", 20000)
	s.collector("allocations", v1alpha1.CostJobTypeResourceCostCollection)
	s.offering("both", withMeters(fee(v1alpha1.TickAlignmentActivatedAt, "1h", 40000000), v1alpha1.MeterCPUHour))
	for _, name := range []string{"sub", "neighbour", "living"} {
		s.subscription(name, "both", "2026-04-01T12:00:00Z", v1alpha1.UsageSource{Namespace: "app"})
	}
	for _, h := range []string{"2026-04-01T12:00:00Z", "2026-04-01T13:00:00Z", "2026-04-01T14:00:00Z"} {
		s.measure(h, "api-1", "1", book, h != "2026-04-01T14:00:00Z")
	}
	s.remove("sub", "2026-04-01T13:30:00Z")
	s.remove("neighbour", "2026-04-01T13:30:00Z")
	s.writes.take()
	return s
}

// settledAlone are the charges of two hours, the second to its end and its use to
// the second in which it ended.
func settledAlone() []string {
	return []string{
		"sub 01 12 cpuHour 20000 EUR", "sub 01 12 subscription 40000000 EUR",
		"sub 01 13 cpuHour 10000 EUR", "sub 01 13 subscription 40000000 EUR",
	}
}

// of are the charges of one Subscription.
func of(name string, charges []string) []string {
	return slices.DeleteFunc(charges, func(l string) bool { return !strings.HasPrefix(l, name+" ") })
}

// TestReleaseOne charges one Subscription to the micro and lets it go. Nobody else
// is charged, written to or recorded as settled, and what is said of whole hours is
// left to a run for all, which then finds everything as one for all would have left
// it.
func TestReleaseOne(t *testing.T) {
	s := lonelyStage(t)
	sub := s.get("sub")
	if hold, err := s.release(t.Context(), s.settings, sub, "2026-04-01T14:00:05Z"); err != nil || hold != (finops.Hold{}) {
		t.Fatalf("Nothing holds it, got %+v, %v", hold, err)
	}
	if !s.gone("sub") || s.gone("neighbour") || s.gone("living") {
		t.Errorf("It is gone, and it alone: sub %t, neighbour %t, living %t", s.gone("sub"), s.gone("neighbour"), s.gone("living"))
	}
	if diff := cmp.Diff(settledAlone(), s.charges()); diff != "" {
		t.Errorf("charges: -want, +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"01 13"}, s.watermarks()); diff != "" {
		t.Errorf("watermarks: -want, +got:\n%s", diff)
	}
	path := "/apis/finops.stakater.com/v1alpha1/namespaces/" + s.namespace + "/subscriptions/sub"
	if diff := cmp.Diff([]string{"PATCH " + path + "/status", "PATCH " + path}, s.writes.take()); diff != "" {
		t.Errorf("writes: -want, +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"sub Released"}, s.events()); diff != "" {
		t.Errorf("events: -want, +got:\n%s", diff)
	}
	mirrored := `SELECT concat_ws(' ', name, deleted_at IS NOT NULL) FROM subscriptions ORDER BY name`
	if diff := cmp.Diff([]string{"sub t"}, s.lines(mirrored)); diff != "" {
		t.Errorf("mirror: -want, +got:\n%s", diff)
	}
	if claims := s.lines(`SELECT concat_ws(' ', hour, meter) FROM usage_claims`); len(claims) != 0 {
		t.Errorf("Who looks at one cannot say what nobody claims, got %v", claims)
	}
	if hold, err := s.release(t.Context(), s.settings, sub, "2026-04-01T14:10:05Z"); err != nil || hold != (finops.Hold{}) || len(s.writes.take()) > 0 {
		t.Errorf("Of somebody who is gone there is nothing to say or write, got %+v, %v", hold, err)
	}

	s.mustRun("2026-04-01T14:00:00Z")
	charges := s.charges()
	for _, name := range []string{"sub", "neighbour"} {
		got := of(name, slices.Clone(charges))
		for i := range got {
			got[i] = "sub" + strings.TrimPrefix(got[i], name)
		}
		if diff := cmp.Diff(settledAlone(), got); diff != "" {
			t.Errorf("After a run for all, charges of %s: -want, +got:\n%s", name, diff)
		}
	}
	if len(s.lines(`SELECT hour::text FROM usage_claims`)) == 0 || !s.gone("neighbour") {
		t.Error("The run for all counts, and lets the other go")
	}
	s.holds(nil, "2026-04-01T14:00:00Z")
}

// TestReleaseNamesake does nothing to somebody else who has taken the name.
func TestReleaseNamesake(t *testing.T) {
	s := lonelyStage(t)
	before := s.get("sub")
	s.clearFinalizer("sub")
	s.subscription("sub", "both", "2026-04-01T12:00:00Z")
	s.remove("sub", "2026-04-01T13:30:00Z")
	s.writes.take()
	if hold, err := s.release(t.Context(), s.settings, before, "2026-04-01T14:00:05Z"); err != nil || hold != (finops.Hold{}) {
		t.Errorf("Nothing holds who is gone, got %+v, %v", hold, err)
	}
	if rows, writes := s.charges(), s.writes.take(); s.gone("sub") || len(rows)+len(writes) > 0 {
		t.Errorf("His namesake is left alone, got %v, %v", rows, writes)
	}
}

// TestReleaseOneOfMany settles one Subscription several times at once, as replicas
// would that both believe to lead, among runs for all of a collector that has just
// gone: it is charged once, and nobody fails.
func TestReleaseOneOfMany(t *testing.T) {
	s := lonelyStage(t)
	sub := s.get("sub")
	var group errgroup.Group
	for i := range 6 {
		group.Go(func() error {
			if i%3 == 0 {
				return s.run("2026-04-01T14:00:00Z")
			}
			hold, err := s.release(t.Context(), s.settings, sub, "2026-04-01T14:00:05Z")
			if err == nil && hold != (finops.Hold{}) {
				return fmt.Errorf("it is held: %+v", hold)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
	if !s.gone("sub") {
		t.Error("It is still there")
	}
	if diff := cmp.Diff(settledAlone(), of("sub", s.charges())); diff != "" {
		t.Errorf("charges: -want, +got:\n%s", diff)
	}
	s.holds(nil, "2026-04-01T14:00:00Z")
}

// TestReleaseCutOff has the API server refuse the last write: the Subscription
// stays, with all it owes on record, and the next attempt adds nothing to that. One
// that the database keeps from settling is not let go either.
func TestReleaseCutOff(t *testing.T) {
	s := lonelyStage(t)
	sub := s.get("sub")

	nowhere := s.settings
	nowhere.Database.DSN = "postgres://nobody:secret-word@127.0.0.1:1/none"
	nowhere.DatabaseInitTimeout = time.Second
	if _, err := s.release(t.Context(), nowhere, sub, "2026-04-01T14:00:05Z"); err == nil || strings.Contains(err.Error(), "secret-word") || s.gone("sub") {
		t.Errorf("Without a database: want an error that shows no password, got %v; gone: %t", err, s.gone("sub"))
	}

	s.writes.fail = func(r *http.Request) error {
		if strings.HasSuffix(r.URL.Path, "/sub") {
			return errKilled
		}
		return nil
	}
	hold, err := s.release(t.Context(), s.settings, sub, "2026-04-01T14:00:05Z")
	if err != nil || hold.Gate != finops.GateError || !strings.Contains(hold.Reason, errKilled.Error()) {
		t.Errorf("It is held by the error, got %+v, %v", hold, err)
	}
	if diff := cmp.Diff(settledAlone(), s.charges()); diff != "" || s.gone("sub") {
		t.Errorf("gone: %t; charges: -want, +got:\n%s", s.gone("sub"), diff)
	}
	s.writes.fail = nil
	before := s.dump()
	if hold, err := s.release(t.Context(), s.settings, sub, "2026-04-01T14:10:05Z"); err != nil || hold != (finops.Hold{}) || !s.gone("sub") {
		t.Errorf("Nothing holds it any more, got %+v, %v; gone: %t", hold, err, s.gone("sub"))
	}
	if diff := cmp.Diff(before, s.dump()); diff != "" {
		t.Errorf("The second attempt has written to the database: -before, +after:\n%s", diff)
	}
}

// TestReleaseOneRights settles one Subscription with the rights that the plain
// manifests give the controller, and no others.
func TestReleaseOneRights(t *testing.T) {
	s := lonelyStage(t)
	root, err := apitest.Root()
	s.must(err)
	granted := 0
	for _, file := range []string{"20-controller.yaml", "30-collectors.yaml"} {
		text, err := os.ReadFile(filepath.Join(root, "cluster", "install", "access", file))
		s.must(err)
		for document := range strings.SplitSeq(string(text), "\n---\n") {
			u := &unstructured.Unstructured{}
			s.must(yaml.Unmarshal([]byte(document), &u.Object))
			if !strings.HasPrefix(u.GetKind(), "Cluster") {
				continue // What holds in the controller's own namespace is of no use here.
			}
			s.must(s.api.Create(t.Context(), u))
			t.Cleanup(func() { s.must(s.api.Delete(context.Background(), u)) })
			granted++
		}
	}
	if granted < 6 {
		t.Fatalf("only %d roles and bindings", granted)
	}

	config := rest.CopyConfig(s.writes.config)
	config.Impersonate.UserName = "system:serviceaccount:finops-operator-system:finops-operator-controller-manager"
	api, err := client.New(config, client.Options{Scheme: apitest.Scheme()})
	s.must(err)
	sub := s.get("sub")
	apitest.Eventually(t, "the release", func(ctx context.Context) error { // Roles are known to the server a moment later.
		hold, err := charge.Release(ctx, s.settings, charge.Dependencies{
			Client: api, Clock: clocktesting.NewFakePassiveClock(at("2026-04-01T14:00:05Z")), Log: s.logger(),
		}, charge.One{Key: client.ObjectKeyFromObject(sub), UID: sub.UID})
		if err == nil && hold != (finops.Hold{}) {
			return fmt.Errorf("it is held: %+v", hold)
		}
		return err
	})
	if !s.gone("sub") || len(of("sub", s.charges())) != 4 || !slices.Contains(s.events(), "sub Released") {
		t.Errorf("It is settled, let go, and said to be: gone %t, %v, %v", s.gone("sub"), s.charges(), s.events())
	}
}
