package memapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A Resource is a kind of objects that the server knows.
type Resource struct {
	Group, Version, Plural, Kind string
	ClusterWide                  bool
}

func (r Resource) path() string {
	if r.Group == "" {
		return "/api/" + r.Version
	}
	return "/apis/" + r.Group + "/" + r.Version
}

func (r Resource) apiVersion() string {
	if r.Group == "" {
		return r.Version
	}
	return r.Group + "/" + r.Version
}

// A Server serves.
type Server struct {
	http      *httptest.Server
	store     *store
	resources []Resource
}

// Start serves some kinds on loopback.
func Start(resources ...Resource) *Server {
	s := &Server{store: &store{collections: map[string]*collection{}}, resources: resources}
	mux := http.NewServeMux()
	s.discover(mux)
	for _, r := range resources {
		s.serve(mux, r)
	}
	s.http = httptest.NewServer(mux)
	return s
}

// URL is where it is.
func (s *Server) URL() string { return s.http.URL }

// Close ends it and every watch.
func (s *Server) Close() {
	s.http.CloseClientConnections()
	s.http.Close()
}

// Add stores an object without being asked over HTTP.
func (s *Server) Add(plural string, o map[string]any) error {
	_, err := s.store.create(plural, o)
	return err
}

// Writes are how often an object of a kind was changed or told to go, creations
// aside.
func (s *Server) Writes(plural string) int {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	return s.store.of(plural).writes
}

// Count tells how many objects of a kind have something.
func (s *Server) Count(plural string, has func(o map[string]any) bool) int {
	all, _ := s.store.list(plural, func(o object) bool { return has(o) })
	return len(all)
}

func (s *Server) discover(mux *http.ServeMux) {
	groups := map[string]metav1.APIGroup{}
	lists := map[string]*metav1.APIResourceList{}
	for _, r := range s.resources {
		gv := metav1.GroupVersionForDiscovery{GroupVersion: r.apiVersion(), Version: r.Version}
		groups[r.Group] = metav1.APIGroup{
			TypeMeta: metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}, Name: r.Group, Versions: []metav1.GroupVersionForDiscovery{gv}, PreferredVersion: gv,
		}
		l := lists[r.path()]
		if l == nil {
			l = &metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: gv.GroupVersion}
			lists[r.path()] = l
		}
		l.APIResources = append(l.APIResources, metav1.APIResource{
			Name: r.Plural, SingularName: strings.ToLower(r.Kind), Kind: r.Kind, Namespaced: !r.ClusterWide,
			Verbs: metav1.Verbs{"get", "list", "watch", "create", "update", "patch", "delete"},
		})
	}
	delete(groups, "") // The core is no group.
	all := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		g := groups[name]
		all.Groups = append(all.Groups, g)
		mux.HandleFunc("GET /apis/"+name, func(w http.ResponseWriter, _ *http.Request) { reply(w, http.StatusOK, g) })
	}
	mux.HandleFunc("GET /apis", func(w http.ResponseWriter, _ *http.Request) { reply(w, http.StatusOK, all) })
	mux.HandleFunc("GET /api", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, http.StatusOK, metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}})
	})
	for path, l := range lists {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) { reply(w, http.StatusOK, l) })
	}
}

func (s *Server) serve(mux *http.ServeMux, r Resource) {
	one := r.path() + "/namespaces/{namespace}/" + r.Plural + "/{name}"
	if r.ClusterWide {
		one = r.path() + "/" + r.Plural + "/{name}"
	} else {
		mux.HandleFunc("POST "+r.path()+"/namespaces/{namespace}/"+r.Plural, func(w http.ResponseWriter, q *http.Request) { s.create(w, q, r) })
		mux.HandleFunc("GET "+r.path()+"/namespaces/{namespace}/"+r.Plural, func(w http.ResponseWriter, q *http.Request) { s.list(w, q, r) })
	}
	mux.HandleFunc("GET "+r.path()+"/"+r.Plural, func(w http.ResponseWriter, q *http.Request) { s.list(w, q, r) })
	mux.HandleFunc("GET "+one, func(w http.ResponseWriter, q *http.Request) {
		o, ok := s.store.get(r.Plural, key(q))
		if !ok {
			refuse(w, errNotFound)
			return
		}
		reply(w, http.StatusOK, o)
	})
	for _, method := range []string{http.MethodPut, http.MethodPatch} {
		mux.HandleFunc(method+" "+one, func(w http.ResponseWriter, q *http.Request) { s.change(w, q, r, "") })
		mux.HandleFunc(method+" "+one+"/status", func(w http.ResponseWriter, q *http.Request) { s.change(w, q, r, "status") })
	}
	mux.HandleFunc("DELETE "+one, func(w http.ResponseWriter, q *http.Request) {
		o, err := s.store.change(r.Plural, key(q), func(o object) error {
			if o.meta()["deletionTimestamp"] == nil {
				o.meta()["deletionTimestamp"] = time.Now().UTC().Format(time.RFC3339)
				another(o)
			}
			return nil
		})
		answer(w, http.StatusOK, o, err)
	})
}

func key(q *http.Request) string { return q.PathValue("namespace") + "/" + q.PathValue("name") }

func (s *Server) create(w http.ResponseWriter, q *http.Request, r Resource) {
	text, err := io.ReadAll(q.Body)
	if err != nil {
		refuse(w, err)
		return
	}
	if !strings.Contains(q.Header.Get("Content-Type"), "json") {
		// Events come as Protobuf. They are no state, and are thrown away.
		reply(w, http.StatusCreated, map[string]any{"apiVersion": r.apiVersion(), "kind": r.Kind, "metadata": map[string]any{}})
		return
	}
	o, err := decode(text)
	if err == nil {
		o["apiVersion"], o["kind"] = r.apiVersion(), r.Kind
		o.meta()["namespace"] = q.PathValue("namespace")
		delete(o, "status")
		o, err = s.store.create(r.Plural, o)
	}
	answer(w, http.StatusCreated, o, err)
}

// change replaces or patches an object, or its status alone.
func (s *Server) change(w http.ResponseWriter, q *http.Request, r Resource, part string) {
	text, err := io.ReadAll(q.Body)
	if err != nil {
		refuse(w, err)
		return
	}
	given, err := decode(text)
	if err != nil {
		refuse(w, err)
		return
	}
	o, err := s.store.change(r.Plural, key(q), func(o object) error {
		if v := given.meta().text("resourceVersion"); v != "" && v != o.meta().text("resourceVersion") {
			return errConflict
		}
		spec := o["spec"]
		defer func() {
			if !reflect.DeepEqual(spec, o["spec"]) {
				another(o)
			}
		}()
		switch {
		case q.Method == http.MethodPatch:
			merge(o, given)
		case part != "":
			o[part] = given[part]
		default:
			status := o["status"]
			clear(o)
			maps.Copy(o, given)
			o["status"] = status
		}
		return nil
	})
	answer(w, http.StatusOK, o, err)
}

// another generation is what the state that is wanted makes, and a deletion.
func another(o object) {
	generation, _ := o.meta()["generation"].(float64)
	o.meta()["generation"] = generation + 1
}

func (s *Server) list(w http.ResponseWriter, q *http.Request, r Resource) {
	wanted, err := selected(q)
	if err != nil {
		refuse(w, err)
		return
	}
	if q.URL.Query().Get("watch") != "" {
		s.watch(w, q, r, wanted)
		return
	}
	all, version := s.store.list(r.Plural, wanted)
	items := make([]object, 0, len(all))
	from, _ := strconv.Atoi(q.URL.Query().Get("continue")) // Empty is the beginning.
	limit, err := strconv.Atoi(q.URL.Query().Get("limit"))
	if err != nil || limit == 0 {
		limit = len(all)
	}
	to := min(from+limit, len(all))
	items = append(items, all[min(from, to):to]...)
	m := map[string]any{"resourceVersion": strconv.Itoa(version)}
	if to < len(all) {
		m["continue"] = strconv.Itoa(to)
	}
	kind, apiVersion := r.Kind+"List", r.apiVersion()
	if partial(q) {
		kind, apiVersion = "PartialObjectMetadataList", "meta.k8s.io/v1"
		for i, o := range items {
			items[i] = object{"kind": "PartialObjectMetadata", "apiVersion": apiVersion, "metadata": o["metadata"]}
		}
	}
	reply(w, http.StatusOK, map[string]any{"kind": kind, "apiVersion": apiVersion, "metadata": m, "items": items})
}

// partial tells whether only the metadata of objects is asked for.
func partial(q *http.Request) bool {
	return strings.Contains(q.Header.Get("Accept"), "PartialObjectMetadata")
}

// selected reads which objects are asked for. Field selectors are paths with
// one value each.
func selected(q *http.Request) (func(object) bool, error) {
	namespace, fields := q.PathValue("namespace"), map[string]string{}
	if selector := q.URL.Query().Get("fieldSelector"); selector != "" {
		for pair := range strings.SplitSeq(selector, ",") {
			path, value, ok := strings.Cut(pair, "=")
			if !ok {
				return nil, fmt.Errorf("cannot read field selector %q", selector)
			}
			fields[path] = strings.TrimPrefix(value, "=")
		}
	}
	return func(o object) bool {
		if namespace != "" && o.meta().text("namespace") != namespace {
			return false
		}
		for path, value := range fields {
			if at(o, path) != value {
				return false
			}
		}
		return true
	}, nil
}

func at(o map[string]any, path string) string {
	names := strings.Split(path, ".")
	for _, name := range names[:len(names)-1] {
		inner, ok := o[name].(map[string]any)
		if !ok {
			return ""
		}
		o = inner
	}
	text, _ := o[names[len(names)-1]].(string)
	return text
}

// watch tells changes for as long as the client listens.
func (s *Server) watch(w http.ResponseWriter, q *http.Request, r Resource, wanted func(object) bool) {
	version, err := strconv.Atoi(q.URL.Query().Get("resourceVersion"))
	if err != nil || q.URL.Query().Get("sendInitialEvents") != "" {
		// The client lists then, as with servers that cannot stream a list.
		reply(w, http.StatusUnprocessableEntity, status(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "list first"))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	out, flush := json.NewEncoder(w), http.NewResponseController(w)
	for {
		if err := flush.Flush(); err != nil {
			return
		}
		changes, more := s.store.since(r.Plural, version)
		for _, c := range changes {
			version = c.version
			o := c.Object
			if !wanted(o) {
				continue
			}
			if partial(q) {
				o = object{"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": o["metadata"]}
			}
			if err := out.Encode(map[string]any{"type": c.Type, "object": o}); err != nil {
				return
			}
		}
		if len(changes) > 0 {
			continue
		}
		select {
		case <-more:
		case <-q.Context().Done():
			return
		}
	}
}

func answer(w http.ResponseWriter, code int, o object, err error) {
	if err != nil {
		refuse(w, err)
		return
	}
	reply(w, code, o)
}

func refuse(w http.ResponseWriter, err error) {
	code, reason := http.StatusBadRequest, metav1.StatusReasonBadRequest
	switch {
	case errors.Is(err, errNotFound):
		code, reason = http.StatusNotFound, metav1.StatusReasonNotFound
	case errors.Is(err, errExists):
		code, reason = http.StatusConflict, metav1.StatusReasonAlreadyExists
	case errors.Is(err, errConflict):
		code, reason = http.StatusConflict, metav1.StatusReasonConflict
	}
	reply(w, code, status(code, reason, err.Error()))
}

func status(code int, reason metav1.StatusReason, message string) metav1.Status {
	return metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: int32(code), Reason: reason, Message: message, //nolint:gosec // A code of three digits.
	}
}

func reply(w http.ResponseWriter, code int, o any) {
	text, err := json.Marshal(o)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(text) // A client that has gone needs no answer.
}
