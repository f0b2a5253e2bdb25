// Package lint is the module of the linter, apart from the product's so that
// its many dependencies never reach there.
package lint
