package docs_test

import (
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestSnippets reads what is meant for other programs than an API server.
func TestSnippets(t *testing.T) {
	read := 0
	for _, page := range pages(t) {
		for _, block := range blocks(t, page, "yml") {
			read++
			for document := range strings.SplitSeq(block, "\n---\n") {
				var parsed map[string]any
				if err := yaml.Unmarshal([]byte(document), &parsed); err != nil {
					t.Errorf("%s: %v\n%s", page, err, block)
				}
			}
		}
	}
	if read < 4 {
		t.Errorf("only %d snippets", read)
	}
}

var (
	called = regexp.MustCompile(`\bmake (?:-C \S+ )?([a-z][a-z0-9-]*)\b`)
	inline = regexp.MustCompile("`(?:sudo [^`\n]*|[A-Z_]+=[^`\n]*)?make [^`\n]+`")
	target = regexp.MustCompile(`(?m)^([a-z][a-z0-9-]*):`)
)

// TestMakeTargets shows that what pages tell to make is made.
func TestMakeTargets(t *testing.T) {
	targets := map[string]bool{}
	for _, m := range target.FindAllStringSubmatch(read(t, "../Makefile"), -1) {
		targets[m[1]] = true
	}
	for _, page := range append(pages(t), "../kuttl-tests/README.md", "../cluster/README.md") {
		code := strings.Join(append(append(blocks(t, page, "shell"), blocks(t, page, "yml")...), inline.FindAllString(read(t, page), -1)...), "\n")
		for _, m := range called.FindAllStringSubmatch(code, -1) {
			if !targets[m[1]] {
				t.Errorf("%s: there is no target %q", page, m[1])
			}
		}
	}
}
