package lifecycle

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
)

const (
	// tenant is where everything lies.
	tenant = "tenant"

	// hands is how many requests the measurement makes at once, which the server
	// takes at about its full rate.
	hands = 16

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
// hands, on Subscriptions of the same size.
func (w *world) rawRate(ctx context.Context, n int) (float64, error) {
	scratch := make([]*v1alpha1.Subscription, n)
	err := each(ctx, n, func(ctx context.Context, i int) error {
		scratch[i] = subscription(fmt.Sprintf("scratch-%d", i), "", "plain")
		return w.Create(ctx, scratch[i])
	})
	if err != nil {
		return 0, err
	}
	now := metav1.NewTime(w.clock.Now())
	began := w.clock.Now()
	err = each(ctx, n, func(ctx context.Context, i int) error {
		s := scratch[i]
		s.Status.ActivatedAt, s.Status.CompatibilityRoot = &now, string(s.UID)
		s.Report(v1alpha1.Ready(v1alpha1.ReasonActivationSucceeded, "every gate passes"), v1alpha1.Active(v1alpha1.ReasonActivationSucceeded, "every gate passes"))
		return w.Status().Update(ctx, s)
	})
	took := w.clock.Since(began)
	if err != nil {
		return 0, err
	}
	err = each(ctx, n, func(ctx context.Context, i int) error { return w.Delete(ctx, scratch[i]) })
	return float64(n) / took.Seconds(), err
}
