// Package ref names objects the way every reference of the billing API does:
// by namespace and name, both always written out.
package ref

import (
	"cmp"
	"fmt"
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

// pathHead and pathTail are how much of a long walk is written.
const (
	pathHead = 12
	pathTail = 4
)

// Path writes a walk from reference to reference: "a/x -> b/y -> a/x". Of a
// long one it writes how it begins and ends, because messages have a limit.
func Path(keys []Key) string {
	const arrow = " -> "
	skipped := len(keys) - pathHead - pathTail
	if skipped < 2 {
		return join(keys, arrow)
	}
	return join(keys[:pathHead], arrow) + fmt.Sprintf("%s(%d more)%s", arrow, skipped, arrow) + join(keys[len(keys)-pathTail:], arrow)
}

func join(keys []Key, between string) string {
	names := make([]string, 0, len(keys))
	for _, k := range keys {
		names = append(names, k.String())
	}
	return strings.Join(names, between)
}
