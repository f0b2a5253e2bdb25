package image

import (
	"archive/tar"
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// layerOf holds the program and the little that it needs around it. Names,
// modes, owners and times are fixed, and so is the order.
func layerOf(binary string) (v1.Layer, error) {
	program, err := os.ReadFile(binary)
	if err != nil {
		return nil, fmt.Errorf("cannot read it: %w", err)
	}
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for _, e := range []entry{
		folder("etc/", 0o755),
		file("etc/group", 0o644, fmt.Appendf(nil, "root:x:0:\nnonroot:x:%d:\n", groupID)),
		file("etc/passwd", 0o644, fmt.Appendf(nil, "root:x:0:0:root:/:/sbin/nologin\nnonroot:x:%d:%d:nonroot:/tmp:/sbin/nologin\n", userID, groupID)),
		folder("etc/ssl/", 0o755),
		folder("etc/ssl/certs/", 0o755),
		file("etc/ssl/certs/ca-certificates.crt", 0o644, authorities()),
		file(filepath.Base(binary), 0o755, program),
		// Where the root file system may be written to; elsewhere a volume lies here.
		folder("tmp/", 0o1777),
	} {
		if err := e.write(w); err != nil {
			return nil, fmt.Errorf("cannot add %q to its layer: %w", e.header.Name, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("cannot close its layer: %w", err)
	}
	text := archive.Bytes()
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(text)), nil
	}, tarball.WithCompressedCaching)
	if err != nil {
		return nil, fmt.Errorf("cannot compress its layer: %w", err)
	}
	return layer, nil
}

// authorities are the public ones, as a pinned module has them: the machine's
// own would make the digest the machine's.
func authorities() []byte {
	var text bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue // A file of certificates cannot say what one is trusted for.
		}
		text.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}))
	}
	return text.Bytes()
}

// An entry is one file or folder of a layer.
type entry struct {
	header tar.Header
	text   []byte
}

func folder(name string, mode int64) entry {
	return entry{header: tar.Header{Typeflag: tar.TypeDir, Name: name, Mode: mode, ModTime: created, Format: tar.FormatPAX}}
}

func file(name string, mode int64, text []byte) entry {
	return entry{
		header: tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: int64(len(text)), ModTime: created, Format: tar.FormatPAX},
		text:   text,
	}
}

func (e entry) write(w *tar.Writer) error {
	if err := w.WriteHeader(&e.header); err != nil {
		return err
	}
	_, err := w.Write(e.text)
	return err
}
