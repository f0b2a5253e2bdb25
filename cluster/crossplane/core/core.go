// Package core is the module of Crossplane itself, as released, apart from the
// other tools' because it needs other versions of Kubernetes' libraries.
package core
