package product

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/provider-finops/provider-finops/cluster/process"
)

// A Kubectl speaks to one cluster.
type Kubectl struct {
	Path       string
	Kubeconfig string
	Cache      string // Folder for what it remembers of the cluster.
	Dir        string // File names are relative to it.
}

// Run returns what kubectl prints. An error says what it said.
func (k Kubectl) Run(ctx context.Context, args ...string) (string, error) {
	cmd := process.Command(ctx, k.Path, args...)
	cmd.Dir = k.Dir
	cmd.Env = k.Environment()
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("cannot run kubectl %s: %w\n%s", strings.Join(args, " "), err, complaint.String())
	}
	return out.String(), nil
}

// Environment is what kubectl is run with.
func (k Kubectl) Environment() []string {
	return append(os.Environ(), "KUBECONFIG="+k.Kubeconfig, "KUBECACHEDIR="+k.Cache)
}

// Get reads one object, or a list, into a value.
func (k Kubectl) Get(ctx context.Context, into any, args ...string) error {
	return k.read(ctx, into, append([]string{"get", "--output=json"}, args...)...)
}

// read reads the JSON that a command prints.
func (k Kubectl) read(ctx context.Context, into any, args ...string) error {
	text, err := k.Run(ctx, args...)
	if err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		return fmt.Errorf("cannot read what kubectl %s prints: %w", strings.Join(args, " "), err)
	}
	return nil
}
