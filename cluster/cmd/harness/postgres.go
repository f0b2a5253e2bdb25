package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/provider-finops/provider-finops/cluster/postgres"
	"github.com/provider-finops/provider-finops/cluster/process"
)

var postgresCommand = command{
	name:    "postgres",
	summary: "Run a throw-away PostgreSQL server and print its DSN.",
	details: `The server lives until stdin, if that is a pipe, is closed, or until SIGINT or
SIGTERM. Then it is stopped and its data removed.`,
	define: func(flags *flag.FlagSet) func(context.Context, []string) error {
		fsync := flags.Bool("fsync", false, "make commits durable, as a server of consequence would; off, it is faster")
		return func(ctx context.Context, _ []string) error {
			ctx, cancel := process.Lifetime(ctx, os.Stdin)
			defer cancel()
			server, err := postgres.Start(ctx, postgres.Options{Fsync: *fsync, Progress: os.Stderr})
			if err != nil {
				return err
			}
			defer server.Stop()
			fmt.Println(server.DSN())
			select {
			case <-ctx.Done():
				return nil
			case <-server.Done():
				return server.Ended()
			}
		}
	},
}
