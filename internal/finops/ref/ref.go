// Package ref names objects the way every reference of the billing API does:
// by namespace and name, both always written out.
package ref

import (
	"cmp"
	"strings"
)

// A Key is the namespace and name of an object of a kind the context knows.
// A reference is never completed from the namespace of the object that
// carries it, so two equal Keys always mean the same object.
type Key struct {
	Namespace string
	Name      string
}

// String returns namespace/name, the form used in every message.
func (k Key) String() string { return k.Namespace + "/" + k.Name }

// IsZero reports whether the Key names nothing at all.
func (k Key) IsZero() bool { return k == Key{} }

// Compare orders Keys by namespace, then name.
func Compare(a, b Key) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// Path writes a walk from reference to reference: "a/x -> b/y -> a/x".
func Path(keys []Key) string {
	names := make([]string, 0, len(keys))
	for _, k := range keys {
		names = append(names, k.String())
	}
	return strings.Join(names, " -> ")
}
