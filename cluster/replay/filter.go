package replay

import (
	"fmt"
	"slices"
	"strings"
)

// A filter is what its parameter of the same name asks for, in the language that
// servers know since 2025: conditions that all have to hold.
type filter []condition

// A condition holds for an item one of whose values is as it says.
type condition struct {
	field  string
	holds  func(value, want string) bool
	not    bool
	values []string
}

// fields are the names of the language, and those of an item's properties.
var fields = map[string]string{
	"cluster": "cluster", "node": "node", "namespace": "namespace", "pod": "pod", "container": "container",
	"controllerKind": "controllerKind", "controllerName": "controller",
}

// operators in the order in which they are looked for: none begins like a later one.
var operators = []struct {
	text  string
	holds func(value, want string) bool
}{
	{"<~:", strings.HasPrefix},
	{"~>:", strings.HasSuffix},
	{"~:", strings.Contains},
	{":", func(value, want string) bool { return value == want }},
}

// parseFilter reads the parameter. Of the language it knows conditions on plain
// properties, joined by "+"; what else there is it refuses rather than guesses.
func parseFilter(text string) (filter, error) {
	var f filter
	for rest := text; rest != ""; {
		c, after, err := parseCondition(rest)
		if err != nil {
			return nil, fmt.Errorf("cannot read filter %q: %w", text, err)
		}
		f = append(f, c)
		if rest = after; rest == "" {
			break
		}
		var more bool
		if rest, more = strings.CutPrefix(rest, "+"); !more || rest == "" {
			return nil, fmt.Errorf("cannot read filter %q: want a condition after a plus, got %q", text, after)
		}
	}
	return f, nil
}

func parseCondition(text string) (c condition, rest string, err error) {
	end := strings.IndexAny(text, "!<~:")
	if end < 0 {
		return c, "", fmt.Errorf("%q has no operator", text)
	}
	field, known := fields[text[:end]]
	if !known {
		return c, "", fmt.Errorf("field %q is not among those that are told apart here", text[:end])
	}
	c.field = field
	rest, c.not = strings.CutPrefix(text[end:], "!")
	for _, o := range operators {
		if after, is := strings.CutPrefix(rest, o.text); is {
			c.holds, rest = o.holds, after
			break
		}
	}
	if c.holds == nil {
		return c, "", fmt.Errorf("%q is no operator", rest)
	}

	for {
		quoted, is := strings.CutPrefix(rest, `"`)
		value, after, ends := strings.Cut(quoted, `"`)
		if !is || !ends {
			return c, "", fmt.Errorf("want a value in quotes, got %q", rest)
		}
		c.values = append(c.values, value)
		next, more := strings.CutPrefix(after, ",")
		if rest = next; !more {
			return c, after, nil
		}
	}
}

// keeps says whether an item passes.
func (f filter) keeps(properties map[string]any) bool {
	for _, c := range f {
		// The server has a name for what is not there.
		value, there := properties[c.field].(string)
		if !there {
			value = "__unallocated__"
		}
		if slices.ContainsFunc(c.values, func(want string) bool { return c.holds(value, want) }) == c.not {
			return false
		}
	}
	return true
}
