// Package tenant tests what examples/tenant composes: rendered offline by
// Crossplane's own command line, without a cluster. What becomes of it in one is
// told by kuttl-tests/tenant.
package tenant
