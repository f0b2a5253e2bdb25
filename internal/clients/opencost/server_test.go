package opencost

import (
	"bufio"
	"bytes"
	"iter"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// collect reads everything a server answers to a query. It returns no item of an
// answer that did not end well, as nobody may keep one.
func collect(t *testing.T, handler http.HandlerFunc, q Query, o Options) ([]Allocation, error) {
	t.Helper()

	return all(newClient(t, handler, o).Allocations(t.Context(), q))
}

// all reads an answer to its end.
func all(answer iter.Seq2[Allocation, error]) ([]Allocation, error) {
	var items []Allocation
	for a, err := range answer {
		if err != nil {
			return nil, err
		}
		items = append(items, a)
	}
	return items, nil
}

func newClient(t *testing.T, handler http.HandlerFunc, o Options) *Client {
	t.Helper()

	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)

	client, err := New(server.URL+"/prefix/", o)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func write(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(body))
	}
}

// replay answers what curl recorded: status line, headers, body.
func replay(t *testing.T, recorded []byte) http.HandlerFunc {
	t.Helper()

	head, rest, _ := bytes.Cut(recorded, []byte("\r\n\r\n"))
	return func(w http.ResponseWriter, _ *http.Request) {
		response, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(append(head, "\r\n\r\n"...))), nil)
		if err != nil {
			t.Errorf("cannot read the recorded answer: %v", err)
			return
		}
		defer response.Body.Close() //nolint:errcheck // It is empty.

		for _, name := range []string{"Content-Type", "Location", "Allow"} {
			if value := response.Header.Get(name); value != "" {
				w.Header().Set(name, value)
			}
		}
		w.WriteHeader(response.StatusCode)
		_, _ = w.Write(rest)
	}
}

// hangUp closes the connection without another word.
func hangUp(w http.ResponseWriter, _ *http.Request) {
	connection, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	if tcp, ok := connection.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = connection.Close()
}

// keepWaiting answers nothing until the client goes away.
func keepWaiting(_ http.ResponseWriter, r *http.Request) {
	<-r.Context().Done()
}

// drip answers the beginning of a body, one byte after the other, and then
// nothing until the client goes away.
func drip(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		for n := range 100 {
			_, _ = w.Write([]byte(body[n : n+1]))
			_ = http.NewResponseController(w).Flush()
		}
		<-r.Context().Done()
	}
}

// firstItem returns the key and value of one item of a recorded answer, a
// container of a Job that ran for five minutes.
func firstItem(t *testing.T) []byte {
	t.Helper()

	whole := readFile(t, "hour10-ns-pod-container.json")
	from := bytes.Index(whole, []byte(`"batch/etl`))
	to := bytes.Index(whole, []byte(`,"batch/legacy`))
	return whole[from:to]
}

// set is an answer with the items of a text.
func set(items string) string {
	return `{"code":200,"status":"success","data":[{` + items + `}]}`
}

// with is an answer with one item in which something was replaced. It fails
// loudly when there is nothing to replace.
func with(item, old, replacement string) string {
	if !strings.Contains(item, old) {
		panic("the item does not hold " + old)
	}
	return set(strings.Replace(item, old, replacement, 1))
}

func readFile(t testing.TB, name string) []byte {
	t.Helper()

	content, err := os.ReadFile(filepath.Join("testdata", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return content
}
