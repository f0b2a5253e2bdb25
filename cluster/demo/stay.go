package demo

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"text/template"
	"time"

	"github.com/provider-finops/provider-finops/cluster/control"
	"github.com/provider-finops/provider-finops/cluster/stay"
)

// around is what somebody needs who wants to go on from here.
var around = template.Must(template.New("around").Parse(`
Everything keeps running. In another terminal:

  cd {{.Root}}
  eval "$({{.Harness}} attach demo)"   # variables for kubectl, psql and harness, and these on the PATH

  kubectl get finops -A
  harness next-hour     # to the next full hour, and every CostJob runs for it
  harness time +30m     # business time alone
  psql "$DSN" -c 'SELECT window_start, charge_source, amount_micros FROM subscription_charges ORDER BY 1'
  curl '{{.OpenCost}}/allocation?window={{.Hour}}&step=1h&aggregate=namespace,pod,container'

Business time is {{.Now}}; it goes on by itself at the pace of the machine's clock.
There is no node, so no pod ever runs: "kubectl wait" for a Pod or a Deployment waits in vain, and the
CronJobs' runs are what next-hour makes. OpenCost tells about the same few workloads, hour after hour.
kubectl shows the age of what carries business time as <invalid>: to the machine that is the future.

Logs of the controller and of each run: {{.Logs}}
The pages of docs/guides on prices, collecting, subscribing, ending and following a figure can be
followed here. To stop and remove everything: Ctrl-C here, or kill {{.PID}}
`))

// stay says how to go on, obeys, and waits.
func (d *demo) stay(ctx context.Context) error {
	server, err := control.Serve(d.Product)
	if err != nil {
		return err
	}
	defer server.Stop()
	harness, err := os.Executable()
	if err != nil {
		return fmt.Errorf("cannot find the harness's own program: %w", err)
	}
	if err := stay.Offer(d.dir, []string{
		"KUBECONFIG=" + d.Testbed.Kubeconfig, "KUBECACHEDIR=" + d.Product.Kubectl.Cache,
		"DSN=" + d.Psql.DSN, "OPENCOST=" + d.Testbed.OpenCost, control.Variable + "=" + server.URL,
	}, []string{d.Testbed.Tools.Dir, filepath.Dir(d.Psql.Path), filepath.Dir(harness)}); err != nil {
		return err
	}
	if err := around.Execute(d.out, map[string]any{
		"Root": d.root, "Harness": harness,
		"OpenCost": d.Testbed.OpenCost,
		"Hour":     d.first.Format(time.RFC3339) + "," + d.first.Add(time.Hour).Format(time.RFC3339),
		"Now":      d.Product.Now().Format(time.RFC3339),
		"Logs":     d.dir, "PID": os.Getpid(),
	}); err != nil {
		return fmt.Errorf("cannot say how to go on: %w", err)
	}
	return d.Wait(ctx)
}
