package frame

import (
	"fmt"
	"math"
	"sync"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// queue is controller-runtime's, but for how it ends. That one may hand an object
// to a worker who has just left, and waits for him for ever, with a lock that the
// other workers need: a controller that is told to stop then does not
// (controller-runtime#3538). Here every worker who waits is given something that
// sends him home, and the queue ends when nobody waits any more.
type queue struct {
	priorityqueue.PriorityQueue[reconcile.Request]

	mu      sync.Mutex
	waiting int // Workers who wait for an object.
	ended   bool
}

func newQueue(controller string, limiter workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	return &queue{PriorityQueue: priorityqueue.New(controller, func(o *priorityqueue.Opts[reconcile.Request]) { o.RateLimiter = limiter })}
}

// GetWithPriority waits for an object, or for the end.
func (q *queue) GetWithPriority() (reconcile.Request, int, bool) {
	if q.come() {
		return reconcile.Request{}, 0, true
	}
	request, priority, _ := q.PriorityQueue.GetWithPriority()

	return request, priority, q.leave()
}

// Get is the same for who does not care about the priority.
func (q *queue) Get() (reconcile.Request, bool) {
	request, _, ended := q.GetWithPriority()
	return request, ended
}

// come counts a worker who is about to wait, and tells whether he is too late.
func (q *queue) come() (ended bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.ended {
		q.waiting++
	}
	return q.ended
}

// leave counts him out, and tells whether he has to go home.
func (q *queue) leave() (ended bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting--
	if q.ended && q.waiting == 0 {
		q.PriorityQueue.ShutDown()
	}
	return q.ended
}

// ShutDown ends the queue.
func (q *queue) ShutDown() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ended {
		return
	}
	q.ended = true
	if q.waiting == 0 {
		q.PriorityQueue.ShutDown()
		return
	}
	first := math.MaxInt
	for n := range q.waiting {
		home := reconcile.Request{}
		home.Name = fmt.Sprintf("go home %d", n) // No object can be called that.
		q.AddWithOpts(priorityqueue.AddOpts{Priority: &first}, home)
	}
}

// ShutDownWithDrain is the same, as it is in controller-runtime.
func (q *queue) ShutDownWithDrain() { q.ShutDown() }

// ShuttingDown tells whether the queue has ended.
func (q *queue) ShuttingDown() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.ended
}
