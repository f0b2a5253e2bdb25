package opencost

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// hour10 is the window that most recorded answers are of.
var hour10 = Query{
	Start:      time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC),
	End:        time.Date(2026, 11, 29, 11, 0, 0, 0, time.UTC),
	Aggregate:  "namespace,pod,container",
	Step:       "1h",
	Resolution: "1m",
}

// TestRecordedErrors reads every recorded error of a real server.
func TestRecordedErrors(t *testing.T) {
	cases := map[string]error{
		"accumulate-zero-width":       ErrStatus,
		"accumulateby-day-wrong-step": ErrStatus,
		"accumulateby-unknown":        ErrStatus,
		"assets-window-garbage":       ErrStatus,
		"head-method":                 ErrStatus,
		"not-found":                   ErrStatus,
		"parc-without-idle":           ErrStatus,
		"post-method":                 ErrStatus,
		"prometheus-down":             ErrStatus,
		"resolution-negative":         ErrStatus,
		"resolution-zero":             ErrStatus,
		"step-negative":               ErrStatus,
		"step-zero":                   ErrStatus,
		"trailing-slash":              ErrStatus, // Not followed: a base URL that redirects is a wrong one.
		"window-end-before-start":     ErrStatus,
		"window-fraction":             ErrStatus, // Two documents in one body; the status is looked at first.
		"window-garbage":              ErrStatus,
		"window-missing":              ErrStatus,
		"window-offset-zone":          ErrStatus,

		"resolution-larger-than-window": nil, // No error, to OpenCost.

		"summary-window-garbage": errNoAnswer,              // The handler panicked: the connection was closed.
		"window-impossible-date": context.DeadlineExceeded, // Not a byte in 400 s.
	}

	files, err := filepath.Glob("testdata/errors/*.http")
	if err != nil || len(files) != len(cases) {
		t.Fatalf("%d recorded errors (%v), want one for each of %d cases", len(files), err, len(cases))
	}

	for name, want := range cases {
		t.Run(name, func(t *testing.T) {
			recorded := readFile(t, "errors/"+name+".http")
			handler := replay(t, recorded)
			timeout := time.Minute
			switch {
			case errors.Is(want, errNoAnswer):
				handler = hangUp
			case errors.Is(want, context.DeadlineExceeded):
				handler, timeout = keepWaiting, 50*time.Millisecond
			}

			got, err := collect(t, handler, hour10, Options{Timeout: timeout})
			switch {
			case want == nil:
				if err != nil || len(got) != 1 {
					t.Fatalf("%d items and %v, want the one item", len(got), err)
				}
			case errors.Is(want, errNoAnswer):
				if refused := (*AnswerError)(nil); err == nil || errors.As(err, &refused) {
					t.Fatalf("got %v, want an error about the connection", err)
				}
			case !errors.Is(err, want):
				t.Fatalf("got %v, want %v", err, want)
			}

			if err != nil && len(err.Error()) > 1000 {
				t.Errorf("the error is %d bytes long: %s", len(err.Error()), err)
			}
		})
	}
}

// errNoAnswer stands for a connection that ends without an answer.
var errNoAnswer = errors.New("no answer")

// TestAnswers reads bodies that came with HTTP status 200, or would have.
func TestAnswers(t *testing.T) {
	item := string(firstItem(t))
	var volumes strings.Builder
	for n := range 40_000 {
		fmt.Fprintf(&volumes, `"cluster=cluster-one:name=pvc-%08d":{"byteHours":53687091200,"cost":0.002739726,"providerID":"vol-%[1]d","adjustment":0},`, n)
	}

	cases := map[string]struct {
		reason string
		body   string
		items  int
		want   error
	}{
		"NoItems":      {reason: "An hour without workloads, or one OpenCost knows nothing of.", body: `{"code":200,"data":[{}]}`},
		"NullSet":      {reason: "What is left of a set that held only idle cost.", body: `{"code":200,"data":[null]}`},
		"NoSet":        {reason: "A window of no width.", body: `{"code":200,"data":[]}`},
		"NullData":     {reason: "A range that is nil.", body: `{"code":200,"data":null}`},
		"OneItem":      {reason: "One set with one item.", body: `{"code":200,"data":[{` + item + `}]}`, items: 1},
		"ManyVolumes":  {reason: "One item stands for all volumes that nobody mounts.", body: with(item, `"pvs":null`, `"pvs":{`+strings.TrimSuffix(volumes.String(), ",")+`}`), items: 1},
		"OtherOrder":   {reason: "The members of an object have no order.", body: `{"data":[{` + item + `}],"warning":"w","code":200}` + "\n", items: 1},
		"CodeInBody":   {reason: "An error inside of HTTP 200.", body: `{"code":500,"data":null,"message":"Error: x"}`, want: ErrCode},
		"CodeAfter":    {reason: "The same after the data: nothing of it counts.", body: `{"data":[{` + item + `}],"code":500}`, want: ErrCode},
		"CodeText":     {reason: "A code is a number.", body: `{"code":"200","data":[{}]}`, want: ErrCode},
		"NoCode":       {reason: "Without a code it is no answer of OpenCost.", body: `{"data":[{}]}`, want: ErrCode},
		"NoData":       {reason: "Nor without data.", body: `{"code":200}`, want: ErrShape},
		"Empty":        {reason: "What comes of a number that could not be marshalled.", body: ``, want: ErrBroken},
		"Space":        {reason: "The same, with an end of line.", body: "\n", want: ErrBroken},
		"HTML":         {reason: "A proxy's page with status 200.", body: `<html><body>502 Bad Gateway</body></html>`, want: ErrBroken},
		"Text":         {reason: "Plain text in front of the document.", body: "Invalid 'window'\n" + `{"code":200,"data":[{}]}`, want: ErrBroken},
		"Trailing":     {reason: "A second document.", body: `{"code":200,"data":[{}]}{"code":500}`, want: ErrBroken},
		"TrailingText": {reason: "Rubbish behind the document.", body: `{"code":200,"data":[{}]}x`, want: ErrBroken},
		"CutAfterItem": {reason: "The trap: cut after the last item, where a naive loop sees the end.", body: `{"code":200,"data":[{` + item, want: ErrBroken},
		"CutAfterSet":  {reason: "Cut before the last brace.", body: `{"code":200,"data":[{` + item + `}]`, want: ErrBroken},
		"TwoSets":      {reason: "The step was not what was asked for.", body: `{"code":200,"data":[{},{}]}`, want: ErrShape},
		"NoArray":      {reason: "The summary endpoint's shape.", body: `{"code":200,"data":{"sets":[]}}`, want: ErrShape},
		"NoObject":     {reason: "A set is an object.", body: `{"code":200,"data":["x"]}`, want: ErrShape},
		"Array":        {reason: "An answer is an object.", body: `[]`, want: ErrShape},
		"Null":         {reason: "Not even null.", body: `null`, want: ErrShape},

		"SameKeyTwice":    {reason: "Which of the two would be billed?", body: set(item + `,` + item), want: ErrBroken},
		"SameMemberTwice": {reason: "The same within an item.", body: with(item, `"minutes":`, `"minutes":1,"minutes":`), want: ErrBroken},
		"SameLabelTwice":  {reason: "Also where nobody looks: the document is not what its author meant.", body: with(item, `"labels":{"app":"etl"`, `"labels":{"app":"etl","app":"etl"`), want: ErrBroken},
		"SameDataTwice":   {reason: "The same for the sets.", body: `{"code":200,"data":[{}],"data":[{}]}`, want: ErrBroken},
		"SameCodeTwice":   {reason: "The same in the envelope.", body: `{"code":200,"data":[{}],"code":200}`, want: ErrBroken},
		"InvalidUTF8":     {reason: "Replaced in silence by others, refused by the database.", body: set(strings.ReplaceAll(item, "etl", "e\xffl")), want: ErrBroken},
		"LoneSurrogate":   {reason: "An escape that is no character.", body: set(strings.ReplaceAll(item, "etl", `e\ud800l`)), want: ErrBroken},
		"NUL":             {reason: "Legal in JSON, refused by the database in the middle of a load.", body: set(strings.ReplaceAll(item, "etl", `e\u0000l`)), want: ErrItem},
		"NULInController": {reason: "In any column.", body: with(item, `"controller":"`, `"controller":"\u0000`), want: ErrItem},
		"LongName":        {reason: "An index entry is bounded.", body: set(strings.ReplaceAll(item, "etl", strings.Repeat("e", 2000))), want: ErrItem},
		"OtherName":       {reason: "The key and the name are one.", body: with(item, `"name":"`, `"name":"x`), want: ErrItem},
		"NoName":          {reason: "Every version sends it.", body: with(item, `"name":`, `"nome":`), want: ErrItem},
		"OtherWindow":     {reason: "Another hour than was asked for.", body: set(strings.ReplaceAll(item, `"start":"2026-11-29T10:00:00Z","end":"2026-11-29T11`, `"start":"2026-11-29T10:00:00Z","end":"2026-11-29T12`)), want: ErrWindow},
		"OpenWindow":      {reason: "OpenCost's text for a window without an end.", body: set(strings.ReplaceAll(item, `"end":"2026-11-29T11:00:00Z"}`, `"end":"null"}`)), want: ErrWindow},
		"NoStart":         {reason: "Without its interval an item cannot be billed.", body: with(item, `"start":"2026-11-29T10:10:00Z",`, ``), want: ErrItem},
		"TextForNumber":   {reason: "A number is a number.", body: with(item, `"minutes":5`, `"minutes":"5"`), want: ErrItem},
		"NaN":             {reason: "No number at all.", body: with(item, `"minutes":5`, `"minutes":NaN`), want: ErrBroken},
		"HugeNumber":      {reason: "No cluster uses this much.", body: with(item, `"minutes":5`, `"minutes":1e300`), want: ErrItem},
		"ItemIsNoObject":  {reason: "An item is an object.", body: set(`"a/b/c":1`), want: ErrItem},
		"NullItem":        {reason: "An item that is null has no window.", body: set(`"a/b/c":null`), want: ErrItem},
		"HugeValue":       {reason: "A text without an end is noticed before it fills the memory.", body: set(`"a":{"labels":{"x":"` + strings.Repeat("y", 2*valueBytes) + `"}}`), want: ErrTooLarge},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := collect(t, write(tc.body), hour10, Options{})
			if diff := cmp.Diff(tc.want, err, cmpopts.EquateErrors()); diff != "" {
				t.Fatalf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
			if err == nil && len(got) != tc.items {
				t.Errorf("%s\n%d items, want %d", tc.reason, len(got), tc.items)
			}
		})
	}
}

// TestTruncation cuts a real answer at every byte and wants an error each time.
func TestTruncation(t *testing.T) {
	whole := readFile(t, "hour10-ns-pod-container.json")

	for n := range whole {
		err := decode(&body{from: bytes.NewReader(whole[:n]), limit: DefaultMaxBytes}, hour10, func(Allocation) bool { return true })
		// Within its digits a code looks like another code.
		if !errors.Is(err, ErrBroken) && !errors.Is(err, ErrCode) {
			t.Fatalf("cut after %d of %d bytes: got %v, want %v", n, len(whole), err, ErrBroken)
		}
	}
	if err := decode(&body{from: bytes.NewReader(whole), limit: DefaultMaxBytes}, hour10, func(Allocation) bool { return true }); err != nil {
		t.Fatalf("not cut: %v", err)
	}
}

func TestBounds(t *testing.T) {
	whole := string(readFile(t, "hour10-ns-pod-container.json"))

	t.Run("TooLarge", func(t *testing.T) {
		_, err := collect(t, write(whole), hour10, Options{MaxBytes: 10_000})
		if !errors.Is(err, ErrTooLarge) {
			t.Errorf("got %v, want %v", err, ErrTooLarge)
		}
	})

	t.Run("SlowLoris", func(t *testing.T) {
		_, err := collect(t, drip(whole), hour10, Options{Timeout: 10 * time.Second})
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, ErrBroken) {
			t.Errorf("got %v, want a broken answer by a passed deadline", err)
		}
	})

	t.Run("CutConnection", func(t *testing.T) {
		_, err := collect(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(len(whole)))
			_, _ = w.Write([]byte(whole[:len(whole)/2]))
			hangUp(w, r)
		}, hour10, Options{})
		if !errors.Is(err, ErrBroken) {
			t.Errorf("got %v, want %v", err, ErrBroken)
		}
	})

	t.Run("Cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		client := newClient(t, drip(whole), Options{})
		cancel()
		if _, err := all(client.Allocations(ctx, hour10)); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want %v", err, context.Canceled)
		}
	})

	t.Run("Stopped", func(t *testing.T) {
		client := newClient(t, write(whole), Options{})
		read := 0
		for _, err := range client.Allocations(t.Context(), hour10) {
			if err != nil {
				t.Fatal(err)
			}
			read++
			break // A reader may stop at any time; nothing follows then.
		}
		if read == 0 {
			t.Error("there was nothing to read")
		}
	})
}

func TestRequest(t *testing.T) {
	var got *http.Request
	_, err := collect(t, func(w http.ResponseWriter, r *http.Request) {
		got = r
		write(`{"code":200,"data":[{}]}`)(w, r)
	}, hour10, Options{})
	if err != nil {
		t.Fatal(err)
	}

	want := "GET /prefix/allocation/compute?aggregate=namespace%2Cpod%2Ccontainer&resolution=1m&step=1h&window=2026-11-29T10%3A00%3A00Z%2C2026-11-29T11%3A00%3A00Z"
	if diff := cmp.Diff(want, got.Method+" "+got.RequestURI); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

func TestNew(t *testing.T) {
	cases := map[string]struct {
		reason string
		base   string
		want   string
	}{
		"Plain":         {reason: "Host and port.", base: "http://opencost:9003"},
		"TrailingSlash": {reason: "Trimmed, or the server would redirect.", base: "http://opencost:9003/"},
		"Prefix":        {reason: "A proxy may serve it under a path.", base: "https://proxy/model/"},
		"User":          {reason: "Basic authentication of a proxy.", base: "http://me:secret@proxy"},
		"NoScheme":      {reason: "A host is no URL.", base: "opencost:9003", want: `cannot use the URL of OpenCost: scheme "opencost" is neither http nor https`},
		"OtherScheme":   {reason: "Nothing else is spoken.", base: "ftp://opencost", want: `cannot use the URL of OpenCost: scheme "ftp" is neither http nor https`},
		"NoHost":        {reason: "Somebody has to answer.", base: "http://", want: `cannot use the URL of OpenCost: it names no host`},
		"Empty":         {reason: "As an empty variable.", base: "", want: `cannot use the URL of OpenCost: scheme "" is neither http nor https`},
		"Query":         {reason: "The query is the client's.", base: "http://me:secret@opencost?x=1", want: `cannot use the URL of OpenCost at "opencost": it has a query or a fragment`},
		"Unparsable":    {reason: "A parser's error would repeat the password.", base: "http://me:secret%zz@opencost", want: `cannot use the URL of OpenCost: it does not parse`},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := New(tc.base, Options{})
			got := ""
			if err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nNew(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestNoSecretInErrors makes a request fail in every stage and looks for the
// password of the URL.
func TestNoSecretInErrors(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"Refused":   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) },
		"HungUp":    hangUp,
		"Redirect":  func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) },
		"Malformed": write("{"),
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(handler)
			t.Cleanup(server.Close)

			client, err := New(strings.Replace(server.URL, "http://", "http://someone:hunter2@", 1), Options{})
			if err != nil {
				t.Fatal(err)
			}
			_, err = all(client.Allocations(t.Context(), hour10))
			if err == nil || strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "someone") {
				t.Errorf("got %v, want an error without who asks", err)
			}
		})
	}
}
