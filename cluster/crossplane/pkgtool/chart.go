package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"path"
	"slices"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
)

// chart prints what a chart makes of its own values, as far as its templates
// are named.
func chart(flags *flag.FlagSet) func(context.Context, []string) error {
	release := flags.String("release", "crossplane", "`name` of the release")
	namespace := flags.String("namespace", "crossplane-system", "`namespace` of the release")
	return func(_ context.Context, args []string) error {
		if len(args) < 2 {
			return errors.New("usage: pkgtool chart FOLDER TEMPLATE and more templates")
		}
		manifests, err := render(args[0], *release, *namespace)
		if err != nil {
			return fmt.Errorf("cannot render chart %q: %w", args[0], err)
		}
		for _, name := range slices.Sorted(maps.Keys(manifests)) {
			if slices.Contains(args[1:], path.Base(name)) {
				fmt.Printf("---\n%s\n", manifests[name])
			}
		}
		return nil
	}
}

func render(dir, release, namespace string) (map[string]string, error) {
	c, err := loader.LoadDir(dir)
	if err != nil {
		return nil, err
	}
	values, err := chartutil.ToRenderValues(c, nil, chartutil.ReleaseOptions{
		Name: release, Namespace: namespace, Revision: 1, IsInstall: true,
	}, chartutil.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	return engine.Render(c, values)
}
