package frame

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// TestQueueEnds ends queues in the middle of their work, over and over: all
// workers go home. One of controller-runtime's hangs within the first dozen.
func TestQueueEnds(t *testing.T) {
	const rounds, workers = 300, 20
	for round := range rounds {
		limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](time.Millisecond, time.Second)
		q, ok := newQueue(fmt.Sprint("ends-", round), limiter).(priorityqueue.PriorityQueue[reconcile.Request])
		if !ok {
			t.Fatal("the controllers would not order what waits by its priority")
		}
		worked := make(chan struct{}, workers)
		var working sync.WaitGroup
		for worker := range workers {
			working.Go(func() {
				for n := 0; ; n++ {
					priority := n % 7
					request := reconcile.Request{}
					request.Name = fmt.Sprintf("%d-%d", worker, n)
					q.AddWithOpts(priorityqueue.AddOpts{Priority: &priority}, request)
					request, _, ended := q.GetWithPriority()
					if ended {
						return
					}
					q.Done(request)
					if n == 50 {
						worked <- struct{}{}
					}
				}
			})
		}
		<-worked
		q.ShutDown()
		home := make(chan struct{})
		go func() {
			working.Wait()
			close(home)
		}()
		select {
		case <-home:
		case <-time.After(time.Minute):
			t.Fatalf("the queue of round %d has ended, and not all workers have gone home", round)
		}
		if _, ended := q.Get(); !ended || !q.ShuttingDown() {
			t.Errorf("the queue of round %d does not say that it has ended", round)
		}
	}
}

// TestQueueWakes ends a queue in which everybody waits and nothing is to be done.
func TestQueueWakes(t *testing.T) {
	q := newQueue("wakes", workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]()).(*queue)
	var working sync.WaitGroup
	for range 10 {
		working.Go(func() {
			if request, ended := q.Get(); !ended {
				t.Errorf("there was nothing to do, and somebody got %v", request)
			}
		})
	}
	for waiting := 0; waiting < 10; {
		q.mu.Lock()
		waiting = q.waiting
		q.mu.Unlock()
	}
	q.ShutDown()
	q.ShutDown() // Twice is no more than once.
	working.Wait()
}
