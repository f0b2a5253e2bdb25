package replay

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// items reads the one set of an answer.
func items(t *testing.T, address string) map[string]json.RawMessage {
	t.Helper()
	status, body := get(t, address)
	var answer struct {
		Data []map[string]json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil || status != http.StatusOK || len(answer.Data) != 1 {
		t.Fatalf("status %d and %v, want one set: %s", status, err, body)
	}
	return answer.Data[0]
}

func TestFilter(t *testing.T) {
	cases := map[string]struct {
		reason string
		filter string
		keeps  func(namespace, pod string) bool
	}{
		"None":       {"Without a filter everything is told.", ``, func(string, string) bool { return true }},
		"Namespaces": {"Any of the values will do: the filter of a shard.", `namespace:"shop","ml"`, func(n, _ string) bool { return n == "shop" || n == "ml" }},
		"Unknown":    {"Nothing is an answer.", `namespace:"nobody"`, func(string, string) bool { return false }},
		"Not":        {"None of the values may be.", `namespace!:"shop","ml"`, func(n, _ string) bool { return n != "shop" && n != "ml" }},
		"Both":       {"Conditions joined by a plus all have to hold.", `namespace:"shop"+pod<~:"web-"`, func(n, p string) bool { return n == "shop" && strings.HasPrefix(p, "web-") }},
		"Contains":   {"A part of a value.", `pod~:"7d4b"`, func(_, p string) bool { return strings.Contains(p, "7d4b") }},
		"Suffix":     {"The end of one.", `pod!~>:"-0"`, func(_, p string) bool { return !strings.HasSuffix(p, "-0") }},
	}
	server := newServer(t, Options{Anchor: recordedAt})
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for n := range 6 { // Each recording.
				hour := server.URL + "/allocation?" + hours(recordedAt.Add(time.Duration(n)*time.Hour), 1)
				all := items(t, hour+detailed)
				got := items(t, hour+detailed+"&filter="+url.QueryEscape(tc.filter))
				want := maps.Clone(all)
				maps.DeleteFunc(want, func(key string, _ json.RawMessage) bool {
					part := strings.Split(key, "/")
					return !tc.keeps(part[0], part[1])
				})
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s\nhour %d: -want, +got:\n%s", tc.reason, n, diff)
				}

				// Which namespaces there are, told by the same server, is the same.
				namespaces := map[string]bool{}
				for key := range want {
					namespaces[strings.Split(key, "/")[0]] = true
				}
				discovered := items(t, hour+"&aggregate=namespace&step=1h&filter="+url.QueryEscape(tc.filter))
				if diff := cmp.Diff(slices.Sorted(maps.Keys(namespaces)), slices.Sorted(maps.Keys(discovered))); diff != "" {
					t.Errorf("%s\nthe namespaces of hour %d: -want, +got:\n%s", tc.reason, n, diff)
				}
			}
		})
	}
}

// A server before 2025 answers with everything.
func TestIgnoredFilter(t *testing.T) {
	server := newServer(t, Options{Anchor: recordedAt, IgnoreFilter: true})
	hour := server.URL + "/allocation?" + hours(recordedAt, 1) + detailed
	if diff := cmp.Diff(items(t, hour), items(t, hour+"&filter="+url.QueryEscape(`namespace:"shop"`))); diff != "" {
		t.Errorf("-all, +filtered:\n%s", diff)
	}
}

// What the replayer does not know of the language it does not guess.
func TestUnknownFilter(t *testing.T) {
	server := newServer(t, Options{Anchor: recordedAt})
	for name, filter := range map[string]string{
		"Or":         `namespace:"a"|namespace:"b"`,
		"Label":      `label[app]:"a"`,
		"NoOperator": `namespace`,
		"NoQuotes":   `namespace:shop`,
		"NoEnd":      `namespace:"shop`,
		"OpenComma":  `namespace:"shop",`,
		"OpenPlus":   `namespace:"shop"+`,
		"NoValue":    `namespace:`,
		"Space":      `namespace:"shop" pod:"a"`, // A plus that was sent as it is.
	} {
		t.Run(name, func(t *testing.T) {
			status, body := get(t, server.URL+"/allocation?"+hours(recordedAt, 1)+detailed+"&filter="+url.QueryEscape(filter))
			if status != http.StatusNotImplemented || !strings.Contains(body, "cannot read filter") {
				t.Errorf("status %d, want %d: %s", status, http.StatusNotImplemented, body)
			}
		})
	}
}

// Made-up items are filtered and discovered like others, so a large hour can be
// sharded.
func TestFilterOfMadeUpItems(t *testing.T) {
	server := newServer(t, Options{Anchor: recordedAt, Items: 120})
	hour := server.URL + "/allocation?" + hours(recordedAt, 1)
	all, namespaces := items(t, hour+detailed), items(t, hour+"&aggregate=namespace&step=1h")

	got := map[string]json.RawMessage{}
	for namespace := range namespaces {
		maps.Copy(got, items(t, hour+detailed+"&filter="+url.QueryEscape(`namespace:"`+namespace+`"`)))
	}
	if diff := cmp.Diff(all, got); diff != "" {
		t.Errorf("the parts are not the whole: -all, +parts:\n%s", diff)
	}
	if want := "zz-load-00002"; namespaces[want] == nil {
		t.Errorf("namespace %s is not among the %d discovered", want, len(namespaces))
	}
}
