package lifecycle

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
)

const (
	// tenant is where everything lies.
	tenant = "tenant"

	// hands is how many requests the measurement makes at once, which the server
	// takes at about its full rate.
	hands = 16

	// planPrefix begins the names of the Offerings that a crowd subscribes to.
	planPrefix = "plan-"

	// pageSize of lists.
	pageSize = 500
)

func offering(name string, requires ...string) *v1alpha1.Offering {
	o := &v1alpha1.Offering{ObjectMeta: metav1.ObjectMeta{Namespace: tenant, Name: name}}
	for _, r := range requires {
		if o.Spec.Compatibility == nil {
			o.Spec.Compatibility = &v1alpha1.Compatibility{}
		}
		o.Spec.Compatibility.RequiredOfferings = append(o.Spec.Compatibility.RequiredOfferings, v1alpha1.ObjectReference{Namespace: tenant, Name: r})
	}
	return o
}

func subscription(name, parent, offering string) *v1alpha1.Subscription {
	s := &v1alpha1.Subscription{
		ObjectMeta: metav1.ObjectMeta{Namespace: tenant, Name: name},
		Spec:       v1alpha1.SubscriptionSpec{OfferingRef: v1alpha1.ObjectReference{Namespace: tenant, Name: offering}},
	}
	if parent != "" {
		s.Spec.Parent = &v1alpha1.SubscriptionParent{SubscriptionRef: v1alpha1.ObjectReference{Namespace: tenant, Name: parent}}
	}
	return s
}

// furnish makes what every measurement begins with.
func (w *world) furnish(ctx context.Context) error {
	return w.create(ctx,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: tenant}},
		offering("suite"), offering("node"), offering("part", "node"), offering("plain"))
}

// plan is the name of one of the Offerings that a crowd subscribes to.
func plan(i int) string { return planPrefix + strconv.Itoa(i) }

// offer makes so many Offerings and waits until they can be sold.
func (w *world) offer(ctx context.Context, n int) error {
	if err := each(ctx, n, func(ctx context.Context, i int) error { return w.Create(ctx, offering(plan(i))) }); err != nil {
		return err
	}
	return w.wait(ctx, "the Offerings to be ready", func(ctx context.Context) (bool, error) {
		ready := 0
		for page := ""; ; {
			list := &v1alpha1.OfferingList{}
			if err := w.List(ctx, list, client.InNamespace(tenant), client.Limit(pageSize), client.Continue(page)); err != nil {
				return false, fmt.Errorf("cannot list Offerings: %w", err)
			}
			for i := range list.Items {
				if strings.HasPrefix(list.Items[i].Name, planPrefix) && list.Items[i].Status.Ready == metav1.ConditionTrue {
					ready++
				}
			}
			if page = list.Continue; page == "" {
				return ready == n, nil
			}
		}
	})
}

func (w *world) create(ctx context.Context, objects ...client.Object) error {
	for _, o := range objects {
		if err := w.Create(ctx, o); err != nil {
			return fmt.Errorf("cannot create %s: %w", o.GetName(), err)
		}
	}
	return nil
}

// each does something n times, as many at once as there are hands.
func each(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(hands)
	for i := range n {
		group.Go(func() error { return do(ctx, i) })
	}
	return group.Wait()
}

// states counts Subscriptions.
type states struct{ ready, ended, all int }

func (w *world) states(ctx context.Context) (states, error) {
	var s states
	for page := ""; ; {
		list := &v1alpha1.SubscriptionList{}
		if err := w.List(ctx, list, client.InNamespace(tenant), client.Limit(pageSize), client.Continue(page)); err != nil {
			return s, fmt.Errorf("cannot list Subscriptions: %w", err)
		}
		for i := range list.Items {
			s.all++
			if list.Items[i].Status.Ready == metav1.ConditionTrue {
				s.ready++
			}
			if list.Items[i].Status.DeactivatedAt != nil {
				s.ended++
			}
		}
		if page = list.Continue; page == "" {
			return s, nil
		}
	}
}

// until waits for a state of all Subscriptions. It looks by the product's own
// metrics: to list thousands again and again would be measured as well.
func (w *world) until(ctx context.Context, what string, holds func(states) bool) error {
	return w.wait(ctx, what, func(ctx context.Context) (bool, error) {
		s, err := w.metricStates(ctx)
		return err == nil && holds(s), err
	})
}

// rest waits until the product has nothing to do any more.
func (w *world) rest(ctx context.Context) error {
	var last counters
	quiet := 0
	return w.wait(ctx, "rest", func(ctx context.Context) (bool, error) {
		now, err := w.count(ctx)
		if err != nil {
			return false, err
		}
		if now == last {
			quiet++
		} else {
			quiet = 0
		}
		last = now
		return time.Duration(quiet)*look >= time.Second, nil
	})
}

// rawRate is how many status updates a second the server takes from so many
// hands. The objects are like those that the product works on, and so is the
// write: it ends what is active. Nobody watches them.
func (w *world) rawRate(ctx context.Context, n int) (float64, error) {
	scratch := make([]*v1alpha1.Subscription, n)
	err := each(ctx, n, func(ctx context.Context, i int) error {
		s := subscription(fmt.Sprintf("scratch-%d", i), "root", "part")
		s.Finalizers = []string{v1alpha1.SubscriptionFinalizer}
		if err := w.Create(ctx, s); err != nil {
			return err
		}
		now := metav1.NewTime(w.clock.Now())
		s.Status.ActivatedAt, s.Status.CompatibilityRoot = &now, string(s.UID)
		s.Report(v1alpha1.Ready(v1alpha1.ReasonActivationSucceeded, "every gate passes"), v1alpha1.Active(v1alpha1.ReasonActivationSucceeded, "every gate passes"))
		s.SetConditions(xpv2.ReconcileSuccess())
		scratch[i] = s
		return w.Status().Update(ctx, s)
	})
	if err != nil {
		return 0, err
	}
	now := metav1.NewTime(w.clock.Now())
	began := w.clock.Now()
	err = each(ctx, n, func(ctx context.Context, i int) error {
		s := scratch[i]
		s.Status.DeactivatedAt = &now
		s.Report(
			v1alpha1.NotReady(v1alpha1.ReasonValidationSucceeded, "deactivated: "+v1alpha1.ReasonCompatibilityRequirementNotMet),
			v1alpha1.Inactive(v1alpha1.ReasonCompatibilityRequirementNotMet, "required offering tenant/node not covered by an active subscription in the family"))
		return w.Status().Update(ctx, s)
	})
	took := w.clock.Since(began)
	if err != nil {
		return 0, err
	}
	err = each(ctx, n, func(ctx context.Context, i int) error {
		if err := w.Patch(ctx, scratch[i], client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))); err != nil {
			return err
		}
		return w.Delete(ctx, scratch[i])
	})
	return float64(n) / took.Seconds(), err
}

// rawRateAround measures the raw rate before and after something, without the
// product: what else the machine does changes within a minute. It returns the
// rate of both together.
func (w *world) rawRateAround(ctx context.Context, do func() error) (float64, error) {
	before, err := w.rawRate(ctx, sampleSize)
	if err != nil {
		return 0, err
	}
	if err := do(); err != nil {
		return 0, err
	}
	if err := w.stopProvider(); err != nil {
		return 0, err
	}
	after, err := w.rawRate(ctx, sampleSize)
	w.env.Logf("%.0f raw status writes a second before, %.0f after", before, after)
	return 2 / (1/before + 1/after), err
}
