package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
	"github.com/provider-finops/provider-finops/internal/testkit/pgtest"
)

// A replica is the product as a process of its own, which competes for the lease.
type replica struct {
	cmd  *exec.Cmd
	done chan error
}

// replicas run side by side on one API server and one database.
type replicas struct {
	client.WithWatch

	t           *testing.T
	ns          string
	environment []string
}

func (r *replicas) start() *replica {
	r.t.Helper()
	cmd := exec.Command(os.Args[0], "--leader-elect", "--health-probe-bind-address=0")
	cmd.Env = r.environment
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	log, err := os.Create(filepath.Join(r.t.TempDir(), "log"))
	if err != nil {
		r.t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	p := &replica{cmd: cmd, done: make(chan error, 1)}
	go func() { p.done <- errors.Join(cmd.Wait(), log.Close()) }()
	r.t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // Or it has ended, which is as good.
		if text, err := os.ReadFile(log.Name()); err == nil && r.t.Failed() {
			r.t.Logf("process %d said:\n%s", p.cmd.Process.Pid, text)
		}
	})
	return p
}

// holder is who holds the lease, empty if nobody does.
func (r *replicas) holder(ctx context.Context) (string, error) {
	lease := &coordinationv1.Lease{}
	err := r.Get(ctx, client.ObjectKey{Namespace: r.ns, Name: leaseName}, lease)
	if err != nil || lease.Spec.HolderIdentity == nil {
		return "", client.IgnoreNotFound(err)
	}
	return *lease.Spec.HolderIdentity, nil
}

// leads waits until somebody else than before holds the lease.
func (r *replicas) leads(before string) (holder string) {
	r.t.Helper()
	apitest.Eventually(r.t, "another leader", func(ctx context.Context) (err error) {
		if holder, err = r.holder(ctx); err == nil && (holder == "" || holder == before) {
			err = fmt.Errorf("the lease is held by %q", holder)
		}
		return err
	})
	return holder
}

func (r *replicas) signal(p *replica, s os.Signal) {
	r.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		r.t.Fatal(err)
	}
}

// family subscribes a root, its only vm, and so many that require one.
func (r *replicas) family(name string, size int) {
	r.t.Helper()
	subscribe := func(name, parent, offering string) {
		s := &v1alpha1.Subscription{
			ObjectMeta: metav1.ObjectMeta{Namespace: r.ns, Name: name},
			Spec:       v1alpha1.SubscriptionSpec{OfferingRef: v1alpha1.ObjectReference{Namespace: r.ns, Name: offering}},
		}
		if parent != "" {
			s.Spec.Parent = &v1alpha1.SubscriptionParent{SubscriptionRef: v1alpha1.ObjectReference{Namespace: r.ns, Name: parent}}
		}
		if err := r.Create(r.t.Context(), s); err != nil {
			r.t.Fatal(err)
		}
	}
	subscribe(name+"-root", "", "basic")
	subscribe(name+"-vm", name+"-root", "vm")
	for i := range size {
		subscribe(fmt.Sprintf("%s-disk-%d", name, i), name+"-root", "disk")
	}
}

// come waits until all Subscriptions but the roots have come to a state.
func (r *replicas) come(what, prefix string, holds func(*v1alpha1.Subscription) bool) (versions map[string]string) {
	r.t.Helper()
	apitest.Eventually(r.t, what, func(ctx context.Context) error {
		versions = map[string]string{}
		members := 0
		list := &v1alpha1.SubscriptionList{}
		if err := r.List(ctx, list, client.InNamespace(r.ns)); err != nil {
			return err
		}
		for _, s := range list.Items {
			versions[s.Name] = s.ResourceVersion
			if s.Name == prefix+"-root" || !strings.HasPrefix(s.Name, prefix+"-") {
				continue
			}
			members++
			if !holds(&s) {
				return fmt.Errorf("%s: %v", s.Name, s.Status.Conditions)
			}
		}
		if members == 0 {
			return errors.New("there is nobody")
		}
		return nil
	})
	return versions
}

func billed(s *v1alpha1.Subscription) bool {
	return s.Status.Ready == metav1.ConditionTrue && s.Status.ActivatedAt != nil && s.Status.DeactivatedAt == nil
}

func over(s *v1alpha1.Subscription) bool { return s.Status.DeactivatedAt != nil }

// writtenOnce watches until the test ends that nothing that is written once is
// written twice.
func (r *replicas) writtenOnce() {
	w, err := r.Watch(r.t.Context(), &v1alpha1.SubscriptionList{}, client.InNamespace(r.ns))
	if err != nil {
		r.t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		seen := map[string]v1alpha1.SubscriptionStatus{}
		for e := range w.ResultChan() {
			s, ok := e.Object.(*v1alpha1.Subscription)
			if !ok || e.Type == watch.Deleted {
				continue
			}
			was, is := seen[s.Name], s.Status
			if was.ActivatedAt != nil && !was.ActivatedAt.Equal(is.ActivatedAt) ||
				was.DeactivatedAt != nil && !was.DeactivatedAt.Equal(is.DeactivatedAt) ||
				was.CompatibilityRoot != "" && was.CompatibilityRoot != is.CompatibilityRoot {
				r.t.Errorf("%s was written again: %+v, before %+v", s.Name, is, was)
			}
			seen[s.Name] = is
		}
	}()
	r.t.Cleanup(func() { w.Stop(); <-done })
}

// TestTakeover kills the leader in the middle of a cascade, and suspends the next
// one for longer than its lease. Who stands by takes over within the lease and
// finishes the work, nothing that is written once is written twice, and whoever
// wakes up without the lease writes nothing and goes.
func TestTakeover(t *testing.T) {
	c := apitest.Client(t)
	r := &replicas{WithWatch: c, t: t, ns: apitest.Namespace(t, c)}
	r.environment = append(os.Environ(), asItself+"=yes", "KUBECONFIG="+apitest.Kubeconfig(t, "replica"), "POD_NAMESPACE="+r.ns,
		"POSTGRES_CONNECTION_STRING="+pgtest.Database(t).DSN, "ENABLE_WEBHOOKS=false", "OPENCOST_CONNECTION_STRING=http://127.0.0.1:1",
		"OPENCOST_DEPLOYMENT_NAME=opencost", "OPENCOST_DEPLOYMENT_NAMESPACE="+r.ns)
	for name, requires := range map[string]*v1alpha1.Compatibility{
		"basic": nil, "vm": nil, "disk": {RequiredOfferings: []v1alpha1.ObjectReference{{Namespace: r.ns, Name: "vm"}}},
	} {
		if err := r.Create(t.Context(), &v1alpha1.Offering{ObjectMeta: metav1.ObjectMeta{Namespace: r.ns, Name: name}, Spec: v1alpha1.OfferingSpec{Compatibility: requires}}); err != nil {
			t.Fatal(err)
		}
	}
	r.writtenOnce()
	remove := func(name string) {
		t.Helper()
		if err := r.Delete(t.Context(), &v1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Namespace: r.ns, Name: name}}); err != nil {
			t.Fatal(err)
		}
	}

	first := r.start()
	holder := r.leads("")
	second := r.start()
	r.family("a", 40)
	r.come("a billed family", "a", billed)

	remove("a-vm")
	apitest.Eventually(t, "the cascade's beginning", func(ctx context.Context) error {
		s := &v1alpha1.Subscription{}
		if err := r.Get(ctx, client.ObjectKey{Namespace: r.ns, Name: "a-vm"}, s); err != nil || !over(s) {
			return errors.Join(err, errors.New("the vm has not ended"))
		}
		return nil
	})
	r.signal(first, syscall.SIGKILL)
	holder = r.leads(holder)
	r.come("the end of the cascade", "a", over)

	r.family("b", 10)
	r.come("a billed family under the second leader", "b", billed)
	third := r.start()
	r.signal(second, syscall.SIGSTOP)
	remove("b-vm")
	r.leads(holder)
	r.come("the end under the third leader", "b", over)
	before := r.come("rest", "b", func(s *v1alpha1.Subscription) bool {
		for _, condition := range s.Status.Conditions {
			if condition.Type == v1alpha1.TypeSynced {
				return condition.Status == metav1.ConditionTrue
			}
		}
		return false
	})

	r.signal(second, syscall.SIGCONT)
	select {
	case err := <-second.done:
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() == 0 {
			t.Errorf("Who has lost the lease ends, and not as if all were well; got %v", err)
		}
	case <-time.After(5 * time.Minute):
		t.Fatal("who has lost the lease goes on")
	}
	after := r.come("the same", "b", over)
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("somebody wrote: -before +after:\n%s", diff)
	}
	r.signal(third, syscall.SIGTERM)
	if err := <-third.done; err != nil {
		t.Errorf("the last one did not end as it was told: %v", err)
	}
	list := &v1alpha1.SubscriptionList{}
	if err := r.List(t.Context(), list, client.InNamespace(r.ns)); err != nil {
		t.Fatal(err)
	}
	for i := range list.Items {
		if err := r.Patch(t.Context(), &list.Items[i], client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))); client.IgnoreNotFound(err) != nil {
			t.Error(err)
		}
	}
}
