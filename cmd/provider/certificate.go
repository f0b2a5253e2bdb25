package main

import (
	"bytes"
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"os"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/provider-finops/provider-finops/internal/webhook"
)

const certificateUsage = `provider-finops certificate [--namespace NAME] [--days N] [--also-trust FILE]

Makes a certificate for the webhooks and prints what has to be applied: for the
API server whom to trust, and the Secret that the controller serves from. The
ValidatingWebhookConfiguration has to be there; no other field of it is touched:

  provider-finops certificate | kubectl apply --server-side --field-manager=finops-certificate -f -

Nothing is read from a cluster, and the key is nowhere but in what is printed.

`

// Names that the installation's manifests use too.
const (
	webhookService       = "finops-operator-webhook-service"
	webhookSecret        = "webhook-server-cert" //nolint:gosec // A name.
	webhookConfiguration = "finops-operator-validating-webhook-configuration"
)

func makeCertificate(_ context.Context, args []string, _ func(string) string, stdout, stderr io.Writer) int {
	set := commandFlags("certificate", certificateUsage)
	namespace := set.String("namespace", "finops-operator-system", "where the controller is installed")
	days := set.Int("days", 3650, "how long the certificate is valid")
	also := set.String("also-trust", "", "`file` of a certificate in PEM that the API server is to trust as well: the one in use, until the controller has the new one")
	if code, done := parsed(set, args, 0, 0, stdout, stderr); done {
		return code
	}
	if *days < 1 {
		return refuse(stderr, fmt.Errorf("--days must be at least 1, not %d", *days))
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
	manifests, err := certificateManifests(*namespace, c, append(c.Cert, trusted...))
	if err != nil {
		return failed(stderr, err)
	}
	if _, err := stdout.Write(manifests); err != nil {
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

func certificateManifests(namespace string, c webhook.Certificate, trusted []byte) ([]byte, error) {
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
	configuration := object{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
		"metadata": object{"name": webhookConfiguration},
		"webhooks": webhooks,
	}
	var out bytes.Buffer
	for _, o := range []object{configuration, secret} { // Nobody presents what is not trusted yet.
		text, err := yaml.Marshal(o)
		if err != nil {
			return nil, fmt.Errorf("cannot encode a manifest: %w", err)
		}
		out.WriteString("---\n")
		out.Write(text)
	}
	return out.Bytes(), nil
}
