package objects

import (
	"context"
	"errors"
	"fmt"
	"testing"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestRetryOnConflict(t *testing.T) {
	conflict := kerrors.NewConflict(schema.GroupResource{Resource: "costjobs"}, "hourly", errors.New("it has changed"))
	late := fmt.Errorf("cannot write: %w", context.DeadlineExceeded)
	stopped := fmt.Errorf("cannot write: %w", context.Canceled)
	refused := errors.New("refused")
	cases := map[string]struct {
		reason   string
		attempts []error // The last one goes on.
		want     error
		tried    int
	}{
		"AtOnce":   {reason: "Most changes succeed.", attempts: []error{nil}, tried: 1},
		"Later":    {reason: "Somebody else was faster, once.", attempts: []error{conflict, nil}, tried: 2},
		"Never":    {reason: "Somebody else is faster all the time.", attempts: []error{conflict}, want: conflict, tried: 5},
		"Refused":  {reason: "What is refused is refused again.", attempts: []error{refused}, want: refused, tried: 1},
		"TooLate":  {reason: "What ran out of time has not succeeded.", attempts: []error{late}, want: late, tried: 1},
		"Stopped":  {reason: "Nor has what was cancelled.", attempts: []error{stopped}, want: stopped, tried: 1},
		"LateThen": {reason: "Not even after a conflict.", attempts: []error{conflict, late}, want: late, tried: 2},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tried := 0
			err := RetryOnConflict(func() error {
				tried++
				return tc.attempts[min(tried, len(tc.attempts))-1]
			})
			if !errors.Is(err, tc.want) || (err == nil) != (tc.want == nil) || tried != tc.tried {
				t.Errorf("%s\nwant %v after %d attempts, got %v after %d", tc.reason, tc.want, tc.tried, err, tried)
			}
		})
	}
}
