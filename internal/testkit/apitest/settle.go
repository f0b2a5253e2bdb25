package apitest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Settle reconciles an object by hand until check holds and a pass of the
// reconciler has written nothing.
func Settle(t testing.TB, r reconcile.Reconciler, obj client.Object, w *Writes, check func(ctx context.Context) error) {
	t.Helper()
	Eventually(t, "a settled "+client.ObjectKeyFromObject(obj).String(), func(ctx context.Context) error {
		w.Take()
		if _, err := r.Reconcile(ctx, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(obj)}); err != nil {
			return err
		}
		written := w.Take()
		if err := check(ctx); err != nil {
			return err
		}
		if len(written) > 0 {
			return fmt.Errorf("still writing: %s", strings.Join(written, ", "))
		}

		return nil
	})
}

// AssertQuiet reconciles a settled object several times and fails if that
// writes anything.
func AssertQuiet(t testing.TB, r reconcile.Reconciler, obj client.Object, w *Writes) {
	t.Helper()
	w.Take()
	for range 3 {
		if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(obj)}); err != nil {
			t.Fatalf("cannot reconcile %s: %v", client.ObjectKeyFromObject(obj), err)
		}
	}
	if written := w.Take(); len(written) > 0 {
		t.Errorf("a settled object was written: %s", strings.Join(written, ", "))
	}
}
