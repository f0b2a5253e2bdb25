package node

import (
	"fmt"
	"strings"

	"github.com/provider-finops/provider-finops/cluster/controlplane"
	"github.com/provider-finops/provider-finops/cluster/realm"
)

// containerdConfig is what differs from the defaults, and why.
func (n *Node) containerdConfig() string {
	return strings.NewReplacer("FOLDER", folder, "PAUSE", pauseImage, "PLUGINS", n.programs.Plugins, "RUNC", n.programs.Runc).Replace(`version = 2
root = "FOLDER/containerd"
state = "FOLDER/containerd-state"
oom_score = 0
# These would complain of file systems that are not there, or ask for a collector.
disabled_plugins = [
  "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.devmapper",
  "io.containerd.snapshotter.v1.zfs", "io.containerd.internal.v1.opt", "io.containerd.internal.v1.tracing", "io.containerd.tracing.processor.v1.otlp",
]

[grpc]
  address = "FOLDER/containerd.sock"

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "PAUSE"
  stream_server_address = "127.0.0.1"
  stream_server_port = "0"
  disable_apparmor = true
  disable_hugetlb_controller = true
  tolerate_missing_hugetlb_controller = true
  # Virtual machines and containers may lack the right to lower a score.
  restrict_oom_score_adj = true

  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "PLUGINS"
    conf_dir = "FOLDER/network"

  [plugins."io.containerd.grpc.v1.cri".containerd]
    default_runtime_name = "runc"

    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"

      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        BinaryName = "RUNC"
        SystemdCgroup = false
`)
}

// kubeletConfig likewise. The machine's own limits are not the node's to
// enforce, nor are its disk and its image store.
func kubeletConfig(join controlplane.Join) string {
	return fmt.Sprintf(`apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: %[1]s
port: 10250
readOnlyPort: 0
healthzPort: 0
authentication:
  anonymous: {enabled: false}
  webhook: {enabled: true}
  x509: {clientCAFile: %[2]q}
authorization: {mode: Webhook}
tlsCertFile: %[3]q
tlsPrivateKeyFile: %[4]q
containerRuntimeEndpoint: unix://%[5]s/containerd.sock
cgroupDriver: cgroupfs
cgroupRoot: %[6]q
failCgroupV1: false
failSwapOn: false
oomScoreAdj: 0
enforceNodeAllocatable: []
localStorageCapacityIsolation: false
makeIPTablesUtilChains: false
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
evictionHard: {memory.available: 50Mi, nodefs.available: 1%%, imagefs.available: 1%%}
volumePluginDir: %[5]s/volume-plugins
clusterDomain: cluster.local
clusterDNS: [%[1]s] # Nobody serves names there, and that is said at once.
resolvConf: %[5]s/resolv.conf
nodeStatusUpdateFrequency: 5s
`, Address, join.CA, join.Certificate, join.Key, folder, realm.Group())
}
