package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/provider-finops/provider-finops/cluster/control"
	"github.com/provider-finops/provider-finops/cluster/e2e"
	"github.com/provider-finops/provider-finops/cluster/process"
	"github.com/provider-finops/provider-finops/cluster/toolbox"
)

var e2eCommand = command{
	name:    "e2e",
	summary: "Run the kuttl stories, each against a cluster, a database and a controller of its own.",
	details: `Reports in JUnit's format go to _output/reports. The logs of a story that failed
are kept, and its folder is named.`,
	define: func(flags *flag.FlagSet) func(context.Context, []string) error {
		selected := flags.String("suite", "", "run this `suite or story` only, such as finops, first-bill or finops/first-bill")
		parallel := flags.Int("parallel", min(runtime.NumCPU(), 4), "run so many `stories` at once")
		return func(ctx context.Context, _ []string) error {
			ctx, cancel := process.Lifetime(ctx, nil)
			defer cancel()
			root, err := toolbox.ProjectRoot(".")
			if err != nil {
				return err
			}
			return e2e.Run(ctx, e2e.Options{Root: root, Selected: *selected, Parallel: *parallel, Out: os.Stdout})
		}
	},
}

var timeCommand = command{
	name:    "time",
	args:    "INSTANT",
	summary: "In a step of a story: set business time, restarting the controller.",
	details: "For example: \"$HARNESS\" time 2031-03-03T09:00:00Z",
	define: func(*flag.FlagSet) func(context.Context, []string) error {
		return func(ctx context.Context, args []string) error {
			if len(args) != 1 {
				return errors.New("time needs one instant, such as 2031-03-03T09:00:00Z")
			}
			at, err := time.Parse(time.RFC3339, args[0])
			if err != nil {
				return fmt.Errorf("cannot read the instant: %w", err)
			}
			return control.MoveTime(ctx, os.Getenv(control.Variable), at)
		}
	},
}

var costJobCommand = command{
	name:    "costjob",
	args:    "NAMESPACE/NAME HOUR",
	summary: "In a step of a story: run a CostJob as if its CronJob were due at the hour.",
	details: "For example: \"$HARNESS\" costjob finops-operator-system/charges-hourly 2031-03-03T09:00:00Z",
	define: func(*flag.FlagSet) func(context.Context, []string) error {
		return func(ctx context.Context, args []string) error {
			if len(args) != 2 || strings.Count(args[0], "/") != 1 {
				return errors.New("costjob needs a name and an hour, such as finops-operator-system/charges-hourly 2031-03-03T09:00:00Z")
			}
			hour, err := time.Parse(time.RFC3339, args[1])
			if err != nil {
				return fmt.Errorf("cannot read the hour: %w", err)
			}
			namespace, name, _ := strings.Cut(args[0], "/")
			return control.RunCostJob(ctx, os.Getenv(control.Variable), namespace, name, hour)
		}
	},
}

var controllerCommand = command{
	name:    "controller",
	args:    "[-- --FLAG=VALUE | NAME=VALUE]...",
	summary: "In a step of a story: restart the controller with these flags and variables.",
	details: `For example: "$HARNESS" controller -- MTO_ENABLED=true --pricebook-namespaces=prices
They come beside those that it always has, replace those of an earlier step, and
stay when time moves.`,
	define: func(*flag.FlagSet) func(context.Context, []string) error {
		return func(ctx context.Context, args []string) error {
			return control.Configure(ctx, os.Getenv(control.Variable), args)
		}
	},
}
