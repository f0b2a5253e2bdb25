package compose

import (
	"bytes"
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"
)

// The types of patch.
const (
	fromComposite        = "FromCompositeFieldPath"
	toComposite          = "ToCompositeFieldPath"
	combineFromComposite = "CombineFromComposite"
	combineToComposite   = "CombineToComposite"
	patchSet             = "PatchSet"
)

// required is the policy of a patch whose resource waits for the field.
const required = "Required"

// Resources is the input of a step that patches and transforms.
type Resources struct {
	APIVersion string     `json:"apiVersion"`
	Kind       string     `json:"kind"`
	PatchSets  []PatchSet `json:"patchSets"`
	Resources  []Template `json:"resources"`
}

// A PatchSet is a list of patches that several resources share.
type PatchSet struct {
	Name    string  `json:"name"`
	Patches []Patch `json:"patches"`
}

// A Template makes one composed resource.
type Template struct {
	Name            string           `json:"name"`
	Base            json.RawMessage  `json:"base"`
	Patches         []Patch          `json:"patches"`
	ReadinessChecks []ReadinessCheck `json:"readinessChecks"`
}

// A Patch takes a value from one object to another.
type Patch struct {
	Type          string      `json:"type"`
	FromFieldPath string      `json:"fromFieldPath"`
	ToFieldPath   string      `json:"toFieldPath"`
	PatchSetName  string      `json:"patchSetName"`
	Combine       *Combine    `json:"combine"`
	Transforms    []Transform `json:"transforms"`
	Policy        *Policy     `json:"policy"`
}

// A Policy says what a missing field means.
type Policy struct {
	FromFieldPath string `json:"fromFieldPath"`
}

// A Combine makes one value of several.
type Combine struct {
	Strategy  string     `json:"strategy"`
	Variables []Variable `json:"variables"`
	String    *struct {
		Format string `json:"fmt"`
	} `json:"string"`
}

// A Variable is one of the values that are combined.
type Variable struct {
	FromFieldPath string `json:"fromFieldPath"`
}

// kind is the type of the patch.
func (p Patch) kind() string {
	if p.Type == "" {
		return fromComposite
	}
	return p.Type
}

// to is the path of the field that is written.
func (p Patch) to() string {
	if p.ToFieldPath == "" {
		return p.FromFieldPath
	}
	return p.ToFieldPath
}

func (p Patch) required() bool { return p.Policy != nil && p.Policy.FromFieldPath == required }

// toComposed says that the patch writes to the composed resource.
func (p Patch) toComposed() bool {
	return p.kind() == fromComposite || p.kind() == combineFromComposite
}

// decode reads the input of a step, and refuses fields it does not know.
func decode(input *structpb.Struct) (*Resources, error) {
	text, err := protojson.Marshal(input)
	if err != nil {
		return nil, fmt.Errorf("cannot read the input: %w", err)
	}
	in := &Resources{}
	strict := json.NewDecoder(bytes.NewReader(text))
	strict.DisallowUnknownFields()
	if err := strict.Decode(in); err != nil {
		return nil, fmt.Errorf("cannot read the input, or it goes beyond the subset that this function knows: %w", err)
	}
	if in.APIVersion != "pt.fn.crossplane.io/v1beta1" || in.Kind != "Resources" {
		return nil, fmt.Errorf("cannot read input of %s %s: want pt.fn.crossplane.io/v1beta1 Resources", in.APIVersion, in.Kind)
	}
	return in, in.expand()
}

// expand puts the patches of the sets into the templates, and refuses what
// cannot be carried out.
func (in *Resources) expand() error {
	sets := map[string][]Patch{}
	for _, s := range in.PatchSets {
		for i, p := range s.Patches {
			if p.kind() == patchSet {
				return fmt.Errorf("patch %d of set %q: a patch set cannot hold another one", i, s.Name)
			}
			if err := p.validate(); err != nil {
				return fmt.Errorf("patch %d of set %q: a patch set cannot hold it: %w", i, s.Name, err)
			}
		}
		sets[s.Name] = s.Patches
	}
	if len(in.Resources) == 0 {
		return fmt.Errorf("resources is required")
	}
	for i := range in.Resources {
		t := &in.Resources[i]
		if t.Name == "" || len(t.Base) == 0 {
			return fmt.Errorf("resource %d (%q): name and base are required", i, t.Name)
		}
		var patches []Patch
		for j, p := range t.Patches {
			if err := p.validate(); err != nil {
				return fmt.Errorf("resource %q, patch %d: %w", t.Name, j, err)
			}
			if p.kind() != patchSet {
				patches = append(patches, p)
				continue
			}
			set, ok := sets[p.PatchSetName]
			if !ok {
				return fmt.Errorf("resource %q: cannot find patch set %q", t.Name, p.PatchSetName)
			}
			patches = append(patches, set...)
		}
		t.Patches = patches
	}
	return nil
}

func (p Patch) validate() error {
	switch p.kind() {
	case fromComposite, toComposite:
		if p.FromFieldPath == "" {
			return fmt.Errorf("fromFieldPath is required for %s", p.kind())
		}
	case combineFromComposite, combineToComposite:
		if p.Combine == nil || p.Combine.Strategy != "string" || p.Combine.String == nil || len(p.Combine.Variables) == 0 {
			return fmt.Errorf("combine with strategy string, a format and variables is required for %s", p.kind())
		}
		if p.ToFieldPath == "" {
			return fmt.Errorf("toFieldPath is required for %s", p.kind())
		}
	case patchSet:
		if p.PatchSetName == "" {
			return fmt.Errorf("patchSetName is required for %s", p.kind())
		}
	default:
		return fmt.Errorf("cannot carry out patches of type %q", p.Type)
	}
	if p.Policy != nil && p.Policy.FromFieldPath != required && p.Policy.FromFieldPath != "Optional" {
		return fmt.Errorf("policy.fromFieldPath is %q, want Required or Optional", p.Policy.FromFieldPath)
	}
	return nil
}
