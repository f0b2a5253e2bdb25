package collect

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// watchServer tells how long the server has computed for the collecting process,
// by looking at the processes of its sessions now and then. The server has to be
// on this machine, as a measured one is; of another nothing is known.
func watchServer(ctx context.Context, pool *pgxpool.Pool) (computed func() time.Duration) {
	stop, told := make(chan struct{}), make(chan time.Duration, 1)
	go func() {
		most := map[int]time.Duration{}
		for tick := time.NewTicker(20 * time.Millisecond); ; {
			select {
			case <-stop:
				tick.Stop()
				var sum time.Duration
				for _, of := range most {
					sum += of
				}
				told <- sum
				return
			case <-tick.C:
			}
			rows, err := pool.Query(ctx, "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'provider-finops allocations'")
			if err != nil {
				continue
			}
			pids, _ := pgx.CollectRows(rows, pgx.RowTo[int])
			for _, pid := range pids {
				most[pid] = max(most[pid], computedBy(pid))
			}
		}
	}()
	return func() time.Duration {
		close(stop)
		return <-told
	}
}

// computedBy is the processor time of a process; zero of one that has gone.
func computedBy(pid int) time.Duration {
	const hertz = 100 // The kernel's unit in this file, whatever its own clock.
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, after, found := strings.Cut(string(text), ") ") // Behind the name, which may hold anything.
	fields := strings.Fields(after)
	if err != nil || !found || len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseInt(fields[11], 10, 64)
	system, _ := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * time.Second / hertz
}

// bottleneck says what a pass waits for: whoever computes longest is not made up
// for by the others.
func bottleneck(wall, process, server time.Duration) string {
	who := "the server"
	if process > server {
		who = "the collecting process"
	}
	return fmt.Sprintf("in these %.1f s the server computed for %.1f s and the collecting process for %.1f s: %s is what the rest waits for",
		wall.Seconds(), server.Seconds(), process.Seconds(), who)
}
