// Package apis holds the API groups of provider-finops. It has no code of its
// own: every step that generates code or manifests from the groups stands
// here, in the order in which the steps have to run.
package apis

// A kind that was removed must not survive as a stale definition.
//go:generate rm -rf ../package/crds

//go:generate go tool controller-gen object paths=./...
//go:generate go tool controller-gen crd paths=./... output:crd:artifacts:config=../package/crds
