package frame

import (
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"github.com/crossplane/crossplane-runtime/v2/pkg/ratelimiter"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller"
)

// FieldManager owns what the controllers write.
const FieldManager = "finops-controller"

// Options are common to all controllers. What only one kind needs is an
// argument of that kind's Setup.
type Options struct {
	Logger logging.Logger

	// Clock is business time: it may be moved for tests (--clock-offset).
	Clock clock.PassiveClock

	// Poll is how long a settled object waits until it is looked at again
	// without an event.
	Poll time.Duration

	// MaxConcurrentReconciles is per kind.
	MaxConcurrentReconciles int

	// Limiter bounds the reconciles of all kinds together.
	Limiter ratelimiter.RateLimiter
}

// ForControllerRuntime returns the options of one kind's controller.
func (o Options) ForControllerRuntime() controller.Options {
	recoverPanic := true
	return controller.Options{
		MaxConcurrentReconciles: o.MaxConcurrentReconciles,
		RateLimiter:             ratelimiter.NewController(),
		RecoverPanic:            &recoverPanic,
	}
}

// Recorder returns the recorder of the named controller's events.
func Recorder(mgr ctrl.Manager, name string) event.Recorder {
	return event.NewAPIRecorder(mgr.GetEventRecorderFor(name))
}
