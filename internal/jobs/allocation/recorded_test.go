package allocation

import (
	"encoding/json"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// recorded are answers of a real OpenCost.
const recorded = "../../clients/opencost/testdata"

// TestRecordedHour collects an hour that a real OpenCost has answered and
// compares every stored quantity with the answer, which is read in another way:
// as a whole, by the standard library, into rationals.
func TestRecordedHour(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(recorded, "hour10-ns-pod-container.json"))
	if err != nil {
		t.Fatal(err)
	}
	began := time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)
	pinned := int(began.Sub(at(0))/time.Hour) + 1

	w := newWorld(t)
	w.settings.Limits.LookbackHours = 1
	w.opencost.answer(pinned-1, func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write(text) })
	w.collect(pinned)

	got := w.list(`SELECT concat_ws(' ', name, namespace, to_char(alloc_start AT TIME ZONE 'UTC', 'HH24:MI'), to_char(alloc_end AT TIME ZONE 'UTC', 'HH24:MI'),
		trim_scale(cpu_core_usage_avg), trim_scale(ram_bytes_usage_avg), trim_scale(gpu_usage_avg), trim_scale(pv_byte_hours),
		trim_scale(network_transfer_bytes + network_receive_bytes)) FROM provider_allocations WHERE hour = '2026-11-29T10:00:00Z' ORDER BY name`)
	if diff := cmp.Diff(expected(t, text), got); diff != "" {
		t.Errorf("-recorded, +stored:\n%s", diff)
	}
}

// expected is what is to be stored of a recorded answer, by the mapping of part
// 50.6 and nothing else.
func expected(t *testing.T, text []byte) []string {
	t.Helper()

	var answer struct {
		Data []map[string]struct {
			Properties struct {
				Namespace string `json:"namespace"`
			} `json:"properties"`
			Start    time.Time   `json:"start"`
			End      time.Time   `json:"end"`
			Cores    json.Number `json:"cpuCoreUsageAverage"`
			Bytes    json.Number `json:"ramByteUsageAverage"`
			GPUs     json.Number `json:"gpuCount"`
			GPUUsage json.Number `json:"gpuUsageAverage"`
			Volumes  json.Number `json:"pvByteHours"`
			Sent     json.Number `json:"networkTransferBytes"`
			Received json.Number `json:"networkReceiveBytes"`
		} `json:"data"`
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		t.Fatal(err)
	}

	exact := func(n json.Number) *big.Rat {
		r, ok := new(big.Rat).SetString(n.String())
		if !ok {
			t.Fatalf("%q is no number", n)
		}
		return r
	}
	plain := func(r *big.Rat) string {
		places, _ := r.FloatPrec()
		return r.FloatString(places)
	}

	lines := make([]string, 0, len(answer.Data[0]))
	for name, item := range answer.Data[0] {
		line := []string{name, item.Properties.Namespace, item.Start.UTC().Format("15:04"), item.End.UTC().Format("15:04")}
		for _, quantity := range []*big.Rat{
			exact(item.Cores), exact(item.Bytes), new(big.Rat).Mul(exact(item.GPUUsage), exact(item.GPUs)), exact(item.Volumes),
			new(big.Rat).Add(exact(item.Sent), exact(item.Received)),
		} {
			line = append(line, plain(quantity))
		}
		lines = append(lines, strings.Join(line, " "))
	}
	slices.Sort(lines)
	return lines
}
