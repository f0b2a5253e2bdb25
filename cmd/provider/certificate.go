package main

import (
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/provider-finops/provider-finops/internal/webhook"
)

const certificateUsage = `provider-finops certificate [--namespace NAME] [--days N] [--also-trust FILE] FOLDER

Makes a certificate for the webhooks and writes two files into the folder: whom
the API server has to trust, and the Secret that the controller serves from. It
prints how they are applied. The ValidatingWebhookConfiguration has to be there;
no other field of it is touched.

Nothing is read from a cluster, and the key is nowhere but in the Secret's file.

`

// Names that the installation's manifests use too.
const (
	webhookService       = "finops-operator-webhook-service"
	webhookSecret        = "webhook-server-cert" //nolint:gosec // A name.
	webhookConfiguration = "finops-operator-validating-webhook-configuration"
)

// maxDays is a hundred years. Three times as many do not fit a duration, and would
// make a certificate that ends before it begins.
const maxDays = 100 * 365

// What the command writes.
const (
	trustFile  = "trust.yaml"
	secretFile = "secret.yaml"
)

func makeCertificate(_ context.Context, args []string, _ func(string) string, stdout, stderr io.Writer) int {
	set := commandFlags("certificate", certificateUsage)
	namespace := set.String("namespace", "finops-operator-system", "where the controller is installed")
	days := set.Int("days", 3650, "how long the certificate is valid")
	also := set.String("also-trust", "", "`file` of a certificate in PEM that the API server is to trust as well: the one in use, until the controller has the new one")
	if code, done := parsed(set, args, 1, 1, stdout, stderr); done {
		return code
	}
	if *days < 1 || *days > maxDays {
		return refuse(stderr, fmt.Errorf("--days must be from 1 to %d, not %d", maxDays, *days))
	}
	trusted, err := readTrusted(*also)
	if err != nil {
		return refuse(stderr, err)
	}

	service := webhookService + "." + *namespace + ".svc"
	c, err := webhook.SelfSigned([]string{service, service + ".cluster.local"}, time.Now(), time.Duration(*days)*24*time.Hour)
	if err != nil {
		return failed(stderr, err)
	}
	folder := set.Arg(0)
	if err := writeCertificate(folder, *namespace, c, append(c.Cert, trusted...)); err != nil {
		return failed(stderr, err)
	}
	_, err = fmt.Fprintf(stdout, `kubectl patch validatingwebhookconfigurations %s --patch-file=%s &&
  kubectl apply --server-side --field-manager=finops-certificate -f %s
`, webhookConfiguration, filepath.Join(folder, trustFile), filepath.Join(folder, secretFile))
	if err != nil {
		return failed(stderr, err)
	}
	return 0
}

// readTrusted reads certificates and refuses what is none; no file has none.
func readTrusted(file string) ([]byte, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file) //nolint:gosec // The user names it.
	if err != nil {
		return nil, fmt.Errorf("cannot read --also-trust: %w", err)
	}
	if block, _ := pem.Decode(text); block == nil || block.Type != "CERTIFICATE" {
		return nil, fmt.Errorf("cannot use --also-trust: %q holds no certificate in PEM", file)
	}
	return text, nil
}

// writeCertificate writes the two files. What is trusted is a patch: kubectl's
// apply, in either manner, hands fields from one manager to another, so whoever
// applies a part of an object applies it once and is refused from then on.
func writeCertificate(folder, namespace string, c webhook.Certificate, trusted []byte) error {
	type object = map[string]any
	secret := object{
		"apiVersion": "v1", "kind": "Secret",
		"metadata": object{"name": webhookSecret, "namespace": namespace},
		"type":     "kubernetes.io/tls",
		"data":     object{"tls.crt": c.Cert, "tls.key": c.Key},
	}
	webhooks := make([]object, 0, 2)
	for _, name := range []string{"voffering-v1alpha1.kb.io", "vsubscription-v1alpha1.kb.io"} {
		webhooks = append(webhooks, object{"name": name, "clientConfig": object{"caBundle": trusted}})
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("cannot make a folder for the certificate: %w", err)
	}
	for name, o := range map[string]object{trustFile: {"webhooks": webhooks}, secretFile: secret} {
		text, err := yaml.Marshal(o)
		if err != nil {
			return fmt.Errorf("cannot encode %s: %w", name, err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o600); err != nil {
			return fmt.Errorf("cannot write the certificate: %w", err)
		}
	}
	return nil
}
