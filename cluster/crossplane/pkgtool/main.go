// Command pkgtool makes Crossplane packages and serves them where there is no
// registry, and is what starts them where there is no node.
//
// It is a module of its own because what it is made of takes minutes to compile:
// the same code that Crossplane's command line builds packages with, a registry,
// and Helm's renderer.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// A verb registers its flags and returns what to do once they are parsed.
type verb func(*flag.FlagSet) func(context.Context, []string) error

var verbs = map[string]verb{
	"build": build, // A package out of its folder, and an image.
	"push":  push,  // A package to a registry.
	"serve": serve, // A registry, empty at first.
	"run":   run,   // What Crossplane calls an external package runtime.
	"chart": chart, // Renders a Helm chart.
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := do(ctx, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintf(os.Stderr, "pkgtool: %v\n", err)
		os.Exit(1)
	}
}

func do(ctx context.Context, args []string) error {
	if len(args) == 0 || verbs[args[0]] == nil {
		return errors.New("usage: pkgtool build | push | serve | run | chart [flags]; pkgtool VERB --help says more")
	}
	flags := flag.NewFlagSet("pkgtool "+args[0], flag.ContinueOnError)
	act := verbs[args[0]](flags)
	switch err := flags.Parse(args[1:]); {
	case errors.Is(err, flag.ErrHelp):
		return nil
	case err != nil:
		return err
	}
	return act(ctx, flags.Args())
}
