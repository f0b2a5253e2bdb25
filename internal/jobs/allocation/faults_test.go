package allocation

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestFaults lets OpenCost fail in the ways that a network and a proxy add to
// its own: the hour fails within its bounds of patience and memory, the others do
// not, nothing of it is stored, no transaction waits meanwhile, and the next run
// heals it.
func TestFaults(t *testing.T) {
	whole := document(at(9), usual(at(9))...)
	const memory = 256 << 20 // The heap grows by arenas of 64 MiB.

	cases := map[string]struct {
		reason string
		answer func(http.ResponseWriter, *http.Request)
		hangs  bool // Only the bound of a request ends it.
		want   string
	}{
		"ResetInTheBody": {
			reason: "The connection is reset when half of the body was sent.",
			answer: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Length", fmt.Sprint(len(whole)))
				_, _ = w.Write([]byte(whole[:len(whole)/2]))
				_ = http.NewResponseController(w).Flush()
				conn, _, err := http.NewResponseController(w).Hijack()
				if err != nil {
					panic(err)
				}
				_ = conn.(*net.TCPConn).SetLinger(0)
				_ = conn.Close()
			},
			want: "the answer is not one whole JSON document",
		},
		"CompressionCutOff": {
			reason: "A proxy compresses, and ends before its stream does.",
			answer: func(w http.ResponseWriter, _ *http.Request) {
				body := compressed(whole, 1)
				w.Header().Set("Content-Encoding", "gzip")
				_, _ = w.Write(body[:len(body)-12])
			},
			want: "it is cut off",
		},
		"HangsAfterTheHeaders": {
			reason: "Nothing follows the headers.",
			answer: func(w http.ResponseWriter, r *http.Request) {
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done()
			},
			hangs: true, want: "(Client.Timeout ",
		},
		"DripByDrip": {
			reason: "Something always comes, and never the end.",
			answer: func(w http.ResponseWriter, r *http.Request) {
				tick := time.NewTicker(50 * time.Millisecond)
				defer tick.Stop()
				for n := 0; ; n++ {
					select {
					case <-r.Context().Done():
						return
					case <-tick.C:
						_, _ = w.Write([]byte{whole[n%len(whole)]})
						_ = http.NewResponseController(w).Flush()
					}
				}
			},
			hangs: true, want: "(Client.Timeout ",
		},
		"TwoGigabytes": {
			reason: "Two gigabytes of a document that is well so far, in a few megabytes on the wire.",
			answer: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Encoding", "gzip")
				_, _ = w.Write(compressed(whole[:len(whole)-2]+strings.Repeat(" ", 1<<20), 1))
				for range 2 << 10 {
					if _, err := w.Write(megabyte); err != nil {
						return
					}
				}
			},
			want: "the answer is too large",
		},
		"OneEndlessName": {
			reason: "A text that does not end is not held in memory.",
			answer: func(w http.ResponseWriter, _ *http.Request) {
				_, _ = fmt.Fprint(w, `{"code":200,"data":[{"`)
				for range 1 << 10 {
					if _, err := w.Write(bytes.Repeat([]byte("x"), 1<<20)); err != nil {
						return
					}
				}
			},
			want: "the answer is too large",
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.settings.Limits.LookbackHours = 2
			w.settings.Timeouts.HTTPClient, w.settings.Timeouts.OpenCostFetch = 10*time.Minute, 10*time.Minute // A huge answer is read up to its limit.
			if tc.hangs {
				w.settings.Timeouts.HTTPClient, w.hasty = 2*time.Second, at(9)
			}
			var waiting atomic.Int64
			w.opencost.answer(9, func(rw http.ResponseWriter, r *http.Request) {
				for _, state := range w.list("SELECT state || ' ' || query FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL AND backend_type = 'client backend'") { //nolint:contextcheck // A request that hangs up must not end the look.
					waiting.Add(1)
					t.Logf("while OpenCost is asked: %s", state)
				}
				tc.answer(rw, r)
			})

			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			w.fail(10)
			runtime.ReadMemStats(&after)

			if diff := cmp.Diff([]string{"8 final 3 3", "9 failed 0 0", "10 open 3 0"}, w.hours()); diff != "" {
				t.Errorf("%s\nhours: -want, +got:\n%s", tc.reason, diff)
			}
			if last := w.costJob().Status.ExecutionHistory[0].Error; !strings.Contains(last, tc.want) || !strings.Contains(last, `window "2026-04-01T09:00:00Z,2026-04-01T10:00:00Z"`) {
				t.Errorf("%s\nthe run ended with %q, want %q and the window in it", tc.reason, last, tc.want)
			}
			if grown := int64(after.HeapSys) - int64(before.HeapSys); grown > memory {
				t.Errorf("%s\nthe heap grew by %d bytes, more than %d", tc.reason, grown, memory)
			}
			if waiting.Load() > 0 {
				t.Errorf("%s\na transaction was open while OpenCost was being asked", tc.reason)
			}

			w.opencost.answer(9, nil)
			w.hasty = time.Time{}
			w.settings.Timeouts.HTTPClient = 10 * time.Minute
			w.collect(10)
			undisturbed := newWorld(t)
			undisturbed.settings.Limits.LookbackHours = 2
			undisturbed.collect(10)
			if diff := cmp.Diff(withoutAttempts(undisturbed.dump()), withoutAttempts(w.dump())); diff != "" {
				t.Errorf("%s\n-undisturbed, +after the next run:\n%s", tc.reason, diff)
			}
			w.holds(10)
		})
	}
}

// megabyte is a member of a compressed stream: 2^20 spaces, in about a kilobyte.
var megabyte = compressed(strings.Repeat(" ", 1<<20), 9)

func compressed(text string, level int) []byte {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, level)
	if err != nil {
		panic(err)
	}
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return b.Bytes()
}

// TestTwoClusters lets two clusters share a database. Whatever one of them runs,
// the other's hours stay as they were, open ones and failed ones included.
func TestTwoClusters(t *testing.T) {
	w := newWorld(t)
	as := func(cluster string) { w.settings.ClusterID = cluster }
	of := func(cluster string) []string {
		return slices.DeleteFunc(w.dump(), func(line string) bool { return !strings.Contains(line, `"cluster_id": "`+cluster+`"`) })
	}

	as("blue")
	w.settings.Limits.LookbackHours, w.settings.Limits.BackfillHours = 2, 4
	w.opencost.answer(8, items(at(8)))
	w.opencost.answer(9, refused)
	w.fail(10)
	blue := of("blue")

	// Green knows nothing of it: its first run looks at its lookback and no more,
	// and a day later what it settles and gives up is its own.
	as("green")
	w.opencost.takeAsked()
	w.opencost.answer(9, nil)
	w.collect(12)
	if diff := cmp.Diff([]int{10, 11, 12}, w.opencost.takeAsked()); diff != "" {
		t.Errorf("green's first run asked for: -want, +got:\n%s", diff)
	}
	w.collect(36)
	if diff := cmp.Diff(blue, of("blue")); diff != "" {
		t.Errorf("blue, after runs of green: -before, +after:\n%s", diff)
	}

	green := of("green")
	as("blue")
	w.collect(11)
	if diff := cmp.Diff(green, of("green")); diff != "" {
		t.Errorf("green, after a run of blue: -before, +after:\n%s", diff)
	}
	if same := slices.Equal(blue, of("blue")); same {
		t.Error("the run of blue has changed nothing, so this test shows nothing")
	}
}
