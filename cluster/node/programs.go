package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/provider-finops/provider-finops/cluster/process"
	"github.com/provider-finops/provider-finops/cluster/realm"
)

// Programs are those of the machine's distribution that a node consists of.
type Programs struct {
	Containerd, Ctr, Runc string
	Plugins               string // Folder with the network plug-ins.
}

// pluginDirs are where distributions keep network plug-ins, and pluginNames
// those that are needed.
var (
	pluginDirs  = []string{"/usr/lib/cni", "/opt/cni/bin", "/usr/libexec/cni"}
	pluginNames = []string{"bridge", "host-local", "loopback"}
)

// Find returns the programs. What is missing it installs if it may (as root,
// with apt, outside of a realm), and otherwise names.
func Find(ctx context.Context, progress io.Writer) (Programs, error) {
	programs, missing := look()
	if len(missing) == 0 {
		return programs, nil
	}
	lacks := fmt.Errorf("cannot run a node: it lacks the packages %s; install them with your distribution's package manager", strings.Join(missing, ", "))
	apt, err := exec.LookPath("apt-get")
	if os.Geteuid() != 0 || err != nil || realm.Inside() {
		return Programs{}, lacks
	}
	_, _ = fmt.Fprintf(progress, "a node needs packages that are not installed; installing %s\n", strings.Join(missing, ", "))
	if err := process.AptInstall(ctx, apt, progress, missing...); err != nil {
		return Programs{}, errors.Join(lacks, err)
	}
	if programs, missing = look(); len(missing) > 0 {
		return Programs{}, lacks
	}
	return programs, nil
}

// look returns what is there, and the packages that have the rest.
func look() (p Programs, missing []string) {
	find := func(program, pack string) string {
		path, err := exec.LookPath(program)
		if err != nil && !slices.Contains(missing, pack) {
			missing = append(missing, pack)
		}
		return path
	}
	p.Containerd, p.Ctr = find("containerd", "containerd"), find("ctr", "containerd")
	p.Runc = find("runc", "runc")
	find("ip", "iproute2")
	if p.Plugins = plugins(pluginDirs); p.Plugins == "" {
		missing = append(missing, "containernetworking-plugins")
	}
	return p, missing
}

// plugins is the first folder that has all of them.
func plugins(dirs []string) string {
	for _, dir := range dirs {
		lacks := slices.ContainsFunc(pluginNames, func(name string) bool {
			info, err := os.Stat(filepath.Join(dir, name))
			return err != nil || info.Mode()&0o111 == 0
		})
		if !lacks {
			return dir
		}
	}
	return ""
}
