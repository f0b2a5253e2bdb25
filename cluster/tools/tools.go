// Package tools is the module of the programs that the test cluster runs: etcd
// and Kubernetes (as kubebox), kwok and kuttl. They share one module so that
// they share every compiled package; it is apart from the product's so that
// its versions and replacements never reach there.
package tools
