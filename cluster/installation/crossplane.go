package installation

import (
	"context"
	"fmt"
	"io"

	"github.com/provider-finops/provider-finops/cluster/control"
	"github.com/provider-finops/provider-finops/cluster/crossplane"
	"github.com/provider-finops/provider-finops/cluster/product"
)

// webhookPort is the one that Crossplane gives a package's Service.
const webhookPort = 9443

// StartCrossplane adds Crossplane to the cluster. From then on the product runs
// when its package is installed, and only then; business time may be set before.
func (i *Installation) StartCrossplane(ctx context.Context, o crossplane.Options) (*crossplane.Crossplane, error) {
	o.Dir, o.Kubectl, o.Credentials = i.dir, i.Product.Kubectl, i.Testbed.AccountKubeconfig
	if _, err := o.Kubectl.Run(ctx, "apply", "-k", "examples/crossplane/access"); err != nil {
		return nil, err
	}
	c, err := crossplane.Start(ctx, o)
	if err != nil {
		return nil, err
	}
	i.crossplane = c
	if o.Runtime == crossplane.Deployment {
		i.Product.Uninstall() // Crossplane starts the product, in a pod.
		return c, nil
	}
	i.Product.Uninstall()
	i.Product.Namespace, i.Product.Account = crossplane.Namespace, crossplane.Package
	i.Product.Webhooks = &product.Webhooks{Port: webhookPort, Certificates: c.Certificates(crossplane.Package), Mounted: true}

	following, stop := context.WithCancel(context.WithoutCancel(ctx)) // Until Stop.
	i.unfollow = stop
	i.following.Go(func() {
		c.Follow(following, crossplane.Package, &revisions{i.Product, o.Progress}, i.fail)
	})
	return c, nil
}

// fail tells Wait of what went wrong in the background.
func (i *Installation) fail(err error) {
	select {
	case i.failed <- err:
	default: // Somebody has yet to hear of an earlier one.
	}
}

// InstallPackage installs a version of the product that the registry has, and
// waits until its kinds are served, if they are to be, and its webhooks answer.
func (i *Installation) InstallPackage(ctx context.Context, version string) error {
	if err := i.crossplane.Install(ctx, "Provider", crossplane.Package, version); err != nil {
		return err
	}
	if err := i.WaitForKinds(ctx); err != nil {
		return err
	}
	return i.Product.Webhooks.Asked(ctx, i.Product.Kubectl, i.dir)
}

// OfferFunctions lets composition functions be installed; the program is ours,
// and runs in their place. Commands can switch them on and off from then on.
func (i *Installation) OfferFunctions(ctx context.Context, program string) (err error) {
	i.functions, err = i.crossplane.OfferFunctions(ctx, program, i.fail)
	return err
}

// Commanded is what the commands of a story act upon.
func (i *Installation) Commanded() control.Product {
	if i.functions == nil {
		return i.Product
	}
	return struct {
		*product.Product
		*crossplane.Functions
	}{i.Product, i.functions}
}

// CommandedPods is Commanded where the product runs as pods.
func (i *Installation) CommandedPods(p control.Product) control.Product {
	if i.functions == nil {
		return p
	}
	return struct {
		control.Product
		*crossplane.Functions
	}{p, i.functions}
}

// revisions runs the product as the package manager wants it.
type revisions struct {
	product *product.Product
	out     io.Writer
}

// Run implements crossplane.Runner.
func (r *revisions) Run(ctx context.Context, revision string) error {
	_, _ = fmt.Fprintf(r.out, "revision %s runs\n", revision)
	return r.product.Install(ctx)
}

// Stop implements crossplane.Runner.
func (r *revisions) Stop() { r.product.Uninstall() }
