package controller

import (
	"context"
	"strings"
	"time"

	xpcontroller "github.com/crossplane/crossplane-runtime/v2/pkg/controller"
	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/gate"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/customresourcesgate"
	authorizationv1 "k8s.io/api/authorization/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/controller/frame"
)

const (
	// A right to watch definitions is waited for so long, and asked about so often.
	grantPatience = 30 * time.Second
	askAgain      = time.Second

	// An established kind is waited for so long until the API server tells of it,
	// and asked about so often.
	toldPatience = time.Minute
	askSoon      = 100 * time.Millisecond
)

// SetupAsServed adds the controllers whose kinds are served to the manager, and
// the others when theirs are: Crossplane makes the definitions of a package
// with safe-start only once a policy activates them. A kind that is not there
// stops nobody but those that work with it.
//
// Then is called when the controllers of Offerings and Subscriptions are set up,
// which may be long after the manager has started.
func SetupAsServed(ctx context.Context, mgr ctrl.Manager, o frame.Options, s Settings, then func() error) error {
	var waiting []part
	missing := map[schema.GroupVersionKind]bool{}
	for _, p := range parts(mgr, o, s, then) { //nolint:contextcheck // What is set up outlives the call.
		absent, err := unserved(mgr.GetRESTMapper(), p.kinds)
		if err != nil {
			return err
		}
		if len(absent) > 0 {
			waiting = append(waiting, p)
			for _, kind := range absent {
				missing[kind] = true
			}
			continue
		}
		if err := p.setup(); err != nil {
			return err
		}
	}
	if len(waiting) == 0 {
		return nil // Definitions never have to be watched.
	}
	for kind := range missing {
		o.Logger.Info("a kind is not served yet: who works with it starts when it is", "kind", kind.Kind)
	}

	return setupLater(ctx, mgr, o, waiting)
}

// unserved returns the kinds that the API server does not serve.
func unserved(mapper meta.RESTMapper, kinds []schema.GroupVersionKind) ([]schema.GroupVersionKind, error) {
	var absent []schema.GroupVersionKind
	for _, kind := range kinds {
		_, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		switch {
		case meta.IsNoMatchError(err):
			absent = append(absent, kind)
		case err != nil:
			return nil, errors.Wrapf(err, "cannot ask whether %s is served", kind.Kind)
		}
	}

	return absent, nil
}

// setupLater sets up each part when a definition of each of its kinds has been
// established.
func setupLater(ctx context.Context, mgr ctrl.Manager, o frame.Options, waiting []part) error {
	if err := mayWatchDefinitions(ctx, mgr); err != nil {
		return err
	}
	failures := &failures{told: make(chan error, len(waiting))}
	if err := mgr.Add(failures); err != nil {
		return errors.Wrap(err, "cannot watch over what is set up later")
	}
	open := new(gate.Gate[schema.GroupVersionKind])
	for _, p := range waiting {
		open.Register(func() {
			err := told(ctx, mgr.GetRESTMapper(), p.kinds)
			if err == nil {
				o.Logger.Info("the kinds are served: their controllers start", "kinds", kindNames(p.kinds))
				err = p.setup()
			}
			if err != nil {
				failures.told <- err
			}
		}, p.kinds...)
	}

	return errors.Wrap(customresourcesgate.Setup(everywhere{mgr}, xpcontroller.Options{
		Logger: o.Logger, Gate: &untilGone{Gate: open, mapper: mgr.GetRESTMapper()},
	}), "cannot watch for definitions")
}

// told waits until the API server tells of kinds whose definitions have been
// established. It does so a moment later, and whoever sets up a controller
// meanwhile is told that there is no such kind.
func told(ctx context.Context, mapper meta.RESTMapper, kinds []schema.GroupVersionKind) error {
	var absent []schema.GroupVersionKind
	var failed error
	err := wait.PollUntilContextTimeout(ctx, askSoon, toldPatience, true, func(context.Context) (bool, error) {
		absent, failed = unserved(mapper, kinds)
		return failed == nil && len(absent) == 0, nil // A server that is busy is asked again.
	})
	switch {
	case err == nil:
		return nil
	case failed != nil:
		return failed
	}

	return errors.Wrapf(err, "the API server does not tell of %s, whose definitions are established", strings.Join(kindNames(absent), ", "))
}

// untilGone is a gate for which a definition that is being deleted counts as
// long as it is served. It waits for its last object, and that for us.
type untilGone struct {
	xpcontroller.Gate

	mapper meta.RESTMapper
}

// Set implements controller.Gate.
func (g *untilGone) Set(kind schema.GroupVersionKind, ready bool) bool {
	if !ready && kind.Group == v1alpha1.GroupVersion.Group {
		absent, err := unserved(g.mapper, []schema.GroupVersionKind{kind})
		ready = err == nil && len(absent) == 0
	}

	return g.Gate.Set(kind, ready)
}

func kindNames(kinds []schema.GroupVersionKind) []string {
	names := make([]string, 0, len(kinds))
	for _, kind := range kinds {
		names = append(names, kind.Kind)
	}
	return names
}

// mayWatchDefinitions asks before a watch that is forbidden waits forever:
// Crossplane grants it with safe-start, a moment after it has started the
// process; the plain manifests do not.
func mayWatchDefinitions(ctx context.Context, mgr ctrl.Manager) error {
	refused := ""
	err := wait.PollUntilContextTimeout(ctx, askAgain, grantPatience, true, func(ctx context.Context) (done bool, err error) {
		refused, err = refusedVerb(ctx, mgr.GetClient())
		return refused == "", err
	})
	if wait.Interrupted(err) && refused != "" {
		return errors.Errorf("not every kind of %s is served, and the controller may not %s customresourcedefinitions to wait for them: apply the definitions first",
			v1alpha1.GroupVersion.Group, refused)
	}

	return errors.Wrap(err, "cannot ask whether definitions may be watched")
}

// refusedVerb is one that a watch of definitions needs and has not; empty: none.
func refusedVerb(ctx context.Context, c client.Client) (string, error) {
	for _, verb := range []string{"get", "list", "watch"} {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{Group: apiextensionsv1.GroupName, Resource: "customresourcedefinitions", Verb: verb},
		}}
		if err := c.Create(ctx, review); err != nil {
			return "", err
		}
		if !review.Status.Allowed {
			return verb, nil
		}
	}

	return "", nil
}

// Definition keeps of a definition what gates look at, for the cache: the
// schemas of all kinds of a cluster are larger than all else together.
func Definition(obj any) (any, error) {
	crd, ok := obj.(*apiextensionsv1.CustomResourceDefinition)
	if !ok {
		return obj, nil
	}
	kept := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{
			Name: crd.Name, UID: crd.UID, ResourceVersion: crd.ResourceVersion, DeletionTimestamp: crd.DeletionTimestamp,
		},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: crd.Spec.Group,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: crd.Spec.Names.Kind},
		},
		Status: apiextensionsv1.CustomResourceDefinitionStatus{Conditions: crd.Status.Conditions},
	}
	for _, v := range crd.Spec.Versions {
		kept.Spec.Versions = append(kept.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{Name: v.Name, Served: v.Served})
	}

	return kept, nil
}

// failures ends the manager when something could not be set up while it ran: a
// process that works in part would look healthy.
type failures struct{ told chan error }

var _ manager.LeaderElectionRunnable = &failures{}

// Start is called by the manager.
func (f *failures) Start(ctx context.Context) error {
	select {
	case err := <-f.told:
		return err
	case <-ctx.Done():
		return nil
	}
}

// NeedLeaderElection is false, because replicas that stand by set up the same.
func (f *failures) NeedLeaderElection() bool { return false }

// everywhere is a manager whose controllers run in replicas that stand by too:
// these answer webhooks, for which the caches have to be set up.
type everywhere struct{ ctrl.Manager }

// GetControllerOptions implements manager.Manager.
func (m everywhere) GetControllerOptions() config.Controller {
	o := m.Manager.GetControllerOptions()
	no := false
	o.NeedLeaderElection = &no

	return o
}
