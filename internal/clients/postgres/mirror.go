package postgres

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// An Object is what the mirrors store of any object of the API.
type Object struct {
	Namespace  string
	Name       string
	UID        string
	Generation int64

	// Spec is the object's spec as JSON. Its layout does not matter: equal
	// content in another order or with other spaces is equal.
	Spec json.RawMessage

	Labels      map[string]string
	Annotations map[string]string
}

// An Offering is one version of an Offering.
type Offering struct {
	Object

	// ResolvedPricing is the published price as JSON; nil while unresolved.
	ResolvedPricing json.RawMessage
}

// A Subscription is one version of a Subscription. Empty strings and zero
// times mean absent.
type Subscription struct {
	Object

	OfferingNamespace string
	OfferingName      string
	OfferingUID       string // Of the Offering whose terms apply (BETTER-OFF-5).
	ParentNamespace   string
	ParentName        string
	ParentUID         string
	CompatibilityRoot string
	ActivatedAt       time.Time
	DeactivatedAt     time.Time
	NamespaceLabels   map[string]string
}

// Hash is what tells versions of an Offering apart: spec and published price
// (OPEN-DB-6). Nothing else of the status makes a version, and neither do
// labels and annotations, which are stored as they were when one began.
func (o Offering) Hash() (string, error) {
	sum, err := hash(struct {
		Spec            json.RawMessage `json:"spec"`
		ResolvedPricing json.RawMessage `json:"resolvedPricing,omitempty"`
	}{o.Spec, o.ResolvedPricing})
	if err != nil {
		return "", fmt.Errorf("cannot hash offering \"%s/%s\": %w", o.Namespace, o.Name, err)
	}
	return sum, nil
}

// Hash is what tells versions of a Subscription apart: its spec, the labels of
// its namespace, when it was billed, and what it was resolved to (OPEN-DB-6).
func (s Subscription) Hash() (string, error) {
	sum, err := hash(struct {
		Spec              json.RawMessage   `json:"spec"`
		OfferingUID       string            `json:"offeringUID,omitempty"`
		ParentUID         string            `json:"parentUID,omitempty"`
		CompatibilityRoot string            `json:"compatibilityRoot,omitempty"`
		ActivatedAt       *time.Time        `json:"activatedAt,omitempty"`
		DeactivatedAt     *time.Time        `json:"deactivatedAt,omitempty"`
		NamespaceLabels   map[string]string `json:"namespaceLabels,omitempty"`
	}{
		s.Spec, s.OfferingUID, s.ParentUID, s.CompatibilityRoot,
		instant(s.ActivatedAt), instant(s.DeactivatedAt), s.NamespaceLabels,
	})
	if err != nil {
		return "", fmt.Errorf("cannot hash subscription \"%s/%s\": %w", s.Namespace, s.Name, err)
	}
	return sum, nil
}

// hash sums up a value's canonical JSON, so that the controller and the charge
// run, which read the same object by different ways, come to the same result.
func hash(value any) (string, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return "", err
	}
	text, err = canonical(text)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

// canonical writes JSON with sorted keys and without spaces or members that
// are null. Numbers keep their digits; they never become floats.
func canonical(text []byte) ([]byte, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	return json.Marshal(withoutNulls(value))
}

func withoutNulls(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key, member := range v {
			if member == nil {
				delete(v, key)
				continue
			}
			v[key] = withoutNulls(member)
		}
	case []any:
		for i := range v {
			v[i] = withoutNulls(v[i])
		}
	}
	return value
}

// storable replaces NUL characters, which JSON and the API server allow, an
// annotation for example, and PostgreSQL does not. One such object must not
// keep all others of a statement from being stored.
func storable(text []byte) ([]byte, error) {
	if !bytes.Contains(text, []byte(`\u0000`)) {
		return text, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	return json.Marshal(withoutNULs(value))
}

// Storable is a text as the mirror stores it.
func Storable(text string) string { return strings.ReplaceAll(text, "\x00", "\uFFFD") }

func withoutNULs(value any) any {
	switch v := value.(type) {
	case string:
		return Storable(v)
	case map[string]any:
		clean := make(map[string]any, len(v))
		for key, member := range v {
			clean[Storable(key)] = withoutNULs(member)
		}
		return clean
	case []any:
		for i := range v {
			v[i] = withoutNULs(v[i])
		}
	}
	return value
}

// instant is how the API knows a time: in whole seconds, UTC.
func instant(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC().Truncate(time.Second)
	return &t
}

// absent turns an empty string into SQL's NULL.
func absent(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
