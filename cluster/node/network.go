package node

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/provider-finops/provider-finops/cluster/controlplane"
	"github.com/provider-finops/provider-finops/cluster/process"
	"github.com/provider-finops/provider-finops/cluster/realm"
)

// Address is the node's, on the bridge that its pods are on. What pods have to
// reach listens there.
const Address = "10.244.0.1"

// Network is Address with the network that pods have addresses of.
const Network = Address + "/24"

const podNetwork = "10.244.0.0/24"

const bridge = "finops0"

// bridgeAddress is the bridge's own. One that was given none takes the lowest of
// those that are connected to it: it would change when pods come and go, and
// whoever had asked before would speak to nobody until asking again.
const bridgeAddress = "0a:58:0a:f4:00:01"

// networkConfig gives each pod an address on the bridge, and Address as its way
// to everything else. As nothing leads out of these namespaces, nothing is
// translated.
const networkConfig = `{
  "cniVersion": "0.4.0",
  "name": "finops",
  "plugins": [
    {
      "type": "bridge",
      "bridge": "` + bridge + `",
      "isDefaultGateway": true,
      "ipMasq": false,
      "hairpinMode": true,
      "ipam": {
        "type": "host-local",
        "ranges": [[{"subnet": "` + podNetwork + `", "gateway": "` + Address + `"}]],
        "dataDir": "` + folder + `/addresses"
      }
    }
  ]
}
`

// OpenNetwork makes the bridge and gives the API server's Service its address,
// so that servers can listen before the node starts.
func OpenNetwork(ctx context.Context) error {
	if !realm.Inside() {
		return errors.New("cannot change the machine's own network: a node needs namespaces of its own, see package realm")
	}
	_ = closeNetwork(ctx) // Of an attempt that got no further.
	return ip(ctx,
		"link add name "+bridge+" address "+bridgeAddress+" type bridge",
		"address add "+Network+" dev "+bridge,
		"link set "+bridge+" up",
		"address add "+controlplane.ServiceAddress+"/32 dev lo",
	)
}

// closeNetwork takes back what OpenNetwork has made, and what pods have left:
// with a pod's network goes its link.
func closeNetwork(ctx context.Context) error {
	return errors.Join(ip(ctx, "link delete "+bridge), ip(ctx, "address delete "+controlplane.ServiceAddress+"/32 dev lo"))
}

// ip runs commands of ip(8) in order, to the first that fails.
func ip(ctx context.Context, commands ...string) error {
	cmd := process.Command(ctx, "ip", "-batch", "-")
	cmd.Stdin = strings.NewReader(strings.Join(commands, "\n") + "\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("cannot set up the node's network: %w\n%s", err, out)
	}
	return nil
}
