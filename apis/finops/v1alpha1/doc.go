// Package v1alpha1 is the FinOps API: what a platform sells (Offering), who is
// bound to it (Subscription), what resources cost (PriceBook), where they run
// (FinOpsProvider), and when consumption and charges are collected (CostJob).
//
// All five kinds are managed resources of crossplane-runtime: the runtime adds
// the condition Synced and honours the annotation crossplane.io/paused, and
// managed.go tells it how little else of a managed resource they have. Their
// fields stand directly under spec.
//
// What an object may look like is decided here and nowhere else, by schema,
// defaults and CEL rules: they hold without the provider running. What follows
// from an object is the controllers' and the jobs' business. Every condition,
// reason and message that a user may meet is declared in conditions.go.
//
// +kubebuilder:object:generate=true
// +groupName=finops.stakater.com
// +versionName=v1alpha1
package v1alpha1
