package objects

import "k8s.io/client-go/util/retry"

// RetryOnConflict tries a change again, a few times, while it fails because
// somebody else has changed the object meanwhile. Whatever the last attempt came
// to is what it returns: client-go's function of that name takes an attempt that
// ran out of time, or was cancelled, for one that succeeded.
func RetryOnConflict(change func() error) error {
	var last error
	_ = retry.RetryOnConflict(retry.DefaultRetry, func() error { //nolint:forbidigo // Here alone.
		last = change()
		return last
	})
	return last
}
