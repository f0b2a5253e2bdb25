package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// made runs the command and reads what it writes.
func made(t *testing.T, args ...string) (corev1.Secret, admissionv1.ValidatingWebhookConfiguration) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	folder := filepath.Join(t.TempDir(), "certificate")
	if code := run(t.Context(), append(append([]string{"certificate"}, args...), folder), os.Getenv, &stdout, &stderr); code != 0 {
		t.Fatalf("certificate %q: exit code %d, %s", args, code, &stderr)
	}
	var (
		secret        corev1.Secret
		configuration admissionv1.ValidatingWebhookConfiguration
	)
	for name, into := range map[string]any{"trust.yaml": &configuration, "secret.yaml": &secret} {
		file := filepath.Join(folder, name)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.UnmarshalStrict(text, into); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(stdout.String(), file) {
			t.Errorf("it does not say what to do with %s: %s", file, &stdout)
		}
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s is to be read by nobody else, got %v, %v", name, info.Mode(), err)
		}
	}
	if len(configuration.Webhooks) != 2 {
		t.Fatalf("want 2 webhooks, got %d", len(configuration.Webhooks))
	}
	return secret, configuration
}

// TestCertificate shakes hands as the API server would.
func TestCertificate(t *testing.T) {
	secret, configuration := made(t, "--namespace=billing", "--days=7")
	if diff := cmp.Diff("billing/webhook-server-cert", secret.Namespace+"/"+secret.Name); diff != "" {
		t.Errorf("Secret: -want, +got:\n%s", diff)
	}
	pair, err := tls.X509KeyPair(secret.Data["tls.crt"], secret.Data["tls.key"])
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range configuration.Webhooks {
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(w.ClientConfig.CABundle) {
			t.Fatalf("webhook %s trusts nobody", w.Name)
		}
		for name, want := range map[string]bool{
			"finops-operator-webhook-service.billing.svc":               true,
			"finops-operator-webhook-service.billing.svc.cluster.local": true,
			"elsewhere.billing.svc":                                     false,
		} {
			_, err := pair.Leaf.Verify(x509.VerifyOptions{DNSName: name, Roots: roots})
			if diff := cmp.Diff(want, err == nil); diff != "" {
				t.Errorf("webhook %s trusts server %s: -want, +got:\n%s%v", w.Name, name, diff, err)
			}
		}
	}
}

// TestAlsoTrust shows that a certificate can be replaced without a moment in
// which neither the old nor the new one is trusted.
func TestAlsoTrust(t *testing.T) {
	before, _ := made(t)
	file := filepath.Join(t.TempDir(), "old.crt")
	if err := os.WriteFile(file, before.Data["tls.crt"], 0o600); err != nil {
		t.Fatal(err)
	}
	after, configuration := made(t, "--also-trust="+file)
	want := string(after.Data["tls.crt"]) + string(before.Data["tls.crt"])
	if diff := cmp.Diff(want, string(configuration.Webhooks[0].ClientConfig.CABundle)); diff != "" {
		t.Errorf("caBundle: -want, +got:\n%s", diff)
	}
}

func TestCertificateRefusals(t *testing.T) {
	key := filepath.Join(t.TempDir(), "tls.key")
	before, _ := made(t)
	if err := os.WriteFile(key, before.Data["tls.key"], 0o600); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		reason string
		arg    string
		said   string
	}{
		"NoDays":      {"A certificate that is never valid serves nobody.", "--days=0", "--days must be from 1 to 36500, not 0"},
		"TooManyDays": {"One that is valid until before it was made neither.", "--days=200000", "--days must be from 1 to 36500, not 200000"},
		"Missing":     {"A file that is not there trusts nobody, which is not what was asked.", "--also-trust=" + key + ".none", "cannot read --also-trust"},
		"Key":         {"A key is not to be published.", "--also-trust=" + key, "holds no certificate in PEM"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			code := run(t.Context(), []string{"certificate", tc.arg, filepath.Join(t.TempDir(), "none")}, os.Getenv, &stdout, &stderr)
			if code != 2 || stdout.Len() > 0 || !strings.Contains(stderr.String(), tc.said) {
				t.Errorf("%s\nwant exit code 2 and %q, got %d, %s%s", tc.reason, tc.said, code, &stdout, &stderr)
			}
		})
	}
}
