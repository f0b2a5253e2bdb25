package pricing

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
)

// Document is what OpenCost is told about a book: the eleven keys of its custom
// pricing file, all of them text. Rates are carried over as they are written;
// OpenCost knows no rate that is not set, so that one becomes "0". The name of
// the book is part of the document and its namespace is not (OPEN-PB-4).
func Document(name string, r Rates) map[string]string {
	return map[string]string{
		"provider":              "custom",
		"description":           "Pricebook from: " + name,
		"CPU":                   orZero(r.CPUHour),
		"spotCPU":               orZero(r.SpotCPUHour),
		"RAM":                   orZero(r.RAMGbHour),
		"spotRAM":               orZero(r.SpotRAMGbHour),
		"GPU":                   orZero(r.GPUHour),
		"storage":               orZero(r.PVGbHour),
		"zoneNetworkEgress":     orZero(r.NetworkGiB),
		"regionNetworkEgress":   orZero(r.NetworkGiB),
		"internetNetworkEgress": orZero(r.NetworkGiB),
	}
}

func orZero(rate string) string {
	if rate == "" {
		return "0"
	}
	return rate
}

// EncodeDocument writes a document in its one form: keys ascending, two spaces,
// a newline at the end (OPEN-PB-5).
func EncodeDocument(doc map[string]string) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(doc); err != nil {
		return "", fmt.Errorf("cannot encode pricing document: %w", err)
	}
	return b.String(), nil
}

// SameDocument tells whether stored text says the same as a document. The
// parsed documents are compared, so that one written by another program in
// another form does not restart OpenCost. Text that is no such document is
// different.
func SameDocument(stored string, doc map[string]string) bool {
	var parsed map[string]string
	if err := json.Unmarshal([]byte(stored), &parsed); err != nil {
		return false
	}
	return maps.Equal(parsed, doc)
}
