package docs_test

import (
	"bufio"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
)

func TestMain(m *testing.M) { os.Exit(apitest.Main(m)) }

// pages are all files of documentation, seen from this folder.
func pages(t *testing.T) []string {
	t.Helper()
	found := []string{"../README.md", "../CONTRIBUTING.md"}
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".md") {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// blocks are the fenced blocks of a language on a page.
func blocks(t *testing.T, path, language string) []string {
	t.Helper()
	var found []string
	var block *strings.Builder
	lines := bufio.NewScanner(strings.NewReader(read(t, path)))
	for lines.Scan() {
		switch line := lines.Text(); {
		case block == nil && line == "```"+language:
			block = &strings.Builder{}
		case block != nil && line == "```":
			found = append(found, block.String())
			block = nil
		case block != nil:
			block.WriteString(line + "\n")
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return found
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	notSlug = regexp.MustCompile(`[^a-z0-9 _-]`)
)

// anchors are what the headings of a page are linked by.
func anchors(text string) map[string]bool {
	found := map[string]bool{}
	for _, h := range heading.FindAllStringSubmatch(text, -1) {
		found[strings.ReplaceAll(notSlug.ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-")] = true
	}
	return found
}

func TestLinks(t *testing.T) {
	for _, page := range pages(t) {
		for _, l := range link.FindAllStringSubmatch(read(t, page), -1) {
			target, anchor, _ := strings.Cut(l[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			path := page
			if target != "" {
				path = filepath.Join(filepath.Dir(page), target)
			}
			info, err := os.Stat(path)
			if err != nil {
				t.Errorf("%s links to %q: %v", page, l[1], err)
				continue
			}
			if anchor != "" && !info.IsDir() && !anchors(read(t, path))[anchor] {
				t.Errorf("%s links to %q, which has no such heading", page, l[1])
			}
		}
	}
}
