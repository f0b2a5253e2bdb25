package lifecycle

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"k8s.io/client-go/kubernetes"
)

// counters are what has been done so far.
type counters struct {
	reconciles float64 // Of Subscriptions, by the product's own count.
	writes     float64 // To Subscriptions, by the API server's count, whoever made them.
	statement  float64 // When the product last asked the database something, in seconds.
}

func (c counters) since(before counters) counters {
	return counters{c.reconciles - before.reconciles, c.writes - before.writes, c.statement - before.statement}
}

func (w *world) count(ctx context.Context) (counters, error) {
	reconciles, err := w.reconciles(ctx)
	if err != nil {
		return counters{}, err
	}
	writes, err := w.writes(ctx)
	if err != nil {
		return counters{}, err
	}
	statement, err := w.statement(ctx)
	return counters{reconciles, writes, statement}, err
}

func (w *world) reconciles(ctx context.Context) (float64, error) {
	text, err := w.metrics(ctx)
	return sum(text, "controller_runtime_reconcile_total{", `controller="subscription"`), err
}

// metricStates reads from the product how many are in which state: it has
// everybody in memory.
func (w *world) metricStates(ctx context.Context) (states, error) {
	text, err := w.metrics(ctx)
	in := func(state string) int { return int(sum(text, "finops_subscriptions{", `state="`+state+`"`)) }
	objections := int(sum(text, "finops_subscription_gate_failures{"))
	s := states{ready: in("active"), ended: in("ended") + in("deleting")}
	if objections > 0 {
		s.ready = 0
	}
	return s, err
}

func (w *world) metrics(ctx context.Context) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, w.provider.metrics, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("cannot read the product's metrics: %w", err)
	}
	text, err := io.ReadAll(response.Body)
	if closeErr := response.Body.Close(); err == nil {
		err = closeErr
	}
	return text, err
}

// writes are the successful ones: what the server refuses for a conflict changes
// nothing.
func (w *world) writes(ctx context.Context) (float64, error) {
	c, err := kubernetes.NewForConfig(w.server.Config)
	if err != nil {
		return 0, fmt.Errorf("cannot make a client: %w", err)
	}
	text, err := c.RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return 0, fmt.Errorf("cannot read the API server's metrics: %w", err)
	}
	var n float64
	for _, verb := range []string{"PATCH", "APPLY", "PUT", "UPDATE"} {
		n += sum(text, "apiserver_request_total{", `code="200"`, `resource="subscriptions"`, `verb="`+verb+`"`)
	}
	return n, nil
}

// sum adds the samples of a metric that carry all labels.
func sum(text []byte, metric string, labels ...string) float64 {
	var total float64
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if !strings.HasPrefix(line, metric) {
			continue
		}
		all := true
		for _, l := range labels {
			all = all && strings.Contains(line, l)
		}
		if value, err := strconv.ParseFloat(line[strings.LastIndexByte(line, ' ')+1:], 64); all && err == nil {
			total += value
		}
	}
	return total
}

// statement is when the product last sent a statement, by the database's clock.
// What it counts is known only seconds later, so it cannot be waited for. The
// look at the ledger, once a minute, is left out: it concerns no Subscription.
func (w *world) statement(ctx context.Context) (float64, error) {
	var last float64
	err := w.query(ctx, func(c *pgx.Conn) error {
		return c.QueryRow(ctx, `SELECT coalesce(extract(epoch FROM max(query_start)), 0)::float8
			FROM pg_stat_activity WHERE datname = $1 AND application_name LIKE 'provider-finops%' AND query !~ 'allocation_hours|usage_claims'`, w.database).Scan(&last)
	})
	return last, err
}

// peak is the most memory the product has used so far, in MiB.
func (w *world) peak() (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", w.provider.cmd.Process.Pid))
	if err != nil {
		return 0, fmt.Errorf("cannot read the memory of the product: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 64)
			return kib / 1024, err
		}
	}
	return 0, fmt.Errorf("the memory of process %d is not told", w.provider.cmd.Process.Pid)
}
