// Package installation is a test cluster of its own with provider-finops in
// it: a control plane, a database, replayed OpenCost answers and the product,
// built and ready to start at any business time.
package installation

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/provider-finops/provider-finops/cluster/crossplane"
	"github.com/provider-finops/provider-finops/cluster/postgres"
	"github.com/provider-finops/provider-finops/cluster/process"
	"github.com/provider-finops/provider-finops/cluster/product"
	"github.com/provider-finops/provider-finops/cluster/replay"
	"github.com/provider-finops/provider-finops/cluster/testbed"
)

const kindsTimeout = 5 * time.Minute

//go:embed opencost.yaml
var openCostManifest []byte

// Options of an installation.
type Options struct {
	Root     string    // Of the repository.
	Dir      string    // For the binary and all logs.
	Programs []string  // Of the toolbox, beside those of the control plane.
	Anchor   time.Time // The hour that the first recorded one is told about.
	Items    int       // Made-up ones in each hour, beside the recorded.
	Binary   string    // Of the product; empty: build it.
	Node     bool      // With a node that runs pods; in a realm only.
	Still    bool      // On that node CronJobs do not fire; whoever moves time runs them.

	// Now is OpenCost's business time; nil: the Product's.
	Now func() time.Time

	Progress io.Writer
}

// An Installation is running, but for the controller: that starts when
// business time is first set.
type Installation struct {
	Testbed *testbed.Testbed
	Product *product.Product
	Psql    product.Psql // On the product's database.

	dir string

	crossplane *crossplane.Crossplane // Nil without.
	functions  *crossplane.Functions  // Nil without.
	following  sync.WaitGroup
	unfollow   context.CancelFunc
	failed     chan error
}

// Start brings everything up. It uses nothing that the user has named for
// tests, because whatever it bills and deletes has to be its own.
func Start(ctx context.Context, o Options) (*Installation, error) {
	i := &Installation{Product: product.New(o.Dir), dir: o.Dir, failed: make(chan error, 1)}
	if err := i.start(ctx, o); err != nil {
		i.Stop()
		return nil, err
	}
	return i, nil
}

func (i *Installation) start(ctx context.Context, o Options) (err error) {
	if o.Now == nil {
		o.Now = i.Product.Now
	}
	i.Testbed, err = testbed.Start(ctx, o.Root, testbed.Parts{
		Fresh:        true,
		Node:         o.Node,
		Still:        o.Still,
		Programs:     o.Programs,
		ControlPlane: true,
		Postgres:     &postgres.Options{Progress: o.Progress},
		Replay:       &replay.Options{Now: o.Now, Anchor: o.Anchor, Items: o.Items},
		Logs:         o.Dir,
	}, o.Progress)
	if err != nil {
		return err
	}
	i.Psql.Path = i.Testbed.Psql
	if i.Psql.DSN, err = product.CreateDatabase(ctx, i.Testbed.Psql, i.Testbed.DSN, "finops"); err != nil {
		return err
	}
	i.Product.DSN, i.Product.OpenCost = i.Psql.DSN, i.Testbed.OpenCost
	i.Product.Credentials = i.Testbed.AccountKubeconfig
	i.Product.Kubectl = product.Kubectl{
		Path: i.Testbed.Tools.Path("kubectl"), Kubeconfig: i.Testbed.Kubeconfig,
		Cache: testbed.KubectlCache(i.Testbed.Kubeconfig), Dir: o.Root,
	}
	if err := i.applyOpenCost(ctx); err != nil {
		return err
	}
	if err := i.prepareWebhooks(); err != nil {
		return err
	}
	if i.Product.Binary = o.Binary; o.Binary == "" {
		i.Product.Binary, err = product.Build(ctx, o.Root, o.Dir, o.Progress)
	}
	return err
}

// Stop takes everything down.
func (i *Installation) Stop() {
	if i.unfollow != nil {
		i.unfollow()
		i.following.Wait()
	}
	i.Product.Stop()
	if i.functions != nil {
		i.functions.Stop()
	}
	if i.crossplane != nil {
		i.crossplane.Stop()
	}
	if i.Testbed != nil {
		i.Testbed.Stop()
	}
}

// Wait returns when the context ends, with nil, or when a part does.
func (i *Installation) Wait(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- i.Testbed.Wait(ctx) }()
	select {
	case err := <-ended:
		return err
	case err := <-i.Product.Failed():
		return err
	case err := <-i.failed:
		return err
	}
}

// RegisterWebhooks tells the API server to ask the controller. From then on
// Offerings and Subscriptions can be created only while one runs.
func (i *Installation) RegisterWebhooks(ctx context.Context) error {
	return i.Product.Webhooks.Register(ctx, i.Product.Kubectl, i.dir)
}

func (i *Installation) prepareWebhooks() error {
	certificates := filepath.Join(i.dir, "webhooks")
	if err := os.Mkdir(certificates, 0o700); err != nil {
		return fmt.Errorf("cannot make the folder for the webhooks' certificate: %w", err)
	}
	ca, err := i.Testbed.ServingCertificate(certificates)
	if err != nil {
		return err
	}
	i.Product.Webhooks, err = product.NewWebhooks(certificates, ca)
	return err
}

// InstallDefinitions applies the CRDs, and the accounts and rights of the plain
// manifests, and waits until the CRDs are served.
func (i *Installation) InstallDefinitions(ctx context.Context) error {
	for _, args := range [][]string{
		{
			"apply", "-f", "package/crds", "-f", "cluster/install/access", "-f", "package/rbac/target-reader.yaml",
			"-f", "cluster/install/tenant-operator/access.yaml", // Some stories are about it.
		},
	} {
		if _, err := i.Product.Kubectl.Run(ctx, args...); err != nil {
			return err
		}
	}
	return i.WaitForKinds(ctx)
}

// WaitForKinds waits until the product's kinds are served.
func (i *Installation) WaitForKinds(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, kindsTimeout)
	defer cancel()
	err := process.WaitFor(ctx, "the product's kinds", func(ctx context.Context) error { // Somebody else may be making them.
		_, err := i.Product.Kubectl.Run(ctx, "wait", "--for=condition=Established", "-f", "package/crds", "--timeout=60s")
		return err
	})
	if err != nil {
		return err
	}
	_, err = i.Product.Kubectl.Run(ctx, "api-resources", "--categories=finops") // So that kubectl knows what is there now.
	return err
}

func (i *Installation) applyOpenCost(ctx context.Context) error {
	manifest := filepath.Join(i.dir, "opencost.yaml")
	if err := os.WriteFile(manifest, openCostManifest, 0o600); err != nil {
		return fmt.Errorf("cannot write the manifest of OpenCost's Deployment: %w", err)
	}
	_, err := i.Product.Kubectl.Run(ctx, "apply", "-f", manifest)
	return err
}
