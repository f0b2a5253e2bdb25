// Package apitest gives tests a real API server: etcd and kube-apiserver as
// envtest starts them, with the definitions of package/crds installed.
//
// A test binary has one server. It starts with the first test that asks for it
// and is stopped by [Main], which every package that uses apitest calls from its
// TestMain. Tests keep apart by namespaces of their own ([Namespace]); what a
// cluster has only one of, such as the election of price books, is tested by one
// test at a time.
//
// The binaries are those of KUBEBUILDER_ASSETS or, if it is not set, those that
// the cluster harness builds. An ambient kubeconfig is never looked at.
package apitest
