package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/provider-finops/provider-finops/internal/finops/offer"
)

// The modes of the binary (part 0.4).
const (
	modeController = "controller"
	modeAllocation = "cronjob"
	modeCharge     = "collectionjob"
)

// The values of --offering-guard (BETTER-OFF-4).
const (
	guardAll   = "all"
	guardReady = "ready"
)

// aKind is an apiVersion, with or without a group, and a kind.
var aKind = regexp.MustCompile(`^([a-z0-9]([a-z0-9.-]*[a-z0-9])?/)?v[0-9a-z]+/[A-Z][A-Za-z0-9]*$`)

var modes = []string{modeController, modeAllocation, modeCharge}

// flags are the manager's flags. They are registered in every mode, because
// people pass one set of arguments to all of them (part 80.4).
type flags struct {
	mode             string
	skipDBConnection bool

	metricsAddress  string
	metricsSecure   bool
	metricsCertPath string
	metricsCertName string
	metricsCertKey  string

	webhookAddress  string
	webhookCertPath string
	webhookCertName string
	webhookCertKey  string

	probeAddress   string
	leaderElection bool

	debug            bool
	sync             time.Duration
	poll             time.Duration
	maxReconcileRate int

	priceBookNamespaces        string
	openCostRestartMinInterval time.Duration

	enforceAllowOverride    bool
	detectParentCycles      bool
	offeringGuard           string
	releaseNeverActivated   bool
	builtinReleaseAfter     time.Duration
	targetKinds             string
	targetSameNamespaceOnly bool
	legacyReferences        bool

	clockOffset time.Duration
	version     bool

	zap zap.Options
}

// parse reads the flags and refuses what no mode can run with. Help, if it is
// asked for, is written to output; then the error is flag.ErrHelp.
func parse(args []string, output io.Writer) (*flags, error) {
	f := &flags{}
	set := flag.NewFlagSet("provider-finops", flag.ContinueOnError)
	set.SetOutput(io.Discard) // It would write the whole help below every mistake.
	set.Usage = func() { usage(set) }

	set.StringVar(&f.mode, "mode", modeController, "what to run: "+strings.Join(modes, ", "))
	set.BoolVar(&f.skipDBConnection, "skipDBConnection", false, "run the controllers without a database: no migrations, nothing is mirrored")

	set.StringVar(&f.metricsAddress, "metrics-bind-address", "0", "address to serve /metrics on, such as :8443; 0 turns it off")
	set.BoolVar(&f.metricsSecure, "metrics-secure", true, "serve metrics over TLS, to those who may get /metrics")
	set.StringVar(&f.metricsCertPath, "metrics-cert-path", "", "folder of the metrics server's certificate; empty: a self-signed one")
	set.StringVar(&f.metricsCertName, "metrics-cert-name", "tls.crt", "name of the certificate file in that folder")
	set.StringVar(&f.metricsCertKey, "metrics-cert-key", "tls.key", "name of the key file in that folder")

	set.StringVar(&f.webhookAddress, "webhook-bind-address", ":9443", "address to serve the webhooks on")
	set.StringVar(&f.webhookCertPath, "webhook-cert-path", "", "folder of the webhook server's certificate; empty: that of TLS_SERVER_CERTS_DIR, and without it no webhooks are served")
	set.StringVar(&f.webhookCertPath, "certs-dir", "", "the same as --webhook-cert-path")
	set.StringVar(&f.webhookCertName, "webhook-cert-name", "tls.crt", "name of the certificate file in that folder")
	set.StringVar(&f.webhookCertKey, "webhook-cert-key", "tls.key", "name of the key file in that folder")

	set.StringVar(&f.probeAddress, "health-probe-bind-address", ":8081", "address to serve /healthz and /readyz on; 0 turns it off")
	set.BoolVar(&f.leaderElection, "leader-elect", false, "run only while holding the lease, so that replicas stand by")
	set.BoolVar(&f.leaderElection, "leader-election", false, "the same as --leader-elect")

	set.BoolVar(&f.debug, "debug", false, "log what every reconcile does")
	set.DurationVar(&f.sync, "sync", time.Hour, "how often all objects are read anew from the cache")
	set.DurationVar(&f.poll, "poll", 10*time.Minute, "how often a settled object is checked without an event")
	set.IntVar(&f.maxReconcileRate, "max-reconcile-rate", defaultReconcileRate, "reconciles a second, over all kinds")

	set.StringVar(&f.priceBookNamespaces, "pricebook-namespaces", "", "comma-separated namespaces whose price books take part in the election; empty: all")
	set.DurationVar(&f.openCostRestartMinInterval, "opencost-restart-min-interval", 0, "least time between two restarts of OpenCost; below a second it is a second")

	set.BoolVar(&f.enforceAllowOverride, "enforce-allow-override", false, "an Offering with allowOverride: false decides what becomes of its Subscriptions when their parent ends")
	set.BoolVar(&f.detectParentCycles, "detect-parent-cycles", false, "refuse Subscriptions that are their own ancestors, and hold those that got through as CircularDependencyDetected")
	set.StringVar(&f.offeringGuard, "offering-guard", guardAll, "who keeps an Offering from being deleted: all dependents, or ready ones")
	set.BoolVar(&f.releaseNeverActivated, "release-never-activated", false, "let a deleted Subscription that was never activated go at once, without a charge run")
	set.DurationVar(&f.builtinReleaseAfter, "builtin-release-after", 0, "where no charge collector exists, settle a deleted Subscription and let it go after it has waited for one so long; 0: never")
	set.StringVar(&f.targetKinds, "target-kinds", "", "comma-separated kinds that may be targets, as apiVersion/Kind, such as apps/v1/Deployment; empty: all")
	set.BoolVar(&f.targetSameNamespaceOnly, "target-same-namespace-only", false, "permit targets in the namespace of the Subscription only")

	set.BoolVar(&f.legacyReferences, "legacy-reference-namespaces", false, "while migrating: read a stored reference without a namespace as one in the namespace of its object")

	set.DurationVar(&f.clockOffset, "clock-offset", 0, "moves business time, for tests only: it ends contracts and bills at the moved hour")

	set.BoolVar(&f.version, "version", false, "print the version and end")

	f.zap.BindFlags(set)

	if err := set.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			set.SetOutput(output)
			set.Usage()
		}
		return nil, err
	}
	if f.zap.StacktraceLevel == nil && !f.debug && !f.zap.Development {
		// Where an error was reported is for those who develop; who runs this is
		// told in a line what failed.
		if err := set.Set("zap-stacktrace-level", "panic"); err != nil {
			return nil, err
		}
	}
	return f, errors.Join(f.check(set)...)
}

// guard is who keeps an Offering from being deleted.
func (f *flags) guard() offer.Guard {
	if f.offeringGuard == guardReady {
		return offer.GuardReady
	}
	return offer.GuardAll
}

func (f *flags) check(set *flag.FlagSet) []error {
	var wrong []error
	if set.NArg() > 0 {
		wrong = append(wrong, fmt.Errorf("unexpected argument %q", set.Arg(0)))
	}
	if !slices.Contains(modes, f.mode) {
		wrong = append(wrong, fmt.Errorf("--mode must be one of %s, not %q", strings.Join(modes, ", "), f.mode))
	}
	if f.maxReconcileRate < 1 {
		wrong = append(wrong, fmt.Errorf("--max-reconcile-rate must be at least 1, not %d", f.maxReconcileRate))
	}
	if _, _, err := splitAddress(f.webhookAddress); err != nil {
		wrong = append(wrong, fmt.Errorf("--webhook-bind-address must be an address such as :9443: %w", err))
	}
	for _, ns := range splitNames(f.priceBookNamespaces) {
		if len(validation.IsDNS1123Label(ns)) > 0 {
			wrong = append(wrong, fmt.Errorf("--pricebook-namespaces must be names of namespaces, separated by commas: %q is none", ns))
		}
	}
	if f.offeringGuard != guardAll && f.offeringGuard != guardReady {
		wrong = append(wrong, fmt.Errorf("--offering-guard must be %s or %s, not %q", guardAll, guardReady, f.offeringGuard))
	}
	for _, kind := range splitNames(f.targetKinds) {
		if !aKind.MatchString(kind) {
			wrong = append(wrong, fmt.Errorf("--target-kinds must be kinds such as v1/ConfigMap or apps/v1/Deployment, separated by commas: %q is none", kind))
		}
	}
	for _, d := range []struct {
		name  string
		value time.Duration
	}{{"--opencost-restart-min-interval", f.openCostRestartMinInterval}, {"--builtin-release-after", f.builtinReleaseAfter}} {
		if d.value < 0 {
			wrong = append(wrong, fmt.Errorf("%s must not be negative, but is %s", d.name, d.value))
		}
	}
	for name, d := range map[string]time.Duration{"--sync": f.sync, "--poll": f.poll} {
		if d <= 0 {
			wrong = append(wrong, fmt.Errorf("%s must be a positive duration, not %s", name, d))
		}
	}
	return wrong
}

// splitNames returns the names of a comma-separated list. An empty name is
// handed on, so that it is refused: a list that names nobody by mistake must not
// mean everybody.
func splitNames(list string) []string {
	if list == "" {
		return nil
	}
	names := strings.Split(list, ",")
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	return names
}

func usage(set *flag.FlagSet) {
	_, _ = fmt.Fprint(set.Output(), `provider-finops bills Kubernetes tenants.

It runs in one of three modes:
  controller     reconciles FinOpsProviders, PriceBooks, CostJobs, Offerings and Subscriptions
  cronjob        collects allocations from OpenCost, once (a ResourceCostCollection CostJob runs it)
  collectionjob  charges Subscriptions, once (a SubscriptionChargeCollection CostJob runs it)

It also answers questions about what was charged, from the database alone:
  verify         computes every final charge again and reports differences
  explain        shows where a figure comes from

And it helps to install it:
  certificate    makes a certificate for the webhooks

What a mode needs from its environment is listed in docs/reference/configuration.md.

Flags:
`)
	set.PrintDefaults()
}
