package charge

import (
	"time"

	"github.com/provider-finops/provider-finops/internal/finops/hour"
	"github.com/provider-finops/provider-finops/internal/finops/tick"
)

// Lag is how far behind now the slowest Subscription is settled, of those that are
// still charged: who has ended counts until its last hour is final. The lives, and
// the latest final hours of those that have one, are by uid. Without anybody to be
// charged nobody lags behind.
func Lag(now time.Time, lives map[string]tick.Life, finalThrough map[string]time.Time) time.Duration {
	var lag time.Duration
	for uid, life := range lives {
		if life.ActivatedAt.IsZero() {
			continue
		}
		settled := life.ActivatedAt
		if through, some := finalThrough[uid]; some && through.Add(hour.Length).After(settled) {
			settled = through.Add(hour.Length)
		}
		if life.Ended() && !settled.Before(life.DeactivatedAt) {
			continue
		}
		lag = max(lag, now.Sub(settled))
	}
	return lag
}
