package replay

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

//go:embed testdata/*.json
var files embed.FS

// The aggregations that are more than keys of the list below.
const (
	byContainer = "namespace,pod,container"
	byNamespace = "namespace"

	// detailOfNamespaces is the hour whose namespaces were recorded too.
	detailOfNamespaces = "hour10-ns-pod-container"
)

// recorded lists, for each aggregation, the hours there are recordings of, in
// the order in which they were recorded. Moved in time they follow each other,
// and the first follows the last.
var recorded = map[string][]string{
	byContainer: {
		"hour07-nan-usage", "hour09-ns-pod-container", detailOfNamespaces,
		"hour11-counter-reset", "hour13-before-edge", "hour14-boundary-pod",
	},
	"cluster,namespace,pod,container": {"hour15-two-clusters-cluster-ns-pod-container"},
	byNamespace:                       {"hour10-namespace"},
}

// A recording is what a real server said about one hour: its text, cut at each
// instant in it. Everything but the instants is told again to the byte.
type recording struct {
	pieces []piece
}

// A piece is literal text and the instant after it, given from the start of
// the hour. The last piece has none.
type piece struct {
	text  []byte
	after time.Duration
	last  bool
}

// writeTo tells the recording as if it were about the hour.
func (r recording) writeTo(w io.Writer, hour time.Time) error {
	for _, p := range r.pieces {
		if _, err := w.Write(p.text); err != nil {
			return err
		}
		if p.last {
			continue
		}
		if _, err := io.WriteString(w, hour.Add(p.after).Format(time.RFC3339)); err != nil {
			return err
		}
	}
	return nil
}

func load() (map[string][]recording, error) {
	all := make(map[string][]recording, len(recorded))
	for aggregate, names := range recorded {
		for _, name := range names {
			body, err := files.ReadFile("testdata/" + name + ".json")
			if err != nil {
				return nil, fmt.Errorf("cannot read recording %q: %w", name, err)
			}
			r, err := parse(body)
			if err != nil {
				return nil, fmt.Errorf("cannot use recording %q: %w", name, err)
			}
			all[aggregate] = append(all[aggregate], r)
		}
	}
	return all, nil
}

// parse takes the one set out of an answer and cuts it at its instants.
func parse(body []byte) (recording, error) {
	var answer struct {
		Data []json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return recording{}, err
	}
	if len(answer.Data) != 1 {
		return recording{}, fmt.Errorf("it has %d sets, want one", len(answer.Data))
	}
	return cut(answer.Data[0])
}

// cut finds the instants by their place, not by their look: "start" and "end"
// of an item and of its window. A label may be called "start" and stay as it is.
func cut(set []byte) (recording, error) {
	var (
		r      recording
		hour   time.Time
		copied int
		walk   = walker{decoder: json.NewDecoder(bytes.NewReader(set))}
	)
	for {
		path, value, err := walk.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return recording{}, err
		}
		if !isInstant(path) {
			continue
		}
		at, err := time.Parse(time.RFC3339, value)
		if err != nil {
			return recording{}, fmt.Errorf("cannot read %s: %w", strings.Join(path, " "), err)
		}
		if hour.IsZero() {
			hour = at.Truncate(time.Hour)
		}
		end := int(walk.decoder.InputOffset()) - len(`"`)
		r.pieces = append(r.pieces, piece{text: set[copied : end-len(value)], after: at.Sub(hour)})
		copied = end
	}
	r.pieces = append(r.pieces, piece{text: set[copied:], last: true})
	return r, nil
}

// isInstant knows <item>.start, <item>.end, <item>.window.start and <item>.window.end.
func isInstant(path []string) bool {
	last := path[len(path)-1]
	if last != "start" && last != "end" {
		return false
	}
	return len(path) == 2 || len(path) == 3 && path[1] == "window"
}
