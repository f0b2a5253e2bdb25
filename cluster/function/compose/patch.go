package compose

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/fieldpath"
	k8sjson "k8s.io/apimachinery/pkg/util/json"
)

// content is the content of an object.
type content = map[string]any

// apply carries out one patch. The error of a field that is missing is one of
// fieldpath.IsNotFound.
func apply(p Patch, from, to content) error {
	value, err := p.value(fieldpath.Pave(from))
	if err != nil {
		return err
	}
	for i, t := range p.Transforms {
		if value, err = t.resolve(value); err != nil {
			return fmt.Errorf("transform at index %d: %w", i, err)
		}
	}
	if value, err = normal(value); err != nil {
		return err
	}
	return write(to, p.to(), value)
}

// value reads what the patch takes.
func (p Patch) value(from *fieldpath.Paved) (any, error) {
	if p.Combine == nil {
		return from.GetValue(p.FromFieldPath)
	}
	values := make([]any, len(p.Combine.Variables))
	for i, v := range p.Combine.Variables {
		var err error
		if values[i], err = from.GetValue(v.FromFieldPath); err != nil {
			return nil, err
		}
	}
	return fmt.Sprintf(p.Combine.String.Format, values...), nil
}

// write sets a field, or with wildcards in its path every field that matches.
func write(to content, path string, value any) error {
	paved := fieldpath.Pave(to)
	paths := []string{path}
	if strings.Contains(path, "[*]") {
		var err error
		if paths, err = paved.ExpandWildcards(path); err != nil {
			return err
		}
		if len(paths) == 0 {
			return fmt.Errorf("cannot expand ToFieldPath %s", path)
		}
	}
	for _, p := range paths {
		if err := paved.MergeValue(p, value, nil); err != nil {
			return err
		}
	}
	return nil
}

// normal gives a value the types that Kubernetes' decoder gives it: what
// arrives over the wire are floats, also where whole numbers are meant.
func normal(value any) (any, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("cannot encode the value: %w", err)
	}
	var out any
	if err := k8sjson.Unmarshal(text, &out); err != nil {
		return nil, fmt.Errorf("cannot decode the value: %w", err)
	}
	return out, nil
}
