package product

import (
	"strings"
	"testing"
)

// TestControllerEnvironment has a story take away what the controller always has.
func TestControllerEnvironment(t *testing.T) {
	p := &Product{DSN: "postgres:///finops", OpenCost: "http://127.0.0.1:9003", variables: []string{"OPENCOST_CONNECTION_STRING=http://127.0.0.1:1"}}
	last := map[string]string{}
	for _, variable := range p.controllerEnvironment("config") {
		name, value, _ := strings.Cut(variable, "=")
		last[name] = value
	}
	for name, want := range map[string]string{
		"OPENCOST_CONNECTION_STRING": "http://127.0.0.1:1",
		"POSTGRES_CONNECTION_STRING": "postgres:///finops",
	} {
		if last[name] != want {
			t.Errorf("%s: want %q, got %q", name, want, last[name])
		}
	}
}
