// Package replay serves recorded answers of a real OpenCost server, moved in
// time, so that every past hour has one. Numbers and names are told again as
// they were, to the byte; only instants move.
//
// An hour is told by one of the recorded hours in turn, counted from an
// anchor, so the same hour always has the same answer. An hour that has not
// begun on the replayer's clock is empty, as it is on a real server. The hour
// in progress is told whole: to cut it at the clock would need other numbers
// than the recorded ones.
//
// Asked with a filter, an hour has the items that pass it, each to the byte; a
// replayer of a server before 2025 ignores the filter, as the recorded one did.
//
// What was not recorded (idle cost, other aggregations, other steps than whole
// hours, most of the filter's language) is refused with status 501 rather than
// made up. One thing follows from what was: which namespaces an hour has. So
// aggregate=namespace is answered for every hour, without quantities where it
// was not recorded. Errors about the
// request are those of the real server, including the date that it never
// answers.
package replay

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The two paths of the one handler.
const (
	allocationPath = "/allocation"
	computePath    = allocationPath + "/compute"
)

// Options of a replayer.
type Options struct {
	// Now is the replayer's clock.
	Now func() time.Time

	// Anchor is the hour that the first recorded hour is told about.
	Anchor time.Time

	// Items is how many made-up items each hour has beside the recorded ones.
	Items int

	// IgnoreFilter makes it a server before 2025, which knows no filter and
	// answers with everything.
	IgnoreFilter bool

	// Prefix is a path, such as /model, under which everything is served too.
	Prefix string
}

// A Handler answers as OpenCost does.
type Handler struct {
	options    Options
	recordings map[string][]recording
}

// New loads the recordings.
func New(o Options) (*Handler, error) {
	recordings, err := load()
	if err != nil {
		return nil, err
	}
	o.Anchor = o.Anchor.UTC().Truncate(time.Hour)
	o.Prefix = strings.TrimSuffix(o.Prefix, "/")
	return &Handler{options: o, recordings: recordings}, nil
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	if h.options.Prefix != "" {
		path = strings.TrimPrefix(path, h.options.Prefix)
	}
	if r.Method != http.MethodGet {
		w.Header().Set("Allow", "GET, OPTIONS")
		http.Error(w, "Method Not Allowed", http.StatusMethodNotAllowed)
		return
	}
	switch path {
	case "/healthz": // Always well, and says nothing.
	case allocationPath, computePath:
		h.allocation(w, r)
	case allocationPath + "/", computePath + "/":
		target := *r.URL
		target.Path = strings.TrimSuffix(r.URL.Path, "/")
		http.Redirect(w, r, target.String(), http.StatusMovedPermanently)
	default:
		http.NotFound(w, r)
	}
}

func (h *Handler) allocation(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	asked, kind := parseWindow(query.Get("window"))
	switch kind {
	case windowIllegal:
		refuseWindow(w, query.Get("window"))
		return
	case windowImpossible:
		<-r.Context().Done()
		return
	case windowRelative:
		refuse(w, http.StatusNotImplemented, "not recorded: window="+query.Get("window")+"; ask for a pair of instants")
		return
	case windowPair:
	}
	step := parseStep(query.Get("step"), asked)
	if status, message := h.objection(query.Get, asked, step); status != 0 {
		refuse(w, status, message)
		return
	}
	told := telling{aggregate: aggregation(query.Get("aggregate"))}
	if !h.options.IgnoreFilter {
		var err error
		if told.filter, err = parseFilter(query.Get("filter")); err != nil {
			refuse(w, http.StatusNotImplemented, "not recorded: "+err.Error())
			return
		}
	}
	w.Header().Set("Content-Type", "application/json")
	out := bufio.NewWriterSize(w, 64<<10)
	if err := h.tell(out, told, asked, step); err == nil {
		_ = out.Flush() // A client that has gone needs no answer.
	}
}

// objection says why there is no answer to a request with a legal window: in
// the server's words where it would refuse, and with status 501 where it would
// answer something that was not recorded.
func (h *Handler) objection(get func(string) string, w window, step time.Duration) (status int, message string) {
	const notRecorded = "not recorded: "
	on := func(parameter string) bool { yes, err := strconv.ParseBool(get(parameter)); return err == nil && yes }
	switch {
	case w.end.Before(w.start):
		return http.StatusInternalServerError, "illegal window: " + w.String()
	case on("includeProportionalAssetResourceCosts") && !on("includeIdle"):
		return http.StatusBadRequest, "bad request - includeIdle must be set true if includeProportionalAssetResourceCosts is true"
	case on("includeIdle"), on("accumulate"), get("accumulateBy") != "":
		return http.StatusNotImplemented, notRecorded + "idle cost and sums"
	case w.end.Equal(w.start):
		return 0, "" // No set at all, whatever the step.
	case step <= 0:
		bad := window{w.start, w.start.Add(step)}
		return http.StatusInternalServerError, fmt.Sprintf("error computing allocations for %s: illegal duration value for %[1]s", bad)
	case step != time.Hour || !w.start.Equal(w.start.Truncate(time.Hour)):
		return http.StatusNotImplemented, notRecorded + "steps other than whole hours"
	case h.recordings[aggregation(get("aggregate"))] == nil:
		return http.StatusNotImplemented, notRecorded + "aggregate=" + get("aggregate")
	}
	return 0, ""
}

// aggregation is the parameter in the form that recordings are listed by.
func aggregation(text string) string {
	return strings.ToLower(cmp.Or(text, "cluster,node,namespace,pod,container"))
}

// A telling is how an hour is told.
type telling struct {
	aggregate string
	filter    filter
}

// tell writes one set for each hour. The last is not cut at the window's end.
func (h *Handler) tell(out io.Writer, t telling, asked window, step time.Duration) error {
	if _, err := io.WriteString(out, `{"code":200,"status":"success","data":[`); err != nil {
		return err
	}
	separator := ""
	for hour := asked.start; hour.Before(asked.end); hour = hour.Add(step) {
		if _, err := io.WriteString(out, separator); err != nil {
			return err
		}
		if err := h.tellHour(out, t, hour); err != nil {
			return err
		}
		separator = ","
	}
	_, err := io.WriteString(out, "]}")
	return err
}

func (h *Handler) tellHour(out io.Writer, t telling, hour time.Time) error {
	if hour.After(h.options.Now()) {
		_, err := io.WriteString(out, "{}")
		return err
	}

	detailed := t.aggregate
	if t.aggregate == byNamespace {
		detailed = byContainer
	}
	recordings := h.recordings[detailed]
	n := turn(h.options.Anchor, hour, len(recordings))
	all := func(w io.Writer) error {
		if h.options.Items == 0 {
			return recordings[n].writeTo(w, hour)
		}
		return recordings[n].writeWith(w, hour, h.options.Items)
	}

	switch {
	case t.aggregate == byNamespace && recorded[byContainer][n] == detailOfNamespaces && h.options.Items == 0 && len(t.filter) == 0:
		return h.recordings[byNamespace][0].writeTo(out, hour)
	case t.aggregate == byNamespace:
		return t.filter.writeNamespaces(out, hour, all)
	case len(t.filter) > 0:
		return t.filter.writeKept(out, all)
	default:
		return all(out)
	}
}

// turn is which of n recorded hours tells about an hour.
func turn(anchor, hour time.Time, n int) int {
	passed := int(hour.Unix()/3600-anchor.Unix()/3600) % n
	return (passed + n) % n
}

// An errorDocument has its members in the server's order.
type errorDocument struct {
	Code    int    `json:"code"`
	Status  string `json:"status"`
	Data    *int   `json:"data"` // Always null.
	Message string `json:"message"`
}

// refuse answers with the server's error document.
func refuse(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(errorDocument{Code: status, Message: "Error: " + message}); err != nil {
		return // The client has gone.
	}
}

// refuseWindow answers as servers up to 2026 do: with a line of text, and then
// an error document of another code.
func refuseWindow(w http.ResponseWriter, text string) {
	http.Error(w, "Invalid 'window' parameter: illegal window: "+text, http.StatusBadRequest)
	_, _ = fmt.Fprint(w, `{"code":500,"status":"","data":null,"message":"Error: illegal window: [nil, nil)"}`)
}
