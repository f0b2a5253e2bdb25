// Package cli is the module of Crossplane's command line, which its project
// releases apart from Crossplane.
package cli
