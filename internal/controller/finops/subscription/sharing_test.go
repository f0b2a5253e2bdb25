package subscription

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
)

// bubble is the clock of the goroutines that a test has to itself: nothing waits
// for it in earnest.
var bubble = clock.RealClock{}

// slowly answers after a second, with what was true when it was asked: a
// generation that grows by the second.
func slowly(reads *atomic.Int32, fails error) interceptor.Funcs {
	began := bubble.Now()
	return interceptor.Funcs{Get: func(_ context.Context, _ client.WithWatch, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
		reads.Add(1)
		into.SetName(key.Name)
		into.SetGeneration(int64(bubble.Since(began) / time.Second))
		bubble.Sleep(time.Second)
		return fails
	}}
}

// TestSharedReadIsNoOlderThanItsQuestion has many ask for the same object, at
// different times while reads are on their way. All get an answer that was
// given after they asked, and far fewer reads are made than there are questions.
func TestSharedReadIsNoOlderThanItsQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reads atomic.Int32
		began := bubble.Now()
		shared := newSharing(store(t, slowly(&reads, nil)))

		var all sync.WaitGroup
		for i := range 100 {
			all.Go(func() {
				bubble.Sleep(time.Duration(i) * 50 * time.Millisecond)
				asked := bubble.Since(began)
				o := &v1alpha1.Offering{}
				if err := shared.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "basic"}, o); err != nil {
					t.Error(err)
				}
				if said := time.Duration(o.Generation) * time.Second; said < asked.Truncate(time.Second) {
					t.Errorf("asked at %s, answered with what was true at %s", asked, said)
				}
			})
		}
		all.Wait()
		if n := reads.Load(); n > 7 {
			t.Errorf("%d reads for a hundred questions within five seconds", n)
		}
	})
}

// TestSharedReadOfTwo never hands one object's answer to who asked for another,
// or a failure to who asked after it.
func TestSharedReadOfTwo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reads atomic.Int32
		shared := newSharing(store(t, slowly(&reads, nil)))
		var all sync.WaitGroup
		for i := range 40 {
			all.Go(func() {
				name := strconv.Itoa(i % 2)
				o := &v1alpha1.Offering{}
				if err := shared.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: name}, o); err != nil || o.Name != name {
					t.Errorf("asked for %s, got %q, %v", name, o.Name, err)
				}
			})
		}
		all.Wait()

		failing := newSharing(store(t, slowly(&reads, fmt.Errorf("once: %w", errDown))))
		for range 10 {
			all.Go(func() {
				if err := failing.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "basic"}, &v1alpha1.Offering{}); !errors.Is(err, errDown) {
					t.Errorf("want the failure of the read, got %v", err)
				}
			})
		}
		all.Wait()
		if len(shared.next)+len(shared.running)+len(failing.next)+len(failing.running) > 0 {
			t.Error("something of the reads is still remembered")
		}
	})
}
