package scrape

import (
	"fmt"
	"net/http"
	"testing"
	"time"
)

// TestGuessing guesses tokens. What is remembered of them has a bound.
func TestGuessing(t *testing.T) {
	var r recent
	now := time.Date(2026, time.March, 5, 0, 0, 0, 0, time.UTC)
	guess := func(n int) question { return question{token: fmt.Sprint(n), verb: "get", path: "/metrics"} }
	for n := range 3 * maxRemembered {
		r.remember(guess(n), http.StatusUnauthorized, now.Add(refusedFor), now)
		if len(r.answers) > maxRemembered {
			t.Fatalf("After %d guesses %d are remembered", n+1, len(r.answers))
		}
	}
	if _, known := r.recall(guess(3*maxRemembered-1), now); !known {
		t.Error("The last guess is not remembered")
	}

	later := now.Add(refusedFor)
	r.remember(guess(-1), http.StatusOK, later.Add(admittedFor), later)
	if len(r.answers) != 1 {
		t.Errorf("What is stale makes room before anything else: %d are left", len(r.answers))
	}
}
