package apitest

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// within is how long a condition may take to come true. It is generous: a test
// that waits in vain has failed anyway.
const within = 2 * time.Minute

// Eventually waits until check returns nil, and fails with its last error.
func Eventually(t testing.TB, what string, check func(ctx context.Context) error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, within, true, func(ctx context.Context) (bool, error) {
		last = check(ctx)
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("%s did not come true: %v", what, last)
	}
}
