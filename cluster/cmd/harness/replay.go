package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/provider-finops/provider-finops/cluster/process"
	"github.com/provider-finops/provider-finops/cluster/replay"
)

var replayCommand = command{
	name:    "replay",
	summary: "Serve recorded answers of a real OpenCost, moved in time, and print the URL.",
	details: `Every whole hour that has begun on the replayer's clock has an answer, at
/allocation and at /allocation/compute, for the aggregations
namespace,pod,container and cluster,namespace,pod,container and namespace.
The hour in progress is told whole. What was not recorded is refused with
status 501; bad requests are refused as the real server does.

` + lifetimeText,
	define: func(flags *flag.FlagSet) func(context.Context, []string) error {
		listen := flags.String("listen", "127.0.0.1:0", "`address` to listen on; port 0: any free one")
		options := defineReplay(flags)
		return func(ctx context.Context, _ []string) error {
			ctx, cancel := process.Lifetime(ctx, os.Stdin)
			defer cancel()
			handler, err := replay.New(options())
			if err != nil {
				return err
			}
			server, err := replay.Serve(*listen, handler)
			if err != nil {
				return err
			}
			defer server.Stop()
			fmt.Println(server.URL)
			select {
			case <-ctx.Done():
				return nil
			case err := <-server.Failed():
				return err
			}
		}
	},
}
