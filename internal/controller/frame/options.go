package frame

import (
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"github.com/crossplane/crossplane-runtime/v2/pkg/ratelimiter"
	"k8s.io/apimachinery/pkg/runtime"
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
		NewQueue:                newQueue,
	}
}

// onlyWarnings is the runtime's recorder. What succeeds it says of every row
// that is stored, which tells users nothing and costs the API server as much as
// the status does; what happened to an object its kind says itself.
type onlyWarnings struct{ event.Recorder }

// Event records warnings.
func (r onlyWarnings) Event(o runtime.Object, e event.Event) {
	if e.Type == event.TypeWarning {
		r.Recorder.Event(o, e)
	}
}

// WithAnnotations returns such a recorder with annotations.
func (r onlyWarnings) WithAnnotations(keysAndValues ...string) event.Recorder {
	return onlyWarnings{r.Recorder.WithAnnotations(keysAndValues...)}
}

// Recorder returns the recorder of the named controller's events.
func Recorder(mgr ctrl.Manager, name string) event.Recorder {
	return event.NewAPIRecorder(mgr.GetEventRecorderFor(name))
}
