package docs_test

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	extv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write the pages that are made from the code")

const (
	apiPage    = "reference/api.md"
	generated  = "<!-- What follows is made from the definitions: go test ./docs -run TestAPI -update -->\n"
	conditions = "conditions"
)

// TestAPI compares the page with the definitions, or writes it.
func TestAPI(t *testing.T) {
	page := read(t, apiPage)
	intro, _, found := strings.Cut(page, generated)
	if !found {
		t.Fatalf("%s does not say where the tables begin: want a line %q", apiPage, generated)
	}
	want := intro + generated + tables(t)
	if *update {
		if err := os.WriteFile(apiPage, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, page); diff != "" {
		t.Errorf("%s is out of date, run: go test ./docs -run TestAPI -update\n-want, +got:\n%s", apiPage, diff)
	}
}

// tables are the kinds in the order in which one meets them.
func tables(t *testing.T) string {
	t.Helper()
	var out bytes.Buffer
	for _, plural := range []string{"finopsproviders", "pricebooks", "costjobs", "offerings", "subscriptions"} {
		var crd extv1.CustomResourceDefinition
		text := read(t, filepath.Join("../package/crds", "finops.stakater.com_"+plural+".yaml"))
		if err := yaml.UnmarshalStrict([]byte(text), &crd); err != nil {
			t.Fatal(err)
		}
		kind(&out, crd)
	}
	return out.String()
}

func kind(out *bytes.Buffer, crd extv1.CustomResourceDefinition) {
	name, version := crd.Spec.Names.Kind, crd.Spec.Versions[0]
	schema := version.Schema.OpenAPIV3Schema
	fmt.Fprintf(out, "\n## %s\n\n`%s`, %s.\n\n%s\n", name, crd.Name, strings.ToLower(string(crd.Spec.Scope)), line(schema.Description))
	refusals(out, *schema)
	for _, part := range []string{"spec", "status"} {
		fmt.Fprintf(out, "\n### %s %s\n", name, part)
		refusals(out, schema.Properties[part])
		fmt.Fprint(out, "\n| Field | Type | Meaning |\n| --- | --- | --- |\n")
		fields(out, "", schema.Properties[part])
	}
	if len(version.SelectableFields) > 0 {
		fmt.Fprint(out, "\nField selectors:")
		for _, f := range version.SelectableFields {
			fmt.Fprintf(out, " `%s`", strings.TrimPrefix(f.JSONPath, "."))
		}
		fmt.Fprintln(out)
	}
}

func refusals(out *bytes.Buffer, s extv1.JSONSchemaProps) {
	for _, rule := range s.XValidations {
		fmt.Fprintf(out, "\nRefused otherwise: “%s”\n", line(rule.Message))
	}
}

func fields(out *bytes.Buffer, path string, s extv1.JSONSchemaProps) {
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		field := s.Properties[name]
		full := path + name
		if name == conditions {
			fmt.Fprintf(out, "| `%s` | list | see [Conditions](conditions.md) |\n", full)
			continue
		}
		meaning := line(field.Description)
		element := field
		if field.Items != nil {
			element = *field.Items.Schema
		}
		if notes := notes(field, element, slices.Contains(s.Required, name)); notes != "" {
			meaning += " *" + notes + "*"
		}
		fmt.Fprintf(out, "| `%s` | %s | %s |\n", full, typeOf(field), meaning)
		if name == "resources" {
			continue // Kubernetes' own, and long.
		}
		if field.Items != nil {
			full += "[]"
		}
		fields(out, full+".", element)
	}
}

// notes are the rules that one can read off the schema.
func notes(field, element extv1.JSONSchemaProps, required bool) string {
	var all []string
	add := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	if required {
		add("required")
	}
	if field.Default != nil {
		add("default `%s`", strings.Trim(string(field.Default.Raw), `"`))
	}
	if len(element.Enum) > 0 {
		values := make([]string, 0, len(element.Enum))
		for _, v := range element.Enum {
			values = append(values, "`"+strings.Trim(string(v.Raw), `"`)+"`")
		}
		add("one of %s", strings.Join(values, ", "))
	}
	if element.Pattern != "" {
		add("matches `%s`", strings.ReplaceAll(element.Pattern, "|", `\|`))
	}
	if element.Minimum != nil {
		add("at least %.0f", *element.Minimum)
	}
	if element.Maximum != nil {
		add("at most %.0f", *element.Maximum)
	}
	if element.MinLength != nil {
		add("not empty")
	}
	if element.MaxLength != nil {
		add("at most %d characters", *element.MaxLength)
	}
	if field.MaxItems != nil {
		add("at most %d entries", *field.MaxItems)
	}
	for _, rule := range slices.Concat(field.XValidations, elementRules(field, element)) {
		add("refused otherwise: “%s”", line(rule.Message))
	}
	return strings.Join(all, "; ")
}

func elementRules(field, element extv1.JSONSchemaProps) extv1.ValidationRules {
	if field.Items == nil {
		return nil
	}
	return element.XValidations
}

func typeOf(s extv1.JSONSchemaProps) string {
	switch {
	case s.Items != nil:
		return "list of " + typeOf(*s.Items.Schema)
	case s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil:
		return "map of " + typeOf(*s.AdditionalProperties.Schema)
	case s.Format == "date-time":
		return "time"
	case s.Format != "":
		return s.Format
	}
	return s.Type
}

// line is a text as a cell of a table.
func line(text string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", `\|`)
}
