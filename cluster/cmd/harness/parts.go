package main

import (
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/provider-finops/provider-finops/cluster/postgres"
	"github.com/provider-finops/provider-finops/cluster/replay"
	"github.com/provider-finops/provider-finops/cluster/testbed"
	"github.com/provider-finops/provider-finops/cluster/toolbox"
)

// defineParts registers the flags that say what a test cluster consists of.
func defineParts(flags *flag.FlagSet, controlPlane bool) func() testbed.Parts {
	var (
		assets       = flags.Bool("assets", false, "find or build the programs that envtest needs, for KUBEBUILDER_ASSETS")
		database     = flags.Bool("postgres", false, "run PostgreSQL, unless "+testbed.PostgresVariable+" names a server")
		cluster      = flags.Bool("controlplane", controlPlane, "run a Kubernetes control plane, unless "+testbed.KubeconfigVariable+" names a cluster")
		replayed     = flags.Bool("replay", false, "serve recorded OpenCost answers")
		logs         = flags.String("logs", "", "keep the control plane's logs in this `folder`")
		databaseArgs = definePostgres(flags)
		replayArgs   = defineReplay(flags)
	)
	return func() testbed.Parts {
		parts := testbed.Parts{ControlPlane: *cluster, Logs: *logs}
		if *assets {
			parts.Programs = toolbox.Envtest
		}
		if *database {
			options := databaseArgs()
			parts.Postgres = &options
		}
		if *replayed {
			options := replayArgs()
			parts.Replay = &options
		}
		return parts
	}
}

func definePostgres(flags *flag.FlagSet) func() postgres.Options {
	fsync := flags.Bool("fsync", false, "make PostgreSQL's commits durable, as a server of consequence would; off, it is faster")
	return func() postgres.Options { return postgres.Options{Fsync: *fsync, Progress: os.Stderr} }
}

func defineReplay(flags *flag.FlagSet) func() replay.Options {
	var anchor instantFlag
	flags.Var(&anchor, "anchor", "the `hour` that the first recorded hour is told about; the others follow, in turn (default 1970-01-01T00:00:00Z)")
	offset := flags.Duration("clock-offset", 0, "move the replayer's clock: an hour that has not begun on it is empty")
	items := flags.Int("items", 0, "add this many made-up items to each hour")
	ignoreFilter := flags.Bool("ignore-filter", false, "answer as servers before 2025 do, which know no filter")
	prefix := flags.String("prefix", "", "serve under this `path`, such as /model, too")
	return func() replay.Options {
		at := anchor.Time
		if at.IsZero() {
			at = time.Unix(0, 0)
		}
		return replay.Options{
			Now:    func() time.Time { return time.Now().Add(*offset) },
			Anchor: at, Items: *items, IgnoreFilter: *ignoreFilter, Prefix: *prefix,
		}
	}
}

// An instantFlag is a point in time.
type instantFlag struct{ time.Time }

// Set implements flag.Value.
func (i *instantFlag) Set(text string) error {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return fmt.Errorf("want an instant such as 2026-11-29T07:00:00Z: %w", err)
	}
	i.Time = at
	return nil
}

// String implements flag.Value.
func (i *instantFlag) String() string {
	if i == nil || i.IsZero() {
		return ""
	}
	return i.Format(time.RFC3339)
}
