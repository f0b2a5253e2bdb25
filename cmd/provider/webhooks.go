package main

import (
	"crypto/tls"
	"fmt"
	"net"
	"path/filepath"
	"strconv"

	"github.com/go-logr/logr"
	ctrlwebhook "sigs.k8s.io/controller-runtime/pkg/webhook"
)

// newWebhookServer returns what serves admission, or nil if that is switched
// off or has no certificate: an API server asks over TLS only. The files are
// read again when they change.
func newWebhookServer(log logr.Logger, f *flags, env environment) (ctrlwebhook.Server, error) {
	if !env.webhooks {
		log.Info("webhooks are switched off by ENABLE_WEBHOOKS=false; remove the ValidatingWebhookConfiguration too, or it refuses what nobody answers for")
		return nil, nil //nolint:nilnil // A nil server is one that is not wanted.
	}
	dir := f.webhookCertPath
	if dir == "" {
		dir = env.webhookCertificates
	}
	if dir == "" {
		log.Info("webhooks are not served, because --webhook-cert-path is not set; the controllers hold what they would refuse")
		return nil, nil //nolint:nilnil // As above.
	}

	cert, key := filepath.Join(dir, f.webhookCertName), filepath.Join(dir, f.webhookCertKey)
	if _, err := tls.LoadX509KeyPair(cert, key); err != nil {
		return nil, &settingError{fmt.Errorf("cannot use the certificate of the webhooks: %w", err)}
	}
	host, port, err := splitAddress(f.webhookAddress)
	if err != nil {
		return nil, &settingError{fmt.Errorf("cannot use --webhook-bind-address: %w", err)}
	}
	return ctrlwebhook.NewServer(ctrlwebhook.Options{
		Host: host, Port: port,
		CertDir: dir, CertName: f.webhookCertName, KeyName: f.webhookCertKey,
		TLSOpts: []func(*tls.Config){withoutHTTP2},
	}), nil
}

// withoutHTTP2 is how both servers speak: HTTP/2's rapid resets are not worth
// it.
func withoutHTTP2(c *tls.Config) { c.NextProtos = []string{"http/1.1"} }

func splitAddress(address string) (string, int, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, err
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil || number == 0 {
		return "", 0, fmt.Errorf("address %s: the port must be a number from 1 to 65535", address)
	}
	return host, int(number), nil
}
