package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/internal/bench"
)

const (
	// newcomerLimit is how long a newcomer may wait, in seconds, and glance how
	// often it is looked at.
	newcomerLimit = 5
	glance        = 10 * time.Millisecond

	// sessionLimit is how often the product may connect, whatever it has to mirror.
	sessionLimit = 10
)

// measureNewcomer has one more Subscription come to n that have nothing to do.
func (w *world) measureNewcomer(ctx context.Context, n int, offering string) (bench.Measure, error) {
	s := subscription("newcomer", "", offering)
	began := w.clock.Now()
	if err := w.Create(ctx, s); err != nil {
		return bench.Measure{}, fmt.Errorf("cannot create a Subscription: %w", err)
	}
	err := wait.PollUntilContextTimeout(ctx, glance, patience, true, func(ctx context.Context) (bool, error) {
		err := w.Get(ctx, client.ObjectKeyFromObject(s), s)
		return err == nil && s.Status.Ready == metav1.ConditionTrue, err
	})
	took := w.clock.Since(began)
	if err != nil {
		return bench.Measure{}, fmt.Errorf("waiting for the newcomer to be Ready: %w", err)
	}
	return bench.Measure{Value: took.Seconds(), Limit: newcomerLimit, Unit: "s", Notes: []string{
		fmt.Sprintf("among %d Subscriptions, all of them settled", n),
	}}, w.rest(ctx)
}

// measureSessions tells how often the product, which has ended, has connected to
// its database since that was made, to mirror n Subscriptions. The server has
// counted a session at the latest when it is gone.
func (w *world) measureSessions(ctx context.Context, n int) (bench.Measure, error) {
	var sessions, mirrored float64
	err := w.query(ctx, func(c *pgx.Conn) error {
		err := w.wait(ctx, "the sessions to end", func(ctx context.Context) (bool, error) {
			var open int
			err := c.QueryRow(ctx, "SELECT count(*) FROM pg_stat_activity WHERE datname = $1", w.database).Scan(&open)
			return open == 0, err
		})
		if err != nil {
			return err
		}
		return c.QueryRow(ctx, "SELECT sessions::float8 FROM pg_stat_database WHERE datname = $1", w.database).Scan(&sessions)
	})
	if err != nil {
		return bench.Measure{}, fmt.Errorf("cannot count the sessions: %w", err)
	}

	c, err := pgx.Connect(ctx, w.dsn) // Too late to be counted.
	if err != nil {
		return bench.Measure{}, errors.New("cannot connect to the database")
	}
	err = c.QueryRow(ctx, "SELECT count(DISTINCT uid)::float8 FROM subscriptions").Scan(&mirrored)
	if err = errors.Join(err, c.Close(ctx)); err != nil {
		return bench.Measure{}, fmt.Errorf("cannot count what is mirrored: %w", err)
	}
	if int(mirrored) != n {
		return bench.Measure{}, fmt.Errorf("%.0f Subscriptions are mirrored, not %d", mirrored, n)
	}
	return bench.Measure{Value: sessions, Limit: sessionLimit, Unit: "sessions", Notes: []string{
		fmt.Sprintf("%d Subscriptions were mirrored, from the upgrade of the schema to the last goodbye", n),
	}}, nil
}
