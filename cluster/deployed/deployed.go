// Package deployed runs provider-finops as its users do: from the plain
// manifests, as pods of a cluster. Business time is the harness's to choose
// here too: the controller's Deployment gets another --clock-offset, and a
// collector's Job is made of its CronJob, with the hour and the same offset.
package deployed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/provider-finops/provider-finops/cluster/process"
	"github.com/provider-finops/provider-finops/cluster/product"
)

// Of the plain manifests.
const (
	deployment = "deployment/finops-operator-controller-manager"
	pods       = "control-plane=controller-manager"
)

// clockFlag moves business time.
const clockFlag = "--clock-offset="

const (
	rolloutTimeout = 5 * time.Minute
	logGrace       = 2 * time.Second
)

// A Product is provider-finops in a cluster. Install makes it run.
type Product struct {
	Kubectl  product.Kubectl // As administrator.
	Root     string          // Of the repository.
	Dir      string          // For what is applied, and for logs.
	Image    string          // The cluster can run it.
	DSN      string          // Of the product's database, as pods reach it.
	OpenCost string          // Base URL, as pods reach it.

	restart  func(context.Context) error // See rerun; nil: from the plain manifests.
	settings settings                    // Beside those that it always has.
	offset   atomic.Int64                // Nanoseconds of business time ahead of the machine's.
	log      *process.Process
}

// Now is business time.
func (p *Product) Now() time.Time { return time.Now().UTC().Add(p.clockOffset()) }

func (p *Product) clockOffset() time.Duration { return time.Duration(p.offset.Load()) }

// SetTime sets business time before the controller runs; it is the machine's
// otherwise.
func (p *Product) SetTime(at time.Time) { p.offset.Store(int64(time.Until(at))) }

// Install applies the manifests, with all that the guide says to have ready,
// and waits until the controller runs and is asked. The binary makes the
// certificate.
func (p *Product) Install(ctx context.Context, binary string) error {
	secrets := filepath.Join(p.Dir, "secrets.json")
	if err := writeJSON(secrets, p.secrets()); err != nil {
		return err
	}
	certificate := filepath.Join(p.Dir, "certificate")
	if out, err := process.Command(ctx, binary, "certificate", certificate).CombinedOutput(); err != nil {
		return fmt.Errorf("cannot make a certificate: %w\n%s", err, out)
	}
	overlay, err := p.writeOverlay()
	if err != nil {
		return err
	}
	for _, args := range [][]string{
		{"apply", "-f", "cluster/install/access/00-namespace.yaml", "-f", secrets},
		{"apply", "-k", overlay},
		{"apply", "-f", "cluster/install/tenant-operator/access.yaml"}, // Some stories are about it.
		{
			"patch", "validatingwebhookconfigurations", "finops-operator-validating-webhook-configuration",
			"--patch-file=" + filepath.Join(certificate, "trust.yaml"),
		},
		{"apply", "--server-side", "--field-manager=finops-certificate", "-f", filepath.Join(certificate, "secret.yaml")},
		{"wait", "--for=condition=Established", "crd", "--all", "--timeout=" + rolloutTimeout.String()},
		{"api-resources", "--categories=finops"}, // So that kubectl knows what is there now.
	} {
		if _, err := p.Kubectl.Run(ctx, args...); err != nil {
			return err
		}
	}
	return p.ready(ctx)
}

func (p *Product) secrets() map[string]any {
	secret := func(name, key, value string) map[string]any {
		return map[string]any{
			"apiVersion": "v1", "kind": "Secret",
			"metadata":   map[string]any{"name": name, "namespace": product.Namespace},
			"stringData": map[string]any{key: value},
		}
	}
	return map[string]any{"apiVersion": "v1", "kind": "List", "items": []any{
		secret("finops-operator-postgres-config", "POSTGRES_CONNECTION_STRING", p.DSN),
		secret("finops-operator-opencost-config", "OPENCOST_CONNECTION_STRING", p.OpenCost),
	}}
}

// MoveTo sets business time and restarts the controller there.
func (p *Product) MoveTo(ctx context.Context, at time.Time) error {
	p.SetTime(at)
	return p.rerun(ctx)
}

// Configure restarts the controller with these flags and variables, each in one
// word, instead of those of an earlier call. They stay when time moves.
func (p *Product) Configure(ctx context.Context, words []string) error {
	s, err := parseSettings(words)
	if err != nil {
		return err
	}
	p.settings = s
	return p.rerun(ctx)
}

// rerun runs the controller with flags, variables and clock as they are now.
func (p *Product) rerun(ctx context.Context) error {
	if p.restart != nil {
		return p.restart(ctx)
	}
	return p.apply(ctx)
}

func (p *Product) apply(ctx context.Context) error {
	overlay, err := p.writeOverlay()
	if err != nil {
		return err
	}
	if _, err := p.Kubectl.Run(ctx, "apply", "-k", overlay); err != nil {
		return err
	}
	return p.ready(ctx)
}

// ready waits until the Deployment is as it was last applied and the API server
// asks it, and follows its log from then on.
func (p *Product) ready(ctx context.Context) error {
	timeout := "--timeout=" + rolloutTimeout.String()
	if _, err := p.Kubectl.Run(ctx, "rollout", "status", deployment, "-n", product.Namespace, timeout); err != nil {
		seen, look := p.Kubectl.Run(ctx, "describe", "pods", "-n", product.Namespace, "-l", pods)
		said, listen := p.Kubectl.Run(ctx, "logs", "-n", product.Namespace, "-l", pods, "--tail=15")
		return errors.Join(fmt.Errorf("%w\n%s%s", err, seen, said), look, listen)
	}
	return p.follow(ctx, product.Namespace, pods)
}

// follow waits until the controller's pod is asked, and writes its log to a file
// of the name that it has elsewhere too.
func (p *Product) follow(ctx context.Context, namespace, pods string) (err error) {
	p.stopFollowing()
	p.log, err = process.Start(process.Spec{
		Name: "controller", Path: p.Kubectl.Path, LogDir: p.Dir,
		Args: []string{"logs", "--follow", "-n", namespace, "-l", pods, "--tail=-1"},
		Env:  p.Kubectl.Environment(),
	})
	if err != nil {
		return err
	}
	return product.WaitUntilAsked(ctx, p.Kubectl, p.Dir)
}

func (p *Product) stopFollowing() {
	if p.log != nil {
		p.log.Stop(logGrace)
		p.log = nil
	}
}

// Stop ends what runs outside of the cluster for it.
func (p *Product) Stop() { p.stopFollowing() }

// settings are flags and variables of the controller.
type settings struct{ flags, variables []string }

func (s settings) sets(variable string) bool {
	return slices.ContainsFunc(s.variables, func(v string) bool { return strings.HasPrefix(v, variable+"=") })
}

func parseSettings(words []string) (settings, error) {
	var s settings
	for _, word := range words {
		switch {
		case strings.HasPrefix(word, "--"):
			s.flags = append(s.flags, word)
		case strings.Contains(word, "="):
			s.variables = append(s.variables, word)
		default:
			return s, fmt.Errorf("%q is neither a flag nor a variable with its value", word)
		}
	}
	return s, nil
}

// arguments are those of the container beside what the manifests say.
func (p *Product) arguments() []string {
	if offset := p.clockOffset(); offset != 0 {
		return append([]string{clockFlag + offset.String()}, p.settings.flags...)
	}
	return slices.Clone(p.settings.flags)
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
