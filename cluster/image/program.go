package image

import (
	"debug/buildinfo"
	"debug/elf"
	"errors"
	"fmt"
)

// A program is what its own file says about it.
type program struct {
	architecture string
	revision     string // Of the source; empty if the build did not know.
}

// inspect refuses what could not start in an image with nothing else in it.
func inspect(binary string) (program, error) {
	file, err := elf.Open(binary)
	if err != nil {
		return program{}, fmt.Errorf("it is no Linux program: %w", err)
	}
	defer func() { _ = file.Close() }() // It was only read.
	for _, segment := range file.Progs {
		if segment.Type == elf.PT_INTERP {
			return program{}, errors.New("it is linked dynamically, and from scratch there are no libraries: build it with CGO_ENABLED=0")
		}
	}
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return program{}, fmt.Errorf("it was not built by Go: %w", err)
	}
	var p program
	for _, setting := range info.Settings {
		switch setting.Key {
		case "GOARCH":
			p.architecture = setting.Value
		case "vcs.revision":
			p.revision = setting.Value
		}
	}
	if p.architecture == "" {
		return program{}, errors.New("it does not say for which architecture it was built")
	}
	return p, nil
}

func (p program) labels(title string) map[string]string {
	labels := map[string]string{
		"org.opencontainers.image.title":    title,
		"org.opencontainers.image.source":   "https://github.com/provider-finops/provider-finops",
		"org.opencontainers.image.licenses": "Apache-2.0",
	}
	if p.revision != "" {
		labels["org.opencontainers.image.revision"] = p.revision
	}
	return labels
}
