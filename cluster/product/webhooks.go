package product

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/provider-finops/provider-finops/cluster/process"
)

// webhookManifest is what is installed with a real cluster's Service.
const webhookManifest = "package/webhookconfigurations/finops.stakater.com.yaml"

// Webhooks are where the API server reaches the controller. Outside of the
// cluster it has no Service, so the configuration names an address.
type Webhooks struct {
	Port         int    // The same for every controller, because the configuration names it.
	Certificates string // Folder with tls.crt and tls.key.
	CA           []byte // What the API server has to trust.

	// Mounted says that the controller finds the folder and the port by itself,
	// as it does in a package of Crossplane's.
	Mounted bool
}

// NewWebhooks finds a port that stays free between two controllers.
func NewWebhooks(certificates string, ca []byte) (*Webhooks, error) {
	port, err := process.QuietPort()
	return &Webhooks{Port: port, Certificates: certificates, CA: ca}, err
}

// Register applies the configuration as it is shipped, but for the address.
func (w *Webhooks) Register(ctx context.Context, kubectl Kubectl, dir string) error {
	var configuration map[string]any
	if err := kubectl.read(ctx, &configuration, "create", "--dry-run=client", "--output=json", "-f", webhookManifest); err != nil {
		return err
	}
	if err := w.redirect(configuration); err != nil {
		return fmt.Errorf("cannot use %s: %w", webhookManifest, err)
	}
	file := filepath.Join(dir, "webhooks.json")
	if err := writeJSON(file, configuration); err != nil {
		return err
	}
	if _, err := kubectl.Run(ctx, "apply", "-f", file); err != nil {
		return err
	}
	return WaitUntilAsked(ctx, kubectl, dir)
}

// itself is a Subscription that is refused whatever the cluster holds.
var itself = map[string]any{
	"apiVersion": "finops.stakater.com/v1alpha1", "kind": "Subscription",
	"metadata": map[string]any{"namespace": "default", "name": "itself"},
	"spec": map[string]any{
		"offeringRef": map[string]any{"namespace": "default", "name": "any"},
		"parent":      map[string]any{"subscriptionRef": map[string]any{"namespace": "default", "name": "itself"}},
	},
}

// Asked waits until the API server asks, if somebody else has registered the
// configuration.
func (w *Webhooks) Asked(ctx context.Context, kubectl Kubectl, dir string) error {
	return WaitUntilAsked(ctx, kubectl, dir)
}

// WaitUntilAsked waits until the API server asks the webhooks: it learns of a
// configuration a moment after it has stored it. The folder is for a file.
func WaitUntilAsked(ctx context.Context, kubectl Kubectl, dir string) error {
	file := filepath.Join(dir, "refused.json")
	if err := writeJSON(file, itself); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	return process.WaitFor(ctx, "the API server to ask the webhooks", func(ctx context.Context) error {
		_, err := kubectl.Run(ctx, "create", "--dry-run=server", "-f", file)
		if err != nil && strings.Contains(err.Error(), "CircularDependencyDetected") {
			return nil
		}
		return errors.Join(errors.New("it has not asked yet"), err)
	})
}

// redirect replaces each Service by an address on loopback.
func (w *Webhooks) redirect(configuration map[string]any) error {
	webhooks, _ := configuration["webhooks"].([]any)
	if len(webhooks) == 0 {
		return errors.New("it has no webhooks")
	}
	for _, each := range webhooks {
		webhook, _ := each.(map[string]any)
		client, _ := webhook["clientConfig"].(map[string]any)
		service, _ := client["service"].(map[string]any)
		path, ok := service["path"].(string)
		if !ok {
			return fmt.Errorf("webhook %v names no Service with a path", webhook["name"])
		}
		webhook["clientConfig"] = map[string]any{"url": "https://" + w.address() + path, "caBundle": w.CA}
	}
	return nil
}

func (w *Webhooks) address() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(w.Port)) }

func (w *Webhooks) arguments() []string {
	if w == nil || w.Mounted {
		return nil
	}
	return []string{"--webhook-bind-address=" + w.address(), "--webhook-cert-path=" + w.Certificates}
}

func (w *Webhooks) variable() string {
	if w != nil && w.Mounted {
		return "TLS_SERVER_CERTS_DIR=" + w.Certificates
	}
	return "ENABLE_WEBHOOKS=" + strconv.FormatBool(w != nil)
}

// ready is nil once the controller answers on the address.
func (w *Webhooks) ready(ctx context.Context) error {
	if w == nil {
		return nil
	}
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}} // Whether it speaks is all that is asked.
	connection, err := dialer.DialContext(ctx, "tcp", w.address())
	if err != nil {
		return fmt.Errorf("the webhooks do not answer: %w", err)
	}
	return connection.Close()
}

func writeJSON(file string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("cannot encode a manifest: %w", err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return fmt.Errorf("cannot write a manifest: %w", err)
	}
	return nil
}
