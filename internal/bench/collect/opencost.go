package collect

import (
	"bufio"
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// An hourOfItems is an answer of OpenCost, ready but for its instants, so that
// serving it costs next to nothing of the machine that is measured.
type hourOfItems struct {
	pieces    [][]byte // Between instants.
	ends      []bool   // Whether the instant after a piece is the end of the hour.
	bytes     int64
	nameBytes float64
}

// Names as they are met: what a team runs, and how often.
var (
	teams      = []string{"payments", "shop", "search", "ml-platform", "observability", "identity", "billing-eu", "data"}
	components = []string{"api", "worker", "checkout-api", "ingest", "postgresql", "web", "feature-store", "cron-runner"}
	sides      = []string{"app", "istio-proxy", "metrics", "postgres"}
)

const (
	startMark = "\x01"
	endMark   = "\x02"
)

// newHour makes an hour of n items of some 1.65 kB, as real ones are, their keys
// sorted like a server's.
func newHour(n int) *hourOfItems {
	var labels strings.Builder
	for i := range 14 {
		fmt.Fprintf(&labels, `"label_%02d_of_a_certain_length":"a value that is neither short nor long",`, i)
	}
	var text bytes.Buffer
	names := 0
	text.WriteString(`{"code":200,"status":"success","data":[{`)
	for i, name := range keys(n) {
		if i > 0 {
			text.WriteByte(',')
		}
		part := strings.Split(name, "/")
		namespace, podName, container := part[0], part[1], part[2]
		component := podName[:strings.LastIndexByte(podName[:strings.LastIndexByte(podName, '-')], '-')]
		names += len(name)
		window := `"start":"` + startMark + `","end":"` + endMark + `"`
		fmt.Fprintf(&text, `%q:{"name":%q,"properties":{"cluster":"cluster-one","node":"ip-10-0-%d-17","container":%q,"controller":%q,"controllerKind":"deployment","namespace":%q,"pod":%q,"labels":{%s"x":""}},"window":{%s},%s,`+
			`"minutes":60,"cpuCores":0.89693,"cpuCoreRequestAverage":0.5,"cpuCoreUsageAverage":%d.%05d,"cpuCoreHours":0.07474,"cpuCost":0.00236,"gpuCount":0,"gpuHours":0,"ramByteUsageAverage":%d.63636,"ramByteHours":9146729130.66667,`+
			`"pvByteHours":%d,"pvs":null,"networkTransferBytes":%d.59091,"networkReceiveBytes":%d.63636,"totalCost":0.05691,"totalEfficiency":0.41}`,
			name, name, i%250, container, component, namespace, podName, labels.String(), window, window,
			i%3, i*7919%100000, 50_000_000+i*104729%900_000_000, i%20/19*10737418240, i*6700417%90_000_000, i*2147483%50_000_000)
	}
	text.WriteString(`}]}`)

	h := &hourOfItems{nameBytes: float64(names) / float64(n)}
	rest := text.Bytes()
	for {
		at := bytes.IndexAny(rest, startMark+endMark)
		if at < 0 {
			h.pieces = append(h.pieces, rest)
			break
		}
		h.pieces, h.ends = append(h.pieces, rest[:at]), append(h.ends, rest[at] == endMark[0])
		rest = rest[at+1:]
	}
	h.bytes = int64(text.Len() + 19*len(h.ends))
	return h
}

// keys are sorted, as those of a server's answer are.
func keys(n int) []string {
	all := make([]string, n)
	for i := range all {
		pod := i / len(sides)
		space := pod / 60
		all[i] = fmt.Sprintf("%s-%03d/%s-%s-%s/%s", teams[space%len(teams)], space, components[pod%len(components)],
			suffix(pod/len(components)/3, 10), suffix(pod*7919, 5), sides[i%len(sides)])
	}
	slices.Sort(all)
	return all
}

// suffix is what Kubernetes puts behind a name: letters that mean nothing.
func suffix(n, length int) string {
	const alphabet = "bcdfghjklmnpqrstvwxz2456789"
	out := make([]byte, length)
	x := uint64(n)*2654435761 + 12345 //nolint:gosec // Any number will do.
	for i := range out {
		x = x*6364136223846793005 + 1442695040888963407
		out[i] = alphabet[(x>>33)%uint64(len(alphabet))]
	}
	return string(out)
}

// ServeHTTP answers every hour alike.
func (h *hourOfItems) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	from, to, _ := strings.Cut(r.URL.Query().Get("window"), ",")
	if _, err := time.Parse(time.RFC3339, from); err != nil {
		http.Error(w, "illegal window", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	out := bufio.NewWriterSize(w, 256<<10)
	defer out.Flush() //nolint:errcheck // A reader that has gone needs no answer.
	for i, piece := range h.pieces {
		_, _ = out.Write(piece)
		switch {
		case i == len(h.ends):
		case h.ends[i]:
			_, _ = out.WriteString(to)
		default:
			_, _ = out.WriteString(from)
		}
	}
}
