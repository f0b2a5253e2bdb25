package deployed

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

type object = map[string]any

// writeOverlay writes a kustomization as a user would have one, and returns its
// folder.
func (p *Product) writeOverlay() (string, error) {
	dir := filepath.Join(p.Dir, "install")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("cannot make a folder for a kustomization: %w", err)
	}
	base, err := filepath.Rel(dir, filepath.Join(p.Root, "cluster", "install"))
	if err != nil {
		return "", fmt.Errorf("cannot name the manifests: %w", err)
	}
	return dir, writeJSON(filepath.Join(dir, "kustomization.yaml"), p.kustomization(base))
}

func (p *Product) kustomization(base string) object {
	repository, tag, _ := strings.Cut(p.Image, ":")
	target := object{"kind": "Deployment", "name": "finops-operator-controller-manager"}
	patches := []object{{"target": target, "patch": text(p.deploymentPatch())}}
	if operations := p.argumentsPatch(); len(operations) > 0 {
		patches = append(patches, object{"target": target, "patch": text(operations)})
	}
	k := object{
		"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization",
		"resources": []string{base},
		"images":    []object{{"name": "ghcr.io/provider-finops/provider-finops", "newName": repository, "newTag": tag}},
		"patches":   patches,
	}
	if !p.settings.sets("OPERATOR_IMAGE") { // Then the collectors' pods have the controller's.
		container := "spec.template.spec.containers.[name=manager]"
		k["replacements"] = []object{{
			"source":  object{"kind": target["kind"], "name": target["name"], "fieldPath": container + ".image"},
			"targets": []object{{"select": target, "fieldPaths": []string{container + ".env.[name=OPERATOR_IMAGE].value"}}},
		}}
	}
	return k
}

// text is a patch as kustomize takes it.
func text(patch any) string {
	encoded, err := json.Marshal(patch)
	if err != nil {
		panic(err) // Of strings and maps of them.
	}
	return string(encoded)
}

// deploymentPatch adds variables. Two controllers with different clocks must not
// be there at once, so the old one goes first.
func (p *Product) deploymentPatch() object {
	variables := p.settings.entries()
	for _, v := range variables {
		v["valueFrom"] = nil // Whatever the manifests say.
	}
	return object{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": object{"name": "finops-operator-controller-manager"},
		"spec": object{
			"strategy": object{"type": "Recreate", "rollingUpdate": nil},
			"template": object{"spec": object{"containers": []object{{"name": "manager", "env": variables}}}},
		},
	}
}

// entries are the variables as a container has them.
func (s settings) entries() []object {
	entries := make([]object, 0, len(s.variables))
	for _, v := range s.variables {
		name, value, _ := strings.Cut(v, "=")
		entries = append(entries, object{"name": name, "value": value})
	}
	return entries
}

// argumentsPatch adds flags behind those of the manifests.
func (p *Product) argumentsPatch() []object {
	arguments := p.arguments()
	operations := make([]object, 0, len(arguments))
	for _, argument := range arguments {
		operations = append(operations, object{"op": "add", "path": "/spec/template/spec/containers/0/args/-", "value": argument})
	}
	return operations
}
