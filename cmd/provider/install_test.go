package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// The plain manifests, seen from here.
const install = "../../cluster/install"

// manager is the controller's container of the plain manifests.
func manager(t *testing.T) (corev1.PodSpec, corev1.Container) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(install, "controller", "20-deployment.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var d appsv1.Deployment
	if err := yaml.UnmarshalStrict(text, &d); err != nil {
		t.Fatal(err)
	}
	pod := d.Spec.Template.Spec
	if len(pod.Containers) != 1 {
		t.Fatalf("want one container, got %d", len(pod.Containers))
	}
	return pod, pod.Containers[0]
}

// TestInstalledFlags gives the binary what the manifests give it: flags that it
// knows, with values it takes, and ports that the probes and Services mean.
func TestInstalledFlags(t *testing.T) {
	pod, c := manager(t)
	f, err := parse(c.Args, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]any{
		"mode": f.mode, "lease": f.leaderElection, "secure": f.metricsSecure, "debug": f.debug,
		"probes": f.probeAddress, "metrics": f.metricsAddress, "webhooks": f.webhookAddress, "certificate": f.webhookCertPath,
	}
	ports := map[string]string{}
	for _, p := range c.Ports {
		ports[p.Name] = fmt.Sprintf(":%d", p.ContainerPort)
	}
	want := map[string]any{
		"mode": modeController, "lease": true, "secure": true, "debug": false,
		"probes": ports["probes"], "metrics": ports["metrics"], "webhooks": ports["webhooks"], "certificate": c.VolumeMounts[0].MountPath,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	if diff := cmp.Diff(webhookSecret, pod.Volumes[0].Secret.SecretName); diff != "" {
		t.Errorf("the Secret with the certificate: -want, +got:\n%s", diff)
	}
}

// TestInstalledVariables gives the binary the variables of the manifests, and
// finds each of them explained.
func TestInstalledVariables(t *testing.T) {
	_, c := manager(t)
	page, err := os.ReadFile("../../docs/reference/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{}
	for _, v := range c.Env {
		values[v.Name] = v.Value
		if v.ValueFrom != nil && v.ValueFrom.SecretKeyRef != nil && v.ValueFrom.SecretKeyRef.Key != v.Name {
			t.Errorf("%s comes from key %s of its Secret", v.Name, v.ValueFrom.SecretKeyRef.Key)
		}
		if !strings.Contains(string(page), "`"+v.Name+"`") {
			t.Errorf("%s is not explained", v.Name)
		}
	}
	values["POSTGRES_CONNECTION_STRING"] = "postgres://finops@db/finops" // The two that come from Secrets.
	values["OPENCOST_CONNECTION_STRING"] = "http://opencost.opencost:9003"
	env, err := readEnvironment(func(name string) string { return values[name] })
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(c.Image, env.operatorImage); diff != "" {
		t.Errorf("image of the collectors: -controller's, +theirs:\n%s", diff)
	}
}

// TestInstalledWhole shows that kustomize and "kubectl apply -f" are given the
// same files, and definitions are not forgotten.
func TestInstalledWhole(t *testing.T) {
	for _, folder := range []string{install + "/access", install + "/controller", "../../package"} {
		text, err := os.ReadFile(filepath.Join(folder, "Kustomization"))
		if err != nil {
			t.Fatal(err)
		}
		var k struct{ Resources []string }
		if err := yaml.Unmarshal(text, &k); err != nil {
			t.Fatal(err)
		}
		patterns := []string{"*.yaml"}
		if folder == "../../package" {
			patterns = []string{"crds/*.yaml", "rbac/target-reader.yaml", "webhookconfigurations/*.yaml"}
		}
		var files []string
		for _, pattern := range patterns {
			found, err := filepath.Glob(filepath.Join(folder, pattern))
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range found {
				name, err := filepath.Rel(folder, file)
				if err != nil {
					t.Fatal(err)
				}
				files = append(files, name)
			}
		}
		slices.Sort(files)
		slices.Sort(k.Resources)
		if diff := cmp.Diff(files, k.Resources); diff != "" {
			t.Errorf("%s: -files, +listed:\n%s", folder, diff)
		}
	}
}
