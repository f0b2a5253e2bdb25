package replay

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// recordedAt is the first hour that was recorded.
var recordedAt = time.Date(2026, 11, 29, 7, 0, 0, 0, time.UTC)

const detailed = "&aggregate=namespace,pod,container&step=1h"

func newServer(t *testing.T, o Options) *httptest.Server {
	t.Helper()
	if o.Now == nil {
		o.Now = func() time.Time { return recordedAt.AddDate(10, 0, 0) }
	}
	h, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server
}

func get(t *testing.T, url string) (status int, body string) {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

func hours(start time.Time, n int) string {
	return "window=" + start.Format(time.RFC3339) + "," + start.Add(time.Duration(n)*time.Hour).Format(time.RFC3339)
}

func fixture(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Told about the very hour it was recorded in, a recording is the server's
// answer to the byte.
func TestRecordedHourIsUnchanged(t *testing.T) {
	cases := map[string]struct {
		reason string
		anchor time.Time
		query  string
		want   string
	}{
		"First": {
			reason: "The anchor's hour is told by the first recording.",
			anchor: recordedAt,
			query:  hours(recordedAt, 1) + detailed,
			want:   "hour07-nan-usage.json",
		},
		"Last": {
			reason: "The hour before the anchor is told by the last one.",
			anchor: recordedAt.Add(8 * time.Hour),
			query:  hours(recordedAt.Add(7*time.Hour), 1) + detailed,
			want:   "hour14-boundary-pod.json",
		},
		"NoStep": {
			reason: "A step left out is the whole window.",
			anchor: recordedAt,
			query:  hours(recordedAt, 1) + "&aggregate=namespace,pod,container",
			want:   "hour07-nan-usage.json",
		},
		"TwoClusters": {
			reason: "Each aggregation has recordings of its own.",
			query:  hours(recordedAt.Add(8*time.Hour), 1) + "&aggregate=cluster,Namespace,pod,container",
			want:   "hour15-two-clusters-cluster-ns-pod-container.json",
		},
		"UnixWindow": {
			reason: "A window may be a pair of Unix seconds.",
			anchor: recordedAt.Add(time.Hour), // The hour whose namespaces were recorded is the third.
			query:  "window=1795946400,1795950000&aggregate=namespace",
			want:   "hour10-namespace.json",
		},
		"NoTime": {
			reason: "A window without length has no set.",
			query:  "window=2026-11-29T10:00:00Z,2026-11-29T10:00:00Z" + detailed,
			want:   "zero-width-window.json",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			server := newServer(t, Options{Anchor: tc.anchor})
			for _, path := range []string{"/allocation?", "/allocation/compute?"} {
				status, body := get(t, server.URL+path+tc.query)
				if diff := cmp.Diff(http.StatusOK, status); diff != "" {
					t.Errorf("%s\nstatus of %s: -want, +got:\n%s", tc.reason, path, diff)
				}
				if diff := cmp.Diff(fixture(t, tc.want), body); diff != "" {
					t.Errorf("%s\nbody of %s: -want, +got:\n%s", tc.reason, path, diff)
				}
			}
		})
	}
}

var instant = regexp.MustCompile(`\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z`)

// Moved, every instant of the answer is moved by the same amount, and nothing
// else differs.
func TestMovedHour(t *testing.T) {
	const name = "hour10-ns-pod-container.json"
	shift := 123*24*time.Hour + 5*time.Hour
	want := instant.ReplaceAllStringFunc(fixture(t, name), func(s string) string {
		at, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}
		return at.Add(shift).Format(time.RFC3339)
	})

	hour := time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC).Add(shift)
	server := newServer(t, Options{Anchor: hour.Add(-2 * time.Hour)}) // The third recording tells about hour.
	_, body := get(t, server.URL+"/allocation?"+hours(hour, 1)+detailed)
	if diff := cmp.Diff(want, body); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// Several hours in one answer are the answers about each, in order.
func TestSeveralHours(t *testing.T) {
	server := newServer(t, Options{Anchor: recordedAt})
	const envelope, end = `{"code":200,"status":"success","data":[`, `]}`
	start := recordedAt.Add(-3 * time.Hour)
	sets := make([]string, 0, 9)
	for i := range 9 { // More than there are recordings.
		_, body := get(t, server.URL+"/allocation?"+hours(start.Add(time.Duration(i)*time.Hour), 1)+detailed)
		sets = append(sets, strings.TrimSuffix(strings.TrimPrefix(body, envelope), end))
	}
	_, got := get(t, server.URL+"/allocation?"+hours(start, 9)+detailed)
	if diff := cmp.Diff(envelope+strings.Join(sets, ",")+end, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

func TestClock(t *testing.T) {
	now := recordedAt.Add(20 * time.Minute)
	server := newServer(t, Options{Anchor: recordedAt, Now: func() time.Time { return now }})

	_, current := get(t, server.URL+"/allocation?"+hours(recordedAt, 1)+detailed)
	if diff := cmp.Diff(fixture(t, "hour07-nan-usage.json"), current); diff != "" {
		t.Errorf("The hour in progress is told whole.\n-want, +got:\n%s", diff)
	}
	_, next := get(t, server.URL+"/allocation?"+hours(recordedAt.Add(time.Hour), 1)+detailed)
	if diff := cmp.Diff(fixture(t, "future-hour.json"), next); diff != "" {
		t.Errorf("An hour that has not begun is empty.\n-want, +got:\n%s", diff)
	}
}

// The real server's responses to bad requests, from the status line on.
func TestErrors(t *testing.T) {
	const hour = "window=2026-11-29T10:00:00Z,2026-11-29T11:00:00Z"
	cases := map[string]struct{ method, target, want string }{
		"WindowMissing":        {target: "/allocation", want: "window-missing"},
		"WindowGarbage":        {target: "/allocation?window=bogus", want: "window-garbage"},
		"WindowOffsetZone":     {target: "/allocation?window=2026-11-29T10:00:00%2B01:00,2026-11-29T11:00:00%2B01:00", want: "window-offset-zone"},
		"WindowFraction":       {target: "/allocation?window=2026-11-29T10:00:00.000Z,2026-11-29T11:00:00.000Z", want: "window-fraction"},
		"WindowEndBeforeStart": {target: "/allocation?window=2026-11-29T10:00:00Z,2026-11-29T09:00:00Z", want: "window-end-before-start"},
		"StepZero":             {target: "/allocation?step=0&" + hour, want: "step-zero"},
		"StepNegative":         {target: "/allocation?step=-1h&" + hour, want: "step-negative"},
		"SharesWithoutIdle":    {target: "/allocation?includeProportionalAssetResourceCosts=true&" + hour, want: "parc-without-idle"},
		"Post":                 {method: http.MethodPost, target: "/allocation", want: "post-method"},
		"Head":                 {method: http.MethodHead, target: "/allocation", want: "head-method"},
		"UnknownPath":          {target: "/model/allocation", want: "not-found"},
		"TrailingSlash":        {target: "/allocation/?window=1h", want: "trailing-slash"},
	}
	server := newServer(t, Options{})
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			request, err := http.NewRequest(tc.method, server.URL+tc.target, nil)
			if err != nil {
				t.Fatal(err)
			}
			got, err := client.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			recording := bufio.NewReader(strings.NewReader(fixture(t, "errors/"+tc.want+".http")))
			want, err := http.ReadResponse(recording, request)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = errors.Join(got.Body.Close(), want.Body.Close()) }()
			if diff := cmp.Diff(summary(t, want), summary(t, got)); diff != "" {
				t.Errorf("-want, +got:\n%s", diff)
			}
		})
	}
}

// summary is what a client can tell responses apart by.
func summary(t *testing.T, r *http.Response) map[string]string {
	t.Helper()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{
		"status": r.Status, "type": r.Header.Get("Content-Type"), "allow": r.Header.Get("Allow"),
		"location": r.Header.Get("Location"), "body": strings.TrimRight(string(body), "\n"),
	}
}

func TestNotRecorded(t *testing.T) {
	server := newServer(t, Options{})
	hour := hours(recordedAt, 1)
	for name, query := range map[string]string{
		"Aggregation":      hour + "&aggregate=controller",
		"DefaultAggregate": hour,
		"Idle":             hour + detailed + "&includeIdle=true",
		"Sum":              hour + detailed + "&accumulate=true",
		"LongStep":         hours(recordedAt, 2) + "&aggregate=namespace,pod,container",
		"HalfHour":         "window=2026-11-29T10:30:00Z,2026-11-29T11:30:00Z" + detailed,
		"Relative":         "window=1h" + detailed,
	} {
		t.Run(name, func(t *testing.T) {
			status, body := get(t, server.URL+"/allocation?"+query)
			if diff := cmp.Diff(http.StatusNotImplemented, status); diff != "" {
				t.Errorf("status: -want, +got:\n%s\n%s", diff, body)
			}
		})
	}
}

// The real server walks through two thousand years and does not answer.
func TestImpossibleDate(t *testing.T) {
	synctest.Test(t, impossibleDate)
}

func impossibleDate(t *testing.T) {
	t.Helper()
	h, err := New(Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	ctx, leave := context.WithCancel(t.Context())
	response := httptest.NewRecorder()
	done := make(chan struct{})
	go func() {
		h.ServeHTTP(response, httptest.NewRequestWithContext(ctx, http.MethodGet, "/allocation?window=2026-13-41T10:00:00Z,2026-11-29T11:00:00Z", nil))
		close(done)
	}()
	synctest.Wait()
	select {
	case <-done:
		t.Error("there is an answer")
	default:
	}
	leave()
	<-done
	if diff := cmp.Diff(0, response.Body.Len()); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

func TestPrefix(t *testing.T) {
	server := newServer(t, Options{Prefix: "/model/", Anchor: recordedAt})
	for _, path := range []string{"/allocation/compute?", "/model/allocation/compute?"} {
		status, body := get(t, server.URL+path+hours(recordedAt, 1)+detailed)
		if diff := cmp.Diff(http.StatusOK, status); diff != "" {
			t.Errorf("status of %s: -want, +got:\n%s", path, diff)
		}
		if diff := cmp.Diff(fixture(t, "hour07-nan-usage.json"), body); diff != "" {
			t.Errorf("body of %s: -want, +got:\n%s", path, diff)
		}
	}
	status, body := get(t, server.URL+"/model/healthz")
	if diff := cmp.Diff([]any{http.StatusOK, ""}, []any{status, body}); diff != "" {
		t.Errorf("health: -want, +got:\n%s", diff)
	}
}

func TestMadeUpItems(t *testing.T) {
	const n = 1000
	server := newServer(t, Options{Items: n})
	hour := recordedAt.AddDate(0, 5, 0)
	_, body := get(t, server.URL+"/allocation?"+hours(hour, 1)+detailed)

	type item struct {
		Name       string `json:"name"`
		Properties struct {
			Namespace string `json:"namespace"`
			Pod       string `json:"pod"`
			Container string `json:"container"`
		} `json:"properties"`
		Window struct {
			Start time.Time `json:"start"`
			End   time.Time `json:"end"`
		} `json:"window"`
	}
	var answer struct {
		Data []map[string]item `json:"data"`
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		t.Fatal(err)
	}
	made := map[string]int{}
	for key, i := range answer.Data[0] {
		if i.Name != key || !i.Window.Start.Equal(hour) || !i.Window.End.Equal(hour.Add(time.Hour)) {
			t.Errorf("item %q is called %q and has window %v", key, i.Name, i.Window)
		}
		if strings.HasPrefix(key, "zz-load-") {
			made[i.Properties.Namespace]++
			if want := i.Properties.Namespace + "/" + i.Properties.Pod + "/" + i.Properties.Container; key != want {
				t.Errorf("item %q has properties of %q", key, want)
			}
		}
	}
	if diff := cmp.Diff(n/itemsPerNamespace, len(made)); diff != "" {
		t.Errorf("namespaces: -want, +got:\n%s", diff)
	}
	if total := len(answer.Data[0]); total <= n {
		t.Errorf("got %d items, want %d and the recorded ones", total, n)
	}
	if keys := keysInOrder(t, body); !slices.IsSorted(keys) {
		t.Error("keys are not sorted, as a real server's are")
	}
}

func keysInOrder(t *testing.T, body string) []string {
	t.Helper()
	var answer struct {
		Data []json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(answer.Data[0]))
	if _, err := decoder.Token(); err != nil {
		t.Fatal(err)
	}
	var keys []string
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, key.(string))
		var skipped json.RawMessage
		if err := decoder.Decode(&skipped); err != nil {
			t.Fatal(err)
		}
	}
	return keys
}
