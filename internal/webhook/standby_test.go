package webhook_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/provider-finops/provider-finops/internal/controller/finops/index"
	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
	"github.com/provider-finops/provider-finops/internal/webhook"
)

// TestStandby checks that a replica that is not the leader is ready and answers:
// the Service sends requests to all of them.
func TestStandby(t *testing.T) {
	c := apitest.Client(t)
	ns := apitest.Namespace(t, c)
	if err := c.Create(t.Context(), &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "lease"},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: new("another replica"), LeaseDurationSeconds: new(int32(3600)),
			RenewTime: new(metav1.NewMicroTime(clock.RealClock{}.Now())),
		},
	}); err != nil {
		t.Fatal(err)
	}

	door, probes := apitest.NewDoor(t), apitest.NewDoor(t).Address()
	mgr, _ := apitest.Manager(t, door.Serve, func(o *ctrl.Options) {
		o.HealthProbeBindAddress = probes
		o.LeaderElection, o.LeaderElectionID, o.LeaderElectionNamespace = true, "lease", ns
	})
	if err := errors.Join(
		index.AddOfferings(t.Context(), index.Cluster(mgr.GetCache())),
		index.AddSubscriptions(t.Context(), index.Cluster(mgr.GetCache())),
		webhook.Setup(mgr, webhook.Settings{}),
	); err != nil {
		t.Fatal(err)
	}
	apitest.Run(t, mgr)
	apitest.Eventually(t, "a replica that is ready", func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+probes+"/readyz", nil)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		text, err := io.ReadAll(response.Body)
		if response.StatusCode != http.StatusOK {
			err = errors.Join(fmt.Errorf("it answers %s: %s", response.Status, text), err)
		}
		return errors.Join(err, response.Body.Close())
	})

	w := install(t, door)
	w.isAsked(t, true)
	w.create(t, newOffering(w.ns, "vm"), newSubscription(w.ns, "s", "vm"))
	err := w.Delete(t.Context(), newOffering(w.ns, "vm"))
	if diff := cmp.Diff("DependentSubscriptionsExist", refusalOf(err).Reason); diff != "" {
		t.Errorf("-want +got:\n%s\n%v", diff, err)
	}
}
