package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
	"github.com/provider-finops/provider-finops/internal/testkit/pgtest"
)

// TestClusterOwner asks as somebody who may know, and as somebody who may not.
func TestClusterOwner(t *testing.T) {
	var system corev1.Namespace
	if err := apitest.Client(t).Get(t.Context(), client.ObjectKey{Name: metav1.NamespaceSystem}, &system); err != nil {
		t.Fatal(err)
	}
	for user, want := range map[string]postgres.Owner{
		"":         {ClusterID: "default", Identity: string(system.UID)},
		"stranger": {ClusterID: "default"},
	} {
		cfg := apitest.Config(t)
		cfg.Impersonate.UserName = user
		live, err := client.New(cfg, client.Options{Scheme: apitest.Scheme()})
		if err != nil {
			t.Fatal(err)
		}
		got, err := clusterOwner(t.Context(), logr.Discard(), live, "default")
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("asked by %q: -want, +got:\n%s%v", user, diff, err)
		}
	}
}

// TestClusterOwnerIsNotTold asks a server that does not answer: the controller ends,
// so that it is started again, and does not go on as one that cannot be told from
// others.
func TestClusterOwnerIsNotTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silent := interceptor.NewClient(nil, interceptor.Funcs{
			Get: func(ctx context.Context, _ client.WithWatch, _ client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
				<-ctx.Done()
				return ctx.Err()
			},
		})
		_, err := clusterOwner(t.Context(), logr.Discard(), silent, "default")
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "cannot tell which cluster this is") {
			t.Errorf("want to be told that nobody has answered, got %v", err)
		}
	})
}

// TestClusterIDIsAnothers runs the controller on a database in which its id is
// that of another cluster, as it is when both were left at the default. It says
// so on every object, stores nothing, and goes to work once it is given the id.
func TestClusterIDIsAnothers(t *testing.T) {
	c, db := apitest.Client(t), pgtest.Database(t)
	if err := postgres.ClaimCluster(t.Context(), db.Pool, postgres.Owner{ClusterID: "default", Identity: "another"}); err != nil {
		t.Fatal(err)
	}
	r := &replicas{WithWatch: c, t: t, ns: apitest.Namespace(t, c)}
	r.environment = append(os.Environ(), asItself+"=yes", "KUBECONFIG="+apitest.Kubeconfig(t, "twin"), "POD_NAMESPACE="+r.ns,
		"POSTGRES_CONNECTION_STRING="+db.DSN, "ENABLE_WEBHOOKS=false", "OPENCOST_CONNECTION_STRING=http://127.0.0.1:1",
		"OPENCOST_DEPLOYMENT_NAME=opencost", "OPENCOST_DEPLOYMENT_NAMESPACE="+r.ns)
	r.start()
	o := &v1alpha1.Offering{ObjectMeta: metav1.ObjectMeta{Namespace: r.ns, Name: "basic"}}
	if err := c.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	versions := func() (n int) {
		t.Helper()
		if err := db.Pool.QueryRow(t.Context(), "SELECT count(*) FROM offerings").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	synced := func(want metav1.ConditionStatus, says string) {
		t.Helper()
		apitest.Eventually(t, "an Offering whose Synced is "+string(want), func(ctx context.Context) error {
			if err := c.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
				return err
			}
			condition := meta.FindStatusCondition(o.Status.Conditions, v1alpha1.TypeSynced)
			if condition == nil || condition.Status != want || !strings.Contains(condition.Message, says) {
				return errors.Join(errors.New("it is not"), fmt.Errorf("%v", condition))
			}
			return nil
		})
	}

	synced(metav1.ConditionFalse, `cannot use cluster id "default": it is another cluster's`)
	if n := versions(); n != 0 {
		t.Errorf("%d versions were stored among those of another cluster", n)
	}
	if _, err := db.Pool.Exec(t.Context(), "DELETE FROM cluster_ids"); err != nil {
		t.Fatal(err)
	}
	synced(metav1.ConditionTrue, "")
	if n := versions(); n != 1 {
		t.Errorf("%d versions are stored, want one", n)
	}
}
