package main

import (
	"io"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
)

// TestReconcileRate has the limiter of the controllers asked by more and more
// objects, all at once. At one a second it soon tells somebody to wait, and at
// the default, which is for families of ten thousand, nobody of as many.
func TestReconcileRate(t *testing.T) {
	const crowd = 10_000
	cases := map[string]struct {
		reason string
		args   []string
		want   bool
	}{
		"Default": {
			reason: "The default lets a large family through as fast as the server takes it.",
		},
		"One": {
			reason: "What the flag says is what all controllers are held to.",
			args:   []string{"--max-reconcile-rate=1"},
			want:   true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f, err := parse(tc.args, io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			limiter := controllerOptions(f, logr.Discard(), clock.RealClock{}).Limiter
			waits := false
			for range crowd {
				waits = waits || limiter.When("subscription/red/blue") > 0
			}
			if waits != tc.want {
				t.Errorf("%s: somebody waits: want %t, got %t", tc.reason, tc.want, waits)
			}
		})
	}
}
