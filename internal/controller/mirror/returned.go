package mirror

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// probeEvery is how long a database that is back goes unnoticed. Objects would
// find out for themselves, but each only as late as its own backoff says.
const probeEvery = 5 * time.Second

// Start notices when a database that was away is back, and tells those who have
// asked to be told. It ends with its context.
func (m *Mirror) Start(ctx context.Context) error {
	wait.UntilWithContext(ctx, m.Probe, probeEvery)
	return nil
}

// Probe asks a database that was away whether it is back.
func (m *Mirror) Probe(ctx context.Context) {
	m.mu.Lock()
	if !m.missed {
		m.mu.Unlock()
		return
	}
	m.failedAt = time.Time{} // Who asks here does not have to wait.
	_, err := m.load(ctx)
	var tell []func()
	if err == nil {
		m.missed, tell = false, m.returned
	}
	m.mu.Unlock()
	for _, f := range tell {
		f()
	}
}

// Usable tells whether what is stored now is likely to be stored. A nil Mirror
// always is.
func (m *Mirror) Usable() bool {
	if m == nil {
		return true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.loaded && !m.missed
}

// Returned is a source of requests for a controller: those that a function
// lists when the database is back.
func (m *Mirror) Returned(all func(context.Context) []reconcile.Request) source.Source {
	return source.Func(func(ctx context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		if m == nil {
			return nil
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		m.returned = append(m.returned, func() {
			for _, r := range all(ctx) {
				q.Forget(r) // Its backoff was for the database.
				q.Add(r)
			}
		})
		return nil
	})
}
