// Package rights holds what the product's accounts asked of an API server
// against what the plain manifests grant them: nothing may have been refused,
// and what nobody ever asks for need not be granted.
package rights

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// A Right is to do something with a kind of objects, wherever they are.
type Right struct {
	Account  string // "namespace:name"
	Verb     string
	Group    string // Empty for the core group.
	Resource string // With the subresource, as in "offerings/status".
}

func (r Right) String() string {
	resource := r.Resource
	if r.Group != "" {
		resource += "." + r.Group
	}
	return r.Verb + " " + resource
}

// A Record is what the accounts asked for.
type Record struct {
	Used    map[Right]bool
	Refused []string // What for want of rights, in words, each once.
}

// anEvent is what is read of an audit event.
type anEvent struct {
	Verb string `json:"verb"`
	User struct {
		Username string `json:"username"`
	} `json:"user"`
	RequestURI string `json:"requestURI"`
	ObjectRef  *struct {
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		APIGroup    string `json:"apiGroup"`
	} `json:"objectRef"` // Nil if the request is about no object.
	Annotations map[string]string `json:"annotations"`
}

const (
	accountPrefix = "system:serviceaccount:"
	decision      = "authorization.k8s.io/decision"
	why           = "authorization.k8s.io/reason"
)

// Read reads an API server's audit log.
func Read(file string) (Record, error) {
	r := Record{Used: map[Right]bool{}}
	log, err := os.Open(file)
	if err != nil {
		return r, fmt.Errorf("cannot read the audit log: %w", err)
	}
	defer func() { _ = log.Close() }()
	refused := map[string]bool{}
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e anEvent
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return r, fmt.Errorf("cannot read a line of the audit log: %w", err)
		}
		account, ok := strings.CutPrefix(e.User.Username, accountPrefix)
		if !ok {
			continue
		}
		if e.Annotations[decision] == "forbid" {
			path, _, _ := strings.Cut(e.RequestURI, "?")
			refused[strings.TrimSpace(fmt.Sprintf("%s may not %s %s %s", account, e.Verb, path, e.Annotations[why]))] = true
			continue
		}
		if o := e.ObjectRef; o != nil {
			r.Used[Right{account, e.Verb, o.APIGroup, join(o.Resource, o.Subresource)}] = true
		}
	}
	if err := lines.Err(); err != nil {
		return r, fmt.Errorf("cannot read the audit log: %w", err)
	}
	r.Refused = slices.Sorted(maps.Keys(refused))
	return r, nil
}

// Add makes the record one of both.
func (r *Record) Add(other Record) {
	if r.Used == nil {
		r.Used = map[Right]bool{}
	}
	maps.Copy(r.Used, other.Used)
	r.Refused = append(r.Refused, other.Refused...)
}

func join(resource, subresource string) string {
	if subresource == "" {
		return resource
	}
	return resource + "/" + subresource
}
