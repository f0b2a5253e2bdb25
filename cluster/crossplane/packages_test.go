package crossplane

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/provider-finops/provider-finops/cluster/image"
	"github.com/provider-finops/provider-finops/cluster/process"
	"github.com/provider-finops/provider-finops/cluster/product"
	"github.com/provider-finops/provider-finops/cluster/toolbox"
)

// providerImage builds the image that goes into the package.
func providerImage(t *testing.T, root string) string {
	t.Helper()
	binary, err := product.BuildStatic(t.Context(), root, t.TempDir(), runtime.GOARCH, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	img, err := image.Build(binary)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "image.tar")
	if err := image.Write(file, "provider-finops:package", img); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestPackage builds the package twice by our own tool and once by Crossplane's
// command line: all three are one, and what is in it is what the project has.
func TestPackage(t *testing.T) {
	root, err := toolbox.ProjectRoot(".")
	if err != nil {
		t.Fatal(err)
	}
	runs, dir := providerImage(t, root), t.TempDir()
	first, second := filepath.Join(dir, "first.xpkg"), filepath.Join(dir, "second.xpkg")
	var digests []string
	for _, file := range []string{first, second} {
		digest, err := BuildProvider(t.Context(), root, runs, file, t.Output())
		if err != nil {
			t.Fatal(err)
		}
		digests = append(digests, digest)
	}
	if digests[0] != digests[1] || !strings.HasPrefix(digests[0], "sha256:") {
		t.Errorf("the same package twice has digests %q", digests)
	}

	cli, err := toolbox.CrossplaneCLI(t.Context(), root, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	official := filepath.Join(dir, "official.xpkg")
	if _, err := output(process.Command(t.Context(), cli.Path("crossplane"), "xpkg", "build", "--package-root="+filepath.Join(root, "package"),
		"--ignore="+notInPackage, "--examples-root="+filepath.Join(dir, "none"), "--embed-runtime-image-tarball="+runs, "--package-file="+official)); err != nil {
		t.Fatalf("Crossplane's command line does not take the package: %v", err)
	}
	ours, theirs := load(t, first), load(t, official)
	if diff := cmp.Diff(digest(t, theirs), digest(t, ours)); diff != "" {
		t.Errorf("digest: -Crossplane's command line, +ours:\n%s", diff)
	}

	config, err := ours.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"/provider-finops"}, config.Config.Entrypoint); diff != "" {
		t.Errorf("what the image runs: -want, +got:\n%s", diff)
	}
	layers, err := ours.Layers()
	if err != nil {
		t.Fatal(err)
	}
	checkContents(t, root, readPackage(t, layers[len(layers)-1]))
}

// checkContents looks for every definition and for what the package says of
// itself, and for nothing else.
func checkContents(t *testing.T, root, manifests string) {
	t.Helper()
	definitions, err := filepath.Glob(filepath.Join(root, "package", "crds", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"kind: Provider", "kind: ValidatingWebhookConfiguration"}
	for range definitions {
		want = append(want, "kind: CustomResourceDefinition")
	}
	var got []string
	for manifest := range strings.SplitSeq(manifests, "\n---\n") {
		for line := range strings.Lines(manifest) {
			if strings.HasPrefix(line, "kind: ") { // Of the object: others are indented.
				got = append(got, strings.TrimSpace(line))
			}
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" || len(definitions) == 0 {
		t.Errorf("objects: -want, +got:\n%s", diff)
	}
	for _, text := range []string{
		"- safe-start", "version: '>=v2.0.0-0'", "friendly-name.meta.crossplane.io: FinOps",
		"meta.crossplane.io/maintainer:", "meta.crossplane.io/source: https://", "meta.crossplane.io/license: Apache-2.0",
		"meta.crossplane.io/description:", "meta.crossplane.io/readme:", "meta.crossplane.io/iconURI: data:image/svg+xml;base64,",
		"name: subscriptions.finops.stakater.com", "/validate-finops-stakater-com-v1alpha1-subscription",
	} {
		if !strings.Contains(manifests, text) {
			t.Errorf("The package does not say %q.", text)
		}
	}
}

func load(t *testing.T, file string) v1.Image {
	t.Helper()
	img, err := tarball.ImageFromPath(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

func digest(t *testing.T, img v1.Image) string {
	t.Helper()
	hash, err := img.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return hash.String()
}

// readPackage reads package.yaml, alone in its layer.
func readPackage(t *testing.T, layer v1.Layer) string {
	t.Helper()
	compressed, err := layer.Compressed()
	if err != nil {
		t.Fatal(err)
	}
	plain, err := gzip.NewReader(compressed)
	if err != nil {
		t.Fatal(err)
	}
	files := tar.NewReader(plain)
	header, err := files.Next()
	if err != nil || header.Name != "package.yaml" {
		t.Fatalf("the layer begins with %+v, %v", header, err)
	}
	text, err := io.ReadAll(files)
	if err != nil {
		t.Fatal(err)
	}
	if next, err := files.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("there is more in the layer: %+v, %v", next, err)
	}
	return string(text)
}
