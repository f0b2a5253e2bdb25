package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/provider-finops/provider-finops/cluster/deployed"
	"github.com/provider-finops/provider-finops/cluster/product"
	"github.com/provider-finops/provider-finops/cluster/testbed"
	"github.com/provider-finops/provider-finops/cluster/toolbox"
)

// DatabaseVariable names, to stories in a cluster that the user has named, the
// product's own database, as it is reached from here. Stories that look at it
// fail without.
const DatabaseVariable = "FINOPS_TEST_DATABASE"

// storyNamespaces is what the names of the stories' namespaces begin with.
const storyNamespaces = "finops-story-"

// tellNamed tells the story in the cluster that the user has named.
func (r *run) tellNamed(ctx context.Context, s story, dir string, out io.Writer) error {
	kubeconfig := os.Getenv(testbed.KubeconfigVariable)
	if kubeconfig == "" {
		return fmt.Errorf("cannot tell stories in a cluster of yours: %s names none", testbed.KubeconfigVariable)
	}
	kubeconfig, err := filepath.Abs(kubeconfig)
	if err != nil {
		return fmt.Errorf("cannot find the kubeconfig: %w", err)
	}
	return r.tellBeside(ctx, s, kubeconfig, dir, out)
}

// tellBeside tells the story in somebody's cluster, in a namespace of its own.
// What the story has done to the controller's flags and clock is undone at its
// end, and the namespace deleted: it goes by itself, once a charge run has settled
// what was activated in it.
func (r *run) tellBeside(ctx context.Context, s story, kubeconfig, dir string, out io.Writer) error {
	tools, err := toolbox.Open(ctx, r.Root, out, toolbox.Kuttl...)
	if err != nil {
		return err
	}
	kubectl := product.Kubectl{Path: tools.Path("kubectl"), Kubeconfig: kubeconfig, Cache: filepath.Join(dir, "kubectl-cache"), Dir: r.Root}
	p := deployed.NewFound(kubectl, r.Root, dir)
	if err := p.Look(ctx); err != nil {
		return err
	}
	defer p.Stop()
	namespace := fmt.Sprintf("%s%s-%08x", storyNamespaces, s.name, rand.Uint32())
	if _, err := kubectl.Run(ctx, "create", "namespace", namespace); err != nil {
		return err
	}
	env := []string{"KUBECONFIG=" + kubeconfig, "KUBECACHEDIR=" + kubectl.Cache, "DSN=" + os.Getenv(DatabaseVariable), "PSQL=psql"}
	tell := func() error { return r.serve(ctx, s, dir, out, p, tools, env, "--namespace="+namespace) }
	var told error
	if r.Stories != "" {
		told = tell()
	} else {
		told = tellOurs(ctx, s, p, namespace, tell)
	}

	ctx = context.WithoutCancel(ctx) // Told to stop, we tidy up all the same.
	restored := p.Restore(ctx)
	_, deleted := kubectl.Run(ctx, "delete", "namespace", namespace, "--wait=false")
	if deleted == nil {
		_, _ = fmt.Fprintf(out, "namespace %s is deleted; what was activated in it stays until its hour is over and a run has charged it\n", namespace)
	}
	return errors.Join(told, restored, deleted)
}

// tellOurs sets the clock that one of our own stories may go by, and removes what
// it makes outside of its namespace, before the clock is what it was.
func tellOurs(ctx context.Context, s story, p *deployed.Found, namespace string, tell func() error) error {
	before, err := lookAround(ctx, p.Kubectl)
	if err != nil {
		return err
	}
	if !atMachineTime(s) {
		if err := p.MoveTo(ctx, begin); err != nil {
			return err
		}
	}
	told := tell()
	return errors.Join(told, before.remove(context.WithoutCancel(ctx), namespace))
}
