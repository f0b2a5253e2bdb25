// Package image makes a container image out of one static program, without
// Docker: from scratch, for a user without rights, the same digest for the
// same program on every machine.
package image

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// user and group are without rights and, as numbers, pass runAsNonRoot.
const (
	userID  = 65532
	groupID = 65532
)

// created is the same for every image: when one was made is no part of what it is.
var created = time.Unix(0, 0).UTC()

// Build makes the image of a static Linux program. It runs the program, by the
// name its file has, as user 65532; whoever connects from it by TLS finds the
// public authorities; there is a /tmp and no shell.
func Build(binary string) (v1.Image, error) {
	img, err := build(binary)
	if err != nil {
		return nil, fmt.Errorf("cannot make an image of %q: %w", binary, err)
	}
	return img, nil
}

func build(binary string) (v1.Image, error) {
	program, err := inspect(binary)
	if err != nil {
		return nil, err
	}
	layer, err := layerOf(binary)
	if err != nil {
		return nil, err
	}
	entrypoint := path.Join("/", filepath.Base(binary))
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	img, err := mutate.Append(base, mutate.Addendum{
		Layer:   layer,
		History: v1.History{Created: v1.Time{Time: created}, CreatedBy: "COPY " + entrypoint, Comment: "from scratch"},
	})
	if err != nil {
		return nil, fmt.Errorf("cannot add its layer: %w", err)
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("cannot read its configuration: %w", err)
	}
	config = config.DeepCopy()
	config.Created = v1.Time{Time: created}
	config.OS, config.Architecture = "linux", program.architecture
	config.Config = v1.Config{
		User:       fmt.Sprintf("%d:%d", userID, groupID),
		Entrypoint: []string{entrypoint},
		WorkingDir: "/",
		Labels:     program.labels(filepath.Base(binary)),
	}
	return mutate.ConfigFile(img, config)
}

// Write writes the image as a docker-archive, which ctr, docker and podman
// load under the reference, such as provider-finops:dev.
func Write(file, reference string, img v1.Image) (err error) {
	tag, err := name.NewTag(reference)
	if err != nil {
		return fmt.Errorf("cannot name an image %q: %w", reference, err)
	}
	// Under another name until it is whole, so that nobody loads half of one.
	out, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+"-")
	if err != nil {
		return fmt.Errorf("cannot write image %q: %w", reference, err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(out.Name())
		}
	}()
	err = errors.Join(tarball.Write(tag, img, out), out.Chmod(0o644), out.Close())
	if err == nil {
		err = os.Rename(out.Name(), file)
	}
	if err != nil {
		return fmt.Errorf("cannot write image %q to %q: %w", reference, file, err)
	}
	return nil
}
