package subscription_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/controller/finops/subscription"
	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
)

// controllerUser is who the controller is in a test about rights.
const controllerUser = "system:serviceaccount:finops-operator-system:finops-operator-controller-manager"

// kindOfTheirs is a kind that nobody knew when the roles were written.
func kindOfTheirs(t *testing.T, c client.Client, group string) (apiVersion string) {
	t.Helper()
	preserve := true
	crd := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "databases." + group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "databases", Singular: "database", Kind: "Database", ListKind: "DatabaseList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &preserve}},
			}},
		},
	}
	if err := c.Create(t.Context(), crd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Delete(context.Background(), crd); err != nil {
			t.Error(err)
		}
	})
	return group + "/v1"
}

// object creates an object of any kind, as soon as the server knows the kind.
func (r *rig) object(apiVersion, kind, name string) {
	r.t.Helper()
	u := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"namespace": r.ns, "name": name}, "revision": int64(1), "data": map[string]any{"of": name}}}
	u.SetAPIVersion(apiVersion)
	u.SetKind(kind)
	apitest.Eventually(r.t, "a "+kind, func(ctx context.Context) error { return r.Create(ctx, u) })
}

// grant binds a role to the controller.
func grant(t *testing.T, c client.Client, role string) {
	t.Helper()
	b := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "test-" + role},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: controllerUser}},
	}
	if err := c.Create(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Delete(context.Background(), b); err != nil {
			t.Error(err)
		}
	})
}

// TestTargetRights applies the roles that are shipped for the reading of
// targets, with the controller an account that has no other right to one. A kind
// that a role with the label grants can be a target; one that is granted by none,
// or no longer, ends nothing, not even if the target goes meanwhile.
func TestTargetRights(t *testing.T) {
	admin := apitest.Client(t)
	apitest.ControllerManager(t, apitest.RoleAggregation)
	own := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "finops-own-kinds"},
		Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{v1alpha1.GroupVersion.Group}, Resources: []string{"*"}, Verbs: []string{"*"}},
			{APIGroups: []string{""}, Resources: []string{"namespaces", "events"}, Verbs: []string{"get", "list", "watch", "create", "patch"}},
		},
	}
	if err := admin.Create(t.Context(), own); err != nil {
		t.Fatal(err)
	}
	grant(t, admin, own.Name)

	root, err := apitest.Root()
	if err != nil {
		t.Fatal(err)
	}
	shipped, err := os.ReadFile(filepath.Join(root, "package", "rbac", "target-reader.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := apitest.Kubectl(t)(string(shipped), "apply", "-f", "-"); err != nil {
		t.Fatal(err)
	}
	grant(t, admin, "finops-operator-target-reader")

	mgr, writes := apitest.ManagerAs(t, controllerUser)
	r := startOn(t, mgr, writes, subscription.Settings{})
	apiVersion := kindOfTheirs(t, admin, "theirs.example.org")
	r.object(apiVersion, "Database", "db")
	r.object("apps/v1", "ControllerRevision", "job")
	r.offer("basic")

	workload := r.subscribe("workload", "", "basic", target("apps/v1", "ControllerRevision", r.ns, "job"))
	r.becomes(workload, billed)
	database := r.subscribe("database", "", "basic", target(apiVersion, "Database", r.ns, "db"))
	forbidden := func(active string) {
		t.Helper()
		apitest.Eventually(t, "an objection that says what is missing", func(ctx context.Context) error {
			if err := r.Get(ctx, client.ObjectKeyFromObject(database), database); err != nil {
				return err
			}
			said := message(database, v1alpha1.TypeReady)
			l := lookAt(database)
			if l.Ready != "False/ValidationError" || l.Active != active || l.Deactivated ||
				!strings.Contains(said, `finops.stakater.com/aggregate-to-target-reader: "true"`) || !strings.Contains(said, "databases") {
				return fmt.Errorf("%+v, %q", l, said)
			}
			return nil
		})
	}
	forbidden("")

	theirs := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "theirs"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{"theirs.example.org"}, Resources: []string{"databases"}, Verbs: []string{"get", "list", "watch"}}},
	}
	if err := admin.Create(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	r.resyncs(10)
	forbidden("") // A role without the label grants the controller nothing.

	label := func(labels map[string]string) {
		t.Helper()
		theirs.Labels = labels
		if err := admin.Update(t.Context(), theirs); err != nil {
			t.Fatal(err)
		}
	}
	readers := map[string]string{"finops.stakater.com/aggregate-to-target-reader": "true"}
	label(readers)
	r.becomes(database, billed)

	label(nil)
	forbidden("True/ActivationSucceeded")
	gone := &unstructured.Unstructured{}
	gone.SetAPIVersion(apiVersion)
	gone.SetKind("Database")
	gone.SetNamespace(r.ns)
	gone.SetName("db")
	if err := admin.Delete(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	r.resyncs(10)
	forbidden("True/ActivationSucceeded") // What cannot be looked at is not gone.

	label(readers)
	r.becomes(database, ended("TargetNotFound"))
	r.becomes(workload, billed)
	for _, name := range []string{"finops-operator-target-reader", "finops-operator-target-reader-workloads", own.Name, theirs.Name} {
		if err := admin.Delete(context.Background(), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			t.Error(errors.Join(errors.New("cannot clear up"), err))
		}
	}
}
