package crossplane

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/provider-finops/provider-finops/cluster/process"
)

// offered are the functions that Compositions name, in the version that the
// documentation installs. The registry has one of our own under each of these
// names, and it runs at the address.
var offered = []struct{ name, version, address string }{
	{"function-patch-and-transform", "v0.8.2", "127.0.0.1:9501"},
	{"function-cel-filter", "v0.2.0", "127.0.0.1:9503"},
	{"function-auto-ready", "v0.5.0", "127.0.0.1:9502"},
}

// elsewhere makes the package manager look into our registry for what manifests
// name in others, so that they can be applied word for word.
const elsewhere = `{"apiVersion":"v1","kind":"List","items":[
{"apiVersion":"pkg.crossplane.io/v1beta1","kind":"ImageConfig","metadata":{"name":"functions"},
 "spec":{"matchImages":[{"prefix":"xpkg.crossplane.io/crossplane-contrib/"}],"rewriteImage":{"prefix":"` + registryAddress + `/provider-finops/"}}},
{"apiVersion":"pkg.crossplane.io/v1beta1","kind":"ImageConfig","metadata":{"name":"provider"},
 "spec":{"matchImages":[{"prefix":"registry.example.org/"}],"rewriteImage":{"prefix":"` + registryAddress + `/"}}}]}`

// FunctionAddresses are where the functions listen that OfferFunctions offers.
func FunctionAddresses() map[string]string {
	addresses := map[string]string{}
	for _, f := range offered {
		addresses[f.name] = f.address
	}
	return addresses
}

// Functions run once their packages are installed.
type Functions struct {
	crossplane *Crossplane
	program    string
	stop       context.CancelFunc
	following  sync.WaitGroup

	one     sync.Mutex
	running map[string]*process.Process
}

// OfferFunctions puts the functions' packages into the registry, and runs the
// program for each of them once it is installed. What goes wrong then is
// reported.
func (c *Crossplane) OfferFunctions(ctx context.Context, program string, report func(error)) (*Functions, error) {
	file := c.file("function.xpkg")
	if _, err := BuildPackage(ctx, c.tools.Pkgtool, Build{Folder: filepath.Join(c.options.Root, "cluster", "function", "package"), Output: file}); err != nil {
		return nil, err
	}
	for _, f := range offered {
		if err := c.Push(ctx, file, f.name, f.version); err != nil {
			return nil, err
		}
	}
	manifest := c.file("elsewhere.json")
	if err := os.WriteFile(manifest, []byte(elsewhere), 0o600); err != nil {
		return nil, fmt.Errorf("cannot write a manifest: %w", err)
	}
	if _, err := c.options.Kubectl.Run(ctx, "apply", "-f", manifest); err != nil {
		return nil, err
	}
	following, stop := context.WithCancel(context.WithoutCancel(ctx)) // They live longer than this call.
	functions := &Functions{crossplane: c, program: program, stop: stop, running: map[string]*process.Process{}}
	for _, f := range offered {
		functions.following.Go(func() {
			if functions.installed(following, f.name) {
				if err := functions.Switch(f.name, true); err != nil {
					report(err)
				}
			}
		})
	}
	return functions, nil
}

// installed waits for the certificate, which the package runtime writes when the
// package is there. It returns false when nobody waits any more.
func (f *Functions) installed(ctx context.Context, name string) bool {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		if f.certified(name) {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
	}
}

func (f *Functions) certified(name string) bool {
	for _, file := range []string{"tls.crt", "tls.key", "ca.crt"} {
		if _, err := os.Stat(filepath.Join(f.crossplane.Certificates(name), file)); err != nil {
			return false
		}
	}
	return true
}

// Switch starts the process of an installed function, or ends it.
func (f *Functions) Switch(name string, on bool) error {
	f.one.Lock()
	defer f.one.Unlock()
	if running := f.running[name]; running != nil {
		running.Stop(stopGrace)
		delete(f.running, name)
	}
	if !on {
		return nil
	}
	address, known := FunctionAddresses()[name]
	if !known {
		return fmt.Errorf("there is no function %q", name)
	}
	p, err := process.Start(process.Spec{
		Name: name, Path: f.program, LogDir: f.crossplane.options.Dir, Env: os.Environ(),
		Args: []string{"--address=" + address, "--tls-certs-dir=" + f.crossplane.Certificates(name)},
	})
	if err != nil {
		return fmt.Errorf("cannot run function %q: %w", name, err)
	}
	f.running[name] = p
	return nil
}

// Stop ends all of them.
func (f *Functions) Stop() {
	f.stop()
	f.following.Wait()
	for _, one := range offered {
		_ = f.Switch(one.name, false) // Ending one does not fail.
	}
}
