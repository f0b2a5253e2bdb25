package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
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
		commands := flags.Bool("commands", false,
			"read the lines halt, crash, resume and disk from standard input, and print each once it is done (of disk, where there is a small one); the end of the input is that of the server")
		return func(ctx context.Context, _ []string) error {
			if *commands {
				return commanded(ctx, options(), os.Stdin)
			}
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

// commanded runs a server that is taken away and given back by who started it.
func commanded(ctx context.Context, options postgres.Options, input io.Reader) error {
	ctx, cancel := process.Lifetime(ctx, nil)
	defer cancel()
	server, err := postgres.Start(ctx, options)
	if err != nil {
		return err
	}
	defer server.Stop()
	fmt.Println(server.DSN())
	lines := make(chan string)
	go func() {
		defer close(lines)
		for scanner := bufio.NewScanner(input); scanner.Scan(); {
			lines <- scanner.Text()
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return nil
		case line, ok := <-lines:
			if !ok {
				return nil
			}
			answer, err := obey(ctx, server, line)
			if err != nil {
				return err
			}
			fmt.Println(answer)
		}
	}
}

// smallDisk is the size of a disk that is soon full.
const smallDisk = 64 << 20

func obey(ctx context.Context, server *postgres.Server, line string) (answer string, err error) {
	switch line {
	case "halt":
		server.Halt()
	case "crash":
		server.Crash()
	case "resume":
		return line, server.Resume(ctx)
	case "disk":
		return server.SmallDisk(smallDisk)
	default:
		return "", fmt.Errorf("cannot do %q: say halt, crash, resume or disk", line)
	}
	return line, nil
}
