package frame

import (
	"sync"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"k8s.io/apimachinery/pkg/types"
)

// Again lets a pass ask for the next one. The runtime knows only one interval,
// and what is waited for here is no error that would back off.
type Again struct {
	mu sync.Mutex
	in map[types.UID]time.Duration
}

// In asks for a pass over the object after d, counted from the end of this one.
func (a *Again) In(mg resource.Managed, d time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.in == nil {
		a.in = map[types.UID]time.Duration{}
	}
	a.in[mg.GetUID()] = d
}

// take returns what was asked for, once. A nil Again was never asked.
func (a *Again) take(mg resource.Managed) (time.Duration, bool) {
	if a == nil {
		return 0, false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	d, ok := a.in[mg.GetUID()]
	delete(a.in, mg.GetUID())

	return d, ok
}
