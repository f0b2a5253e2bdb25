package apitest

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/yaml"
)

// A Door is where webhooks are served on loopback: an address, and a folder with
// a certificate for it and who vouches for that.
type Door struct{ envtest.WebhookInstallOptions }

// NewDoor makes one. Nobody stands at it yet.
func NewDoor(t testing.TB) Door {
	t.Helper()
	d := Door{}
	if err := d.PrepWithoutInstalling(); err != nil {
		t.Fatalf("cannot make a certificate for webhooks: %v", err)
	}
	t.Cleanup(func() {
		if err := d.Cleanup(); err != nil {
			t.Errorf("cannot remove the certificate for webhooks: %v", err)
		}
	})
	return d
}

// Address is that of the door.
func (d Door) Address() string {
	return net.JoinHostPort(d.LocalServingHost, strconv.Itoa(d.LocalServingPort))
}

// Serve has a manager serve its webhooks there.
func (d Door) Serve(o *ctrl.Options) {
	o.WebhookServer = webhook.NewServer(webhook.Options{Host: d.LocalServingHost, Port: d.LocalServingPort, CertDir: d.LocalServingCertDir})
}

// Install applies the webhook configuration that is shipped until the test ends,
// but for the Service that fronts the controller in a cluster: the API server asks
// at the door.
func (d Door) Install(t testing.TB, c client.Client) *admissionregistrationv1.ValidatingWebhookConfiguration {
	t.Helper()
	hook := ShippedWebhooks(t)
	for i := range hook.Webhooks {
		asked := &hook.Webhooks[i].ClientConfig
		url := "https://" + d.Address() + *asked.Service.Path
		*asked = admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: d.LocalServingCAData}
	}
	if err := c.Create(t.Context(), hook); err != nil {
		t.Fatalf("cannot install the webhooks: %v", err)
	}
	t.Cleanup(func() {
		if err := c.Delete(context.Background(), hook); err != nil {
			t.Errorf("cannot remove the webhooks: %v", err)
		}
	})
	return hook
}

// ShippedWebhooks is the webhook configuration of the package.
func ShippedWebhooks(t testing.TB) *admissionregistrationv1.ValidatingWebhookConfiguration {
	t.Helper()
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "package", "webhookconfigurations", "finops.stakater.com.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	hook := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	if err := yaml.UnmarshalStrict(text, hook); err != nil {
		t.Fatalf("cannot read the shipped webhooks: %v", err)
	}
	return hook
}
