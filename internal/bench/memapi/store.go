// Package memapi is an API server in memory, as far as the product needs one: it
// stores, lists and watches objects, guards resourceVersions and finalizers, and
// costs next to nothing. What is measured against it grows as the product grows,
// not as the server does. It checks and defaults nothing: how the product behaves
// on a real API server is measured elsewhere.
package memapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"
)

// What a write is refused for.
var (
	errNotFound = errors.New("not found")
	errExists   = errors.New("already exists")
	errConflict = errors.New("the object has been modified")
)

// An object is JSON, as it travels.
type object map[string]any

func (o object) part(name string) object {
	m, ok := o[name].(map[string]any)
	if !ok {
		m = map[string]any{}
		o[name] = m
	}
	return m
}

func (o object) meta() object { return o.part("metadata") }

func (o object) text(field string) string {
	s, _ := o[field].(string)
	return s
}

func (o object) key() string { return o.meta().text("namespace") + "/" + o.meta().text("name") }

// A change is what a watch tells.
type change struct {
	Type    string
	Object  object
	version int
}

// A collection holds the objects of one resource. What was stored is never
// changed: every write stores another object.
type collection struct {
	objects map[string]object
	changes []change
	more    chan struct{} // Closed when there are more changes.
	writes  int
}

// A store holds all collections.
type store struct {
	mu          sync.Mutex
	version     int
	uids        int
	collections map[string]*collection
}

func (s *store) of(resource string) *collection {
	c := s.collections[resource]
	if c == nil {
		c = &collection{objects: map[string]object{}, more: make(chan struct{})}
		s.collections[resource] = c
	}
	return c
}

// keep stores an object, or forgets it if it has to go, and tells the watches.
func (s *store) keep(resource, kind string, o object) object {
	s.version++
	m := o.meta()
	m["resourceVersion"] = strconv.Itoa(s.version)
	c := s.of(resource)
	finalizers, _ := m["finalizers"].([]any)
	switch {
	case m["deletionTimestamp"] != nil && len(finalizers) == 0:
		delete(c.objects, o.key())
		kind = "DELETED"
	default:
		c.objects[o.key()] = o
	}
	c.changes = append(c.changes, change{Type: kind, Object: o, version: s.version})
	close(c.more)
	c.more = make(chan struct{})
	return o
}

func (s *store) create(resource string, o object) (object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of(resource).objects[o.key()] != nil {
		return nil, errExists
	}
	s.uids++
	m := o.meta()
	m["uid"] = fmt.Sprintf("00000000-0000-4000-8000-%012d", s.uids)
	m["creationTimestamp"] = time.Now().UTC().Format(time.RFC3339)
	m["generation"] = 1
	return s.keep(resource, "ADDED", o), nil
}

// change replaces an object by what change makes of a copy of it.
func (s *store) change(resource, key string, change func(object) error) (object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.of(resource).objects[key]
	if before == nil {
		return nil, errNotFound
	}
	after, err := clone(before)
	if err != nil {
		return nil, err
	}
	if err := change(after); err != nil {
		return nil, err
	}
	s.of(resource).writes++
	return s.keep(resource, "MODIFIED", after), nil
}

// list returns the objects that are wanted, by name, and the version they are of.
func (s *store) list(resource string, wanted func(object) bool) ([]object, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []object
	objects := s.of(resource).objects
	for _, key := range slices.Sorted(maps.Keys(objects)) {
		if wanted(objects[key]) {
			all = append(all, objects[key])
		}
	}
	return all, s.version
}

func (s *store) get(resource, key string) (object, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, ok := s.of(resource).objects[key]
	return o, ok
}

// since returns what changed after a version, and what to wait for if nothing did.
func (s *store) since(resource string, version int) ([]change, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.of(resource)
	at, _ := slices.BinarySearchFunc(c.changes, version+1, func(c change, version int) int { return c.version - version })
	return slices.Clone(c.changes[at:]), c.more
}

func clone(o object) (object, error) {
	text, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("cannot copy %s: %w", o.key(), err)
	}
	return decode(text)
}

func decode(text []byte) (object, error) {
	var o map[string]any
	if err := json.Unmarshal(text, &o); err != nil {
		return nil, fmt.Errorf("cannot read an object: %w", err)
	}
	return o, nil
}

// merge is a JSON merge patch (RFC 7396).
func merge(into, patch object) {
	for name, value := range patch {
		switch v := value.(type) {
		case nil:
			delete(into, name)
		case map[string]any:
			merge(into.part(name), v)
		default:
			into[name] = v
		}
	}
}
