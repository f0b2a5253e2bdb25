package controlplane

import (
	"fmt"
	"net"
	"path/filepath"
	"strconv"
)

const (
	loopback       = "127.0.0.1"
	serviceNetwork = "10.96.0.0/24"
	serviceAddress = "10.96.0.1" // The first of that network is the API server's own.
)

// servingHosts are the names that clients may call the API server by.
var servingHosts = []string{
	loopback, "localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc",
	"kubernetes.default.svc.cluster.local", serviceAddress,
}

// ports are those that one attempt to start uses.
type ports struct{ etcd, etcdPeer, apiServer int }

func (p ports) etcdURL() string      { return "http://" + at(p.etcd) }
func (p ports) etcdPeerURL() string  { return "http://" + at(p.etcdPeer) }
func (p ports) apiServerURL() string { return "https://" + at(p.apiServer) }

func at(port int) string { return net.JoinHostPort(loopback, strconv.Itoa(port)) }

func etcdArguments(dir string, p ports) []string {
	return []string{
		"--name=finops-test",
		"--data-dir=" + filepath.Join(dir, "etcd"),
		"--listen-client-urls=" + p.etcdURL(),
		"--advertise-client-urls=" + p.etcdURL(),
		"--listen-peer-urls=" + p.etcdPeerURL(),
		"--initial-advertise-peer-urls=" + p.etcdPeerURL(),
		"--initial-cluster=finops-test=" + p.etcdPeerURL(),
		"--unsafe-no-fsync", // Nobody needs the data after a power cut.
		"--log-level=warn",
	}
}

func apiServerArguments(dir, logs string, p ports) []string {
	file := func(name string) string { return filepath.Join(dir, name) }
	return []string{
		"--etcd-servers=" + p.etcdURL(),
		"--bind-address=" + loopback,
		fmt.Sprintf("--secure-port=%d", p.apiServer),
		"--advertise-address=" + loopback,
		"--endpoint-reconciler-type=none", // Endpoints may not be loopback addresses.
		"--tls-cert-file=" + file("apiserver.crt"),
		"--tls-private-key-file=" + file("apiserver.key"),
		"--client-ca-file=" + file("ca.crt"),
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		// Without these the controller manager complains about a missing CA all the time.
		"--requestheader-client-ca-file=" + file("ca.crt"),
		"--requestheader-allowed-names=front-proxy-client",
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + file("front-proxy-client.crt"),
		"--proxy-client-key-file=" + file("front-proxy-client.key"),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + file("sa.pub"),
		"--service-account-signing-key-file=" + file("sa.key"),
		"--service-cluster-ip-range=" + serviceNetwork,
		"--audit-policy-file=" + file("audit.yaml"),
		"--audit-log-path=" + filepath.Join(logs, AuditLog),
	}
}

func controllerManagerArguments(dir string, still bool) []string {
	file := func(name string) string { return filepath.Join(dir, name) }
	controllers := "*"
	if still {
		controllers = "*,-cronjob-controller"
	}
	return []string{
		"--kubeconfig=" + file("controller-manager.kubeconfig"),
		"--controllers=" + controllers,
		"--secure-port=0", // Whether it works shows in what it makes.
		"--leader-elect=false",
		"--kube-api-qps=500", "--kube-api-burst=1000", // Nobody else needs the API server while it starts.
		"--use-service-account-credentials=true", // Each controller has its own role.
		"--service-account-private-key-file=" + file("sa.key"),
		"--root-ca-file=" + file("ca.crt"),
		"--cluster-signing-cert-file=" + file("ca.crt"),
		"--cluster-signing-key-file=" + file("ca.key"),
	}
}
