package image

import (
	"archive/tar"
	"bytes"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// compile builds a program in a folder of its own and returns its file.
func compile(t *testing.T, architecture string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module little\n\ngo 1.26.0\n", "main.go": "package main\n\nfunc main() {}\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", "little", ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=", "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+architecture)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("cannot build: %v\n%s", err, out)
	}
	return filepath.Join(dir, "little")
}

func mustBuild(t *testing.T, binary string) v1.Image {
	t.Helper()
	img, err := Build(binary)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

func digest(t *testing.T, img v1.Image) string {
	t.Helper()
	d, err := img.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return d.String()
}

// Wherever and whenever the same source is built, the image is the same.
func TestSameDigest(t *testing.T) {
	first, second := mustBuild(t, compile(t, runtime.GOARCH)), mustBuild(t, compile(t, runtime.GOARCH))
	if diff := cmp.Diff(digest(t, first), digest(t, second)); diff != "" {
		t.Errorf("digest: -first, +second:\n%s", diff)
	}
}

func TestConfig(t *testing.T) {
	for _, architecture := range []string{"amd64", "arm64"} {
		t.Run(architecture, func(t *testing.T) {
			config, err := mustBuild(t, compile(t, architecture)).ConfigFile()
			if err != nil {
				t.Fatal(err)
			}
			want := v1.Config{
				User: "65532:65532", Entrypoint: []string{"/little"}, WorkingDir: "/",
				Labels: map[string]string{
					"org.opencontainers.image.title":    "little",
					"org.opencontainers.image.source":   "https://github.com/provider-finops/provider-finops",
					"org.opencontainers.image.licenses": "Apache-2.0",
				},
			}
			if diff := cmp.Diff(want, config.Config); diff != "" {
				t.Errorf("config: -want, +got:\n%s", diff)
			}
			if diff := cmp.Diff("linux/"+architecture, config.OS+"/"+config.Architecture); diff != "" {
				t.Errorf("platform: -want, +got:\n%s", diff)
			}
			if diff := cmp.Diff(1, len(config.RootFS.DiffIDs)); diff != "" {
				t.Errorf("layers: -want, +got:\n%s", diff)
			}
		})
	}
}

// There is the program, what it needs to trust servers and to have a name, a
// folder for temporary files, and nothing else: no shell above all.
func TestContent(t *testing.T) {
	want := []string{
		"drwxr-xr-x etc/", "-rw-r--r-- etc/group", "-rw-r--r-- etc/passwd", "drwxr-xr-x etc/ssl/", "drwxr-xr-x etc/ssl/certs/",
		"-rw-r--r-- etc/ssl/certs/ca-certificates.crt", "-rwxr-xr-x little", "dtrwxrwxrwx tmp/",
	}
	binary := compile(t, runtime.GOARCH)
	var got []string
	walk(t, mustBuild(t, binary), func(h *tar.Header, text []byte) {
		got = append(got, fmt.Sprintf("%s %s", h.FileInfo().Mode(), h.Name))
		switch {
		case h.Uid != 0 || h.Gid != 0:
			t.Errorf("%s belongs to %d:%d; the program must not be able to change its own image", h.Name, h.Uid, h.Gid)
		case h.Name == "little":
			sameAs(t, binary, text)
		case strings.HasSuffix(h.Name, ".crt") && !x509.NewCertPool().AppendCertsFromPEM(text):
			t.Error("there is no authority to trust")
		}
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files: -want, +got:\n%s", diff)
	}
}

func sameAs(t *testing.T, file string, text []byte) {
	t.Helper()
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, text) {
		t.Error("the program in the image is another one")
	}
}

func walk(t *testing.T, img v1.Image, visit func(*tar.Header, []byte)) {
	t.Helper()
	layers, err := img.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("got %d layers and error %v, want one", len(layers), err)
	}
	content, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = content.Close() }()
	for r := tar.NewReader(content); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		visit(h, text)
	}
}

func TestRefused(t *testing.T) {
	text := filepath.Join(t.TempDir(), "notes")
	if err := os.WriteFile(text, []byte("not a program"), 0o600); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct{ reason, binary, want string }{
		"Missing": {reason: "What is not there has no image.", binary: text + "-elsewhere", want: "no such file"},
		"Text":    {reason: "Nor has what does not run.", binary: text, want: "it is no Linux program"},
		"Dynamic": {reason: "Nor has what needs libraries, as the machine's own shell does.", binary: dynamic(t), want: "CGO_ENABLED=0"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := Build(tc.binary)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s\ngot error %v, want one that says %q", tc.reason, err, tc.want)
			}
		})
	}
}

// dynamic is a program that is linked dynamically: the shell of this machine.
func dynamic(t *testing.T) string {
	t.Helper()
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	return shell
}

func TestWrite(t *testing.T) {
	img := mustBuild(t, compile(t, runtime.GOARCH))
	dir := t.TempDir()
	file := filepath.Join(dir, "image.tar")
	for range 2 { // The second replaces the first.
		if err := Write(file, "little:test", img); err != nil {
			t.Fatal(err)
		}
	}
	read, err := tarball.ImageFromPath(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	want, errWant := img.ConfigName()
	got, errGot := read.ConfigName()
	if err := errors.Join(errWant, errGot); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("image id: -want, +got:\n%s", diff)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("got %d files and error %v, want the image alone", len(entries), err)
	}
	if err := Write(file, "Not A Name", img); err == nil || !strings.Contains(err.Error(), "Not A Name") {
		t.Errorf("got error %v, want one that names the reference", err)
	}
}
