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
	details: lifetimeText + `
Then the server is stopped and its data removed.`,
	define: func(flags *flag.FlagSet) func(context.Context, []string) error {
		options := definePostgres(flags)
		return func(ctx context.Context, _ []string) error {
			ctx, cancel := process.Lifetime(ctx, os.Stdin)
			defer cancel()
			server, err := postgres.Start(ctx, options())
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
