package docs_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	kyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
)

// parse reads the objects of a manifest.
func parse(t *testing.T, manifest string) []*unstructured.Unstructured {
	t.Helper()
	var objects []*unstructured.Unstructured
	decoder := kyaml.NewYAMLOrJSONDecoder(bytes.NewBufferString(manifest), 4096)
	for {
		o := &unstructured.Unstructured{}
		err := decoder.Decode(o)
		switch {
		case errors.Is(err, io.EOF):
			return objects
		case err != nil:
			t.Fatal(err)
		case len(o.Object) > 0:
			objects = append(objects, o)
		}
	}
}

// names is what each object is called.
func names(objects []*unstructured.Unstructured) map[string]bool {
	found := map[string]bool{}
	for _, o := range objects {
		found[fmt.Sprintf("%s %s/%s", o.GetKind(), o.GetNamespace(), o.GetName())] = true
	}
	return found
}

// TestInstall shows the plain manifests to a real API server, strictly, in each
// of the ways in which the guide applies them.
func TestInstall(t *testing.T) {
	kubectl := apitest.Kubectl(t)
	c := apitest.Client(t)
	for _, name := range []string{"finops-operator-system", "opencost"} { // A dry run makes none.
		o := &unstructured.Unstructured{}
		o.SetAPIVersion("v1")
		o.SetKind("ConfigMap")
		o.SetNamespace(name)
		o.SetName("any")
		if err := accept(t, c, o); err != nil {
			t.Fatal(err)
		}
	}
	dryRun := []string{"apply", "--server-side", "--force-conflicts", "--dry-run=server", "--validate=strict"}

	plain, err := kubectl("", "kustomize", "../cluster/install")
	if err != nil {
		t.Fatal(err)
	}
	t.Run("Kustomize", func(t *testing.T) {
		if out, err := kubectl(plain, append(dryRun, "-f", "-")...); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
	t.Run("Files", func(t *testing.T) {
		args := []string{
			"-f", "../package/crds", "-f", "../cluster/install/access", "-f", "../cluster/install/controller",
			"-f", "../package/rbac/target-reader.yaml", "-f", "../package/webhookconfigurations",
		}
		out, err := kubectl("", append(append(dryRun, "--output=name"), args...)...)
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if diff := cmp.Diff(len(parse(t, plain)), strings.Count(out, "\n")); diff != "" {
			t.Errorf("objects: -by kustomize, +by files:\n%s", diff)
		}
	})
	t.Run("CertManager", func(t *testing.T) {
		rendered, err := kubectl("", "kustomize", "../cluster/install/cert-manager")
		if err != nil {
			t.Fatal(err)
		}
		want := names(parse(t, plain))
		want["Issuer finops-operator-system/finops-operator-selfsigned-issuer"] = true
		want["Certificate finops-operator-system/finops-operator-serving-cert"] = true
		objects := parse(t, rendered)
		if diff := cmp.Diff(want, names(objects)); diff != "" {
			t.Errorf("-want, +got:\n%s", diff)
		}
		for _, o := range objects {
			if o.GetKind() == "ValidatingWebhookConfiguration" {
				if diff := cmp.Diff("finops-operator-system/finops-operator-serving-cert", o.GetAnnotations()["cert-manager.io/inject-ca-from"]); diff != "" {
					t.Errorf("the Certificate that is to be trusted: -want, +got:\n%s", diff)
				}
			}
		}
	})
	t.Run("NetworkPolicies", func(t *testing.T) { reachable(t, kubectl) })
	t.Run("Aggregated", func(t *testing.T) {
		// A role that others fill: whoever sets its rules empties it at every
		// "kubectl apply", or is refused by the server.
		for _, o := range parse(t, plain) {
			_, aggregated := o.Object["aggregationRule"]
			_, own := o.Object["rules"]
			if aggregated && own {
				t.Errorf("%s sets rules", o.GetName())
			}
		}
	})
	t.Run("Restricted", func(t *testing.T) { restricted(t, c, plain) })
	t.Run("Certificate", func(t *testing.T) { trusted(t, kubectl) })
}

// reachable shows that the guide's patches of the two policies fit the manifests:
// ports are added, and it is PostgreSQL that is at one address only.
func reachable(t *testing.T, kubectl func(string, ...string) (string, error)) {
	t.Helper()
	folder := t.TempDir()
	install, err := filepath.Abs("../cluster/install")
	if err == nil {
		install, err = filepath.Rel(folder, install)
	}
	if err != nil {
		t.Fatal(err)
	}
	snippet := blocks(t, "guides/install.md", "yml")[0]
	if err := os.WriteFile(filepath.Join(folder, "kustomization.yaml"), []byte("resources: ["+install+"]\n"+snippet), 0o600); err != nil {
		t.Fatal(err)
	}
	rendered, err := kubectl("", "kustomize", folder)
	if err != nil {
		t.Fatalf("%v\n%s", err, rendered)
	}
	got := map[string][]string{}
	for _, o := range parse(t, rendered) {
		policy := &networkingv1.NetworkPolicy{}
		if o.GetKind() != "NetworkPolicy" {
			continue
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, policy); err != nil {
			t.Fatal(err)
		}
		for _, rule := range policy.Spec.Egress {
			for _, port := range rule.Ports {
				text := port.Port.String()
				if len(rule.To) == 1 {
					text += " at " + rule.To[0].IPBlock.CIDR
				}
				got[o.GetName()] = append(got[o.GetName()], text)
			}
		}
	}
	both := []string{"53", "53", "443", "6443", "5432 at 192.0.2.10/32"}
	want := map[string][]string{
		"finops-operator-controller-manager": append(slices.Clone(both), "6432", "8443"),
		"finops-operator-collectors":         append(slices.Clone(both), "9003", "9090", "6432", "8443", "9103"),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ports: -want, +got:\n%s", diff)
	}
}

// restricted shows that the API server takes the controller's pod in a namespace
// where it enforces the profile of that name.
func restricted(t *testing.T, c client.Client, manifest string) {
	t.Helper()
	namespace := &corev1.Namespace{}
	namespace.GenerateName = "restricted-"
	var pod *corev1.Pod
	for _, o := range parse(t, manifest) {
		switch o.GetKind() {
		case "Namespace":
			namespace.Labels = o.GetLabels()
		case "Deployment":
			template, _, err := unstructured.NestedMap(o.Object, "spec", "template")
			if err != nil {
				t.Fatal(err)
			}
			pod = &corev1.Pod{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(template, pod); err != nil {
				t.Fatal(err)
			}
		}
	}
	if pod == nil || namespace.Labels["pod-security.kubernetes.io/enforce"] != "restricted" {
		t.Fatalf("want a Deployment and a restricted namespace, got labels %v", namespace.Labels)
	}
	if err := c.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	pod.Namespace, pod.Name = namespace.Name, "controller"
	if err := c.Create(t.Context(), pod.DeepCopy(), client.DryRunAll); err != nil {
		t.Error(err)
	}
	pod.Spec.Containers[0].SecurityContext = nil
	if err := c.Create(t.Context(), pod, client.DryRunAll); err == nil || !strings.Contains(err.Error(), "PodSecurity") {
		t.Errorf("want a pod without a security context to be refused, got %v", err)
	}
}

// trusted shows that the API server can be told as often as somebody wants whom
// to trust, and that this outlasts another "kubectl apply", in either manner.
func trusted(t *testing.T, kubectl func(string, ...string) (string, error)) {
	t.Helper()
	const configuration = "validatingwebhookconfigurations/finops-operator-validating-webhook-configuration"
	t.Cleanup(func() { // Nobody serves these webhooks.
		if _, err := kubectl("", "delete", configuration, "--ignore-not-found"); err != nil {
			t.Error(err)
		}
	})
	bundle := func(step string, args ...string) string {
		if _, err := kubectl("", args...); err != nil {
			t.Fatalf("%s: %v", step, err)
		}
		text, err := kubectl("", "get", configuration, "-o", "jsonpath={.webhooks[*].clientConfig.caBundle} {.webhooks[*].failurePolicy}")
		if err != nil {
			t.Fatalf("%s: %v", step, err)
		}
		return text
	}
	tell := func() string {
		folder := t.TempDir()
		if out, err := exec.Command("go", "run", "../cmd/provider", "certificate", folder).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		told := bundle("tell", "patch", configuration, "--patch-file="+folder+"/trust.yaml")
		if fields := strings.Fields(told); len(fields) != 4 || fields[0] != fields[1] || fields[2] != "Fail" || fields[3] != "Fail" {
			t.Fatalf("want two bundles and two policies, got %q", told)
		}
		return told
	}
	bundle("install", "apply", "-f", "../package/webhookconfigurations")
	before := tell()
	for _, args := range [][]string{
		{"apply", "-f", "../package/webhookconfigurations"},
		{"apply", "--server-side", "--force-conflicts", "-f", "../package/webhookconfigurations"},
		{"apply", "--server-side", "--force-conflicts", "--field-manager=other", "-f", "../package/webhookconfigurations"},
		{"apply", "-f", "../package/webhookconfigurations"},
	} {
		told := tell()
		if told == before {
			t.Errorf("before %q: another certificate has changed nothing", args)
		}
		if diff := cmp.Diff(told, bundle("again", args...)); diff != "" {
			t.Errorf("%q: -before, +after:\n%s", args, diff)
		}
		before = told
	}
	tell()
}
