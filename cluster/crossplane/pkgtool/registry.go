package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/xpkg"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

const headerTimeout = 10 * time.Second

func serve(flags *flag.FlagSet) func(context.Context, []string) error {
	address := flags.String("address", "127.0.0.1:5000", "`address` to listen on")
	return func(ctx context.Context, _ []string) error {
		listener, err := net.Listen("tcp", *address)
		if err != nil {
			return fmt.Errorf("cannot listen: %w", err)
		}
		server := &http.Server{
			Handler:           registry.New(registry.Logger(log.New(io.Discard, "", 0))),
			ReadHeaderTimeout: headerTimeout,
		}
		go func() {
			<-ctx.Done()
			_ = server.Close() // Nothing in it outlives it.
		}()
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("cannot serve: %w", err)
		}
		return nil
	}
}

// push writes a package as Crossplane's command line does, which moves the
// labels that say what a layer holds to where Crossplane looks for them.
func push(flags *flag.FlagSet) func(context.Context, []string) error {
	file := flags.String("file", "", "`package` to push")
	return func(ctx context.Context, args []string) error {
		if *file == "" || len(args) != 1 {
			return errors.New("usage: pkgtool push --file PACKAGE REGISTRY/REPOSITORY:TAG")
		}
		tag, err := name.NewTag(args[0], name.StrictValidation)
		if err != nil {
			return fmt.Errorf("cannot push to %q: %w", args[0], err)
		}
		image, err := tarball.ImageFromPath(*file, nil)
		if err != nil {
			return fmt.Errorf("cannot read package %q: %w", *file, err)
		}
		if image, err = xpkg.AnnotateLayers(image); err != nil {
			return fmt.Errorf("cannot annotate package %q: %w", *file, err)
		}
		if err := remote.Write(tag, image, remote.WithContext(ctx)); err != nil {
			return fmt.Errorf("cannot push to %q: %w", args[0], err)
		}
		return nil
	}
}
