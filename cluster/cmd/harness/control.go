package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/provider-finops/provider-finops/cluster/control"
)

const reach = `For a step of a story, and for a demo that was kept: FINOPS_TEST_CONTROL says
where it is.`

var timeCommand = command{
	name:    "time",
	args:    "INSTANT | +DURATION",
	summary: "Set business time, restarting the controller, and print it.",
	details: reach + " For example: harness time 2031-03-03T09:00:00Z; harness time +30m",
	define: func(*flag.FlagSet) func(context.Context, []string) error {
		return func(ctx context.Context, args []string) error {
			if len(args) != 1 {
				return errors.New("time needs an instant or a duration, such as 2031-03-03T09:00:00Z or +30m")
			}
			if _, err := control.ParseMove(args[0]); err != nil {
				return err
			}
			now, err := control.MoveTime(ctx, os.Getenv(control.Variable), args[0])
			if err == nil {
				fmt.Println(now)
			}
			return err
		}
	},
}

var nextHourCommand = command{
	name:    "next-hour",
	summary: "Move business time to the next full hour and run every CostJob for it.",
	details: reach + `
Those that collect allocations run first, then those that charge.`,
	define: func(*flag.FlagSet) func(context.Context, []string) error {
		return func(ctx context.Context, _ []string) error {
			done, err := control.NextHour(ctx, os.Getenv(control.Variable))
			if err == nil {
				fmt.Println(done)
			}
			return err
		}
	},
}

var costJobCommand = command{
	name:    "costjob",
	args:    "NAMESPACE/NAME [HOUR]",
	summary: "Run a CostJob as if its CronJob were due at the hour, or at the one in progress.",
	details: reach + " For example: harness costjob finops-operator-system/charges-hourly 2031-03-03T09:00:00Z",
	define: func(*flag.FlagSet) func(context.Context, []string) error {
		return func(ctx context.Context, args []string) error {
			if len(args) < 1 || len(args) > 2 || strings.Count(args[0], "/") != 1 {
				return errors.New("costjob needs a name and may have an hour, such as finops-operator-system/charges-hourly 2031-03-03T09:00:00Z")
			}
			var hour time.Time
			if len(args) == 2 {
				var err error
				if hour, err = time.Parse(time.RFC3339, args[1]); err != nil {
					return fmt.Errorf("cannot read the hour: %w", err)
				}
			}
			namespace, name, _ := strings.Cut(args[0], "/")
			return control.RunCostJob(ctx, os.Getenv(control.Variable), namespace, name, hour)
		}
	},
}

var jobCommand = command{
	name:    "job",
	args:    "NAMESPACE/NAME",
	summary: "Run the pod of a Job that somebody has made, as its node would.",
	details: reach + " For example, after kubectl create job --from=cronjob/…: harness job finops-operator-system/charges-now",
	define: func(*flag.FlagSet) func(context.Context, []string) error {
		return func(ctx context.Context, args []string) error {
			if len(args) != 1 || strings.Count(args[0], "/") != 1 {
				return errors.New("job needs a name, such as finops-operator-system/charges-now")
			}
			namespace, name, _ := strings.Cut(args[0], "/")
			return control.RunJob(ctx, os.Getenv(control.Variable), namespace, name)
		}
	},
}

var controllerCommand = command{
	name:    "controller",
	args:    "[-- --FLAG=VALUE | NAME=VALUE]...",
	summary: "Restart the controller with these flags and variables.",
	details: reach + ` For example:
harness controller -- MTO_ENABLED=true --pricebook-namespaces=prices
They come beside those that it always has, or in their place, replace those of an
earlier call, and stay when time moves. OpenCost is away with
harness controller -- OPENCOST_CONNECTION_STRING=http://127.0.0.1:1
and back without anything.`,
	define: func(*flag.FlagSet) func(context.Context, []string) error {
		return func(ctx context.Context, args []string) error {
			return control.Configure(ctx, os.Getenv(control.Variable), args)
		}
	},
}

var functionCommand = command{
	name:    "function",
	args:    "NAME up|down",
	summary: "Start the process of a composition function anew, or end it.",
	details: reach + " For example: harness function function-auto-ready down",
	define: func(*flag.FlagSet) func(context.Context, []string) error {
		return func(ctx context.Context, args []string) error {
			if len(args) != 2 || args[1] != control.FunctionUp && args[1] != control.FunctionDown {
				return errors.New("function needs a name, and up or down")
			}
			return control.SwitchFunction(ctx, os.Getenv(control.Variable), args[0], args[1])
		}
	},
}
