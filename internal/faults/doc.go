// Package faults runs the controllers together on a real API server whose
// answers go wrong, and compares how things end with a run in which none did.
// It is a test and nothing else. Which faults are tried where is listed in
// docs/design/faults.md.
package faults
