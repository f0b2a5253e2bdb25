package badinput

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"github.com/crossplane/crossplane-runtime/v2/pkg/ratelimiter"
	"github.com/go-logr/logr"
	rbacv1 "k8s.io/api/rbac/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/internal/controller"
	"github.com/provider-finops/provider-finops/internal/controller/finops/costjob"
	"github.com/provider-finops/provider-finops/internal/controller/frame"
	"github.com/provider-finops/provider-finops/internal/controller/opencost"
	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
	"github.com/provider-finops/provider-finops/internal/testkit/pgtest"
	"github.com/provider-finops/provider-finops/internal/webhook"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	os.Exit(apitest.Main(m))
}

// A world is an API server with the webhooks and all controllers, which may do
// whatever they need but see StatefulSets.
type world struct {
	client.Client

	t        *testing.T
	db       pgtest.DB // In which every row of the table has a cluster of its own.
	clusters int
}

// cluster names one of which nothing is stored.
func (w *world) cluster() string {
	w.clusters++
	return fmt.Sprintf("cluster-%d", w.clusters)
}

// newWorld starts it.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{Client: apitest.Client(t), t: t, db: pgtest.Database(t)}
	door := apitest.NewDoor(t)
	w.limit()
	w.serve(door)
	w.install(door)
	return w
}

const controllerName = "controller"

// limit gives the controllers' user its rights.
func (w *world) limit() {
	w.t.Helper()
	all := []string{"*"}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: controllerName}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"finops.stakater.com", "", "batch", "apiextensions.k8s.io"}, Resources: all, Verbs: all},
		{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: all},
	}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: controllerName},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: controllerName, APIGroup: rbacv1.GroupName}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: controllerName},
	}
	for _, o := range []client.Object{role, binding} {
		if err := w.Create(w.t.Context(), o); err != nil {
			w.t.Fatal(err)
		}
	}
}

// serve runs the controllers and the webhooks.
func (w *world) serve(door apitest.Door) {
	w.t.Helper()
	mgr, _ := apitest.ManagerAs(w.t, controllerName, door.Serve)
	o := frame.Options{Logger: logging.NewNopLogger(), Clock: clock.RealClock{}, Poll: time.Hour, MaxConcurrentReconciles: 4, Limiter: ratelimiter.NewGlobal(1000)}
	err := errors.Join(
		controller.Setup(mgr, o, controller.Settings{
			OpenCost: opencost.Installation{Namespace: metav1.NamespaceDefault, Deployment: "opencost"},
			CostJob:  costjob.Settings{Image: "provider-finops:v1", PostgresDSN: "postgres://db", OpenCostURL: "http://opencost:9003", ClusterID: "default"},
		}),
		webhook.Setup(mgr, webhook.Settings{}))
	if err != nil {
		w.t.Fatal(err)
	}
	apitest.Run(w.t, mgr)
}

// install has the API server ask at the door.
func (w *world) install(door apitest.Door) {
	w.t.Helper()
	door.Install(w.t, w)
	probe := fmt.Sprintf(subscription, "probe", "any") + "  parent: {subscriptionRef: {name: probe, namespace: default}}\n"
	apitest.Eventually(w.t, "an API server that asks the webhooks", func(ctx context.Context) error {
		err := w.Create(ctx, read(w.t, metav1.NamespaceDefault, probe), client.DryRunAll)
		if !strings.Contains(fmt.Sprint(err), "names itself as its parent") {
			return fmt.Errorf("not yet: %w", err)
		}
		return nil
	})
}

// refusal is what a user gets to see, shortened to what the server says about
// fields if it does.
func refusal(err error) string {
	var status kerrors.APIStatus
	if !errors.As(err, &status) {
		return fmt.Sprint(err)
	}
	s := status.Status()
	if s.Reason != metav1.StatusReasonInvalid || s.Details == nil {
		return s.Message
	}
	lines := make([]string, 0, len(s.Details.Causes))
	for _, c := range s.Details.Causes {
		lines = append(lines, c.Field+": "+c.Message)
	}
	return strings.Join(lines, "\n")
}
