package demo

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"text/template"
	"time"

	"github.com/provider-finops/provider-finops/cluster/control"
)

// around is what somebody needs who wants to go on from here.
var around = template.Must(template.New("around").Parse(`
Everything keeps running. In another terminal:

  export KUBECONFIG={{.Kubeconfig}} KUBECACHEDIR={{.Cache}}
  export PATH={{.Tools}}:{{.Psql}}:{{.Harness}}:$PATH
  export DSN='{{.DSN}}'
  export {{.Variable}}={{.Control}}

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
Every page of docs/guides can be followed here. To stop and remove everything: Ctrl-C here, or kill {{.PID}}
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
	if err := around.Execute(d.out, map[string]any{
		"Kubeconfig": d.Testbed.Kubeconfig, "Cache": d.Product.Kubectl.Cache,
		"Tools": d.Testbed.Tools.Dir, "Psql": filepath.Dir(d.Psql.Path),
		"DSN": d.Psql.DSN, "Variable": control.Variable, "Control": server.URL, "Harness": filepath.Dir(harness),
		"OpenCost": d.Testbed.OpenCost,
		"Hour":     d.first.Format(time.RFC3339) + "," + d.first.Add(time.Hour).Format(time.RFC3339),
		"Now":      d.Product.Now().Format(time.RFC3339),
		"Logs":     d.dir, "PID": os.Getpid(),
	}); err != nil {
		return fmt.Errorf("cannot say how to go on: %w", err)
	}
	return d.Wait(ctx)
}
