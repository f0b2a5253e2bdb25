package process

import (
	"context"
	"fmt"
	"time"
)

// pollInterval is how often a condition outside this process is looked at.
const pollInterval = 50 * time.Millisecond

// WaitFor looks until done says yes. It gives up when the context ends, saying
// what was waited for and why the last look said no, or when one of the
// processes that the condition depends on ends.
func WaitFor(ctx context.Context, what string, done func(context.Context) error, on ...*Process) error {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		last := done(ctx)
		if last == nil {
			return nil
		}
		for _, p := range on {
			select {
			case <-p.Done():
				return fmt.Errorf("cannot wait for %s: %w", what, p.Ended())
			default:
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("cannot wait any longer for %s (%w); last seen: %w", what, context.Cause(ctx), last)
		case <-tick.C:
		}
	}
}
