package node

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/provider-finops/provider-finops/cluster/process"
)

// A kubelet that finds the machine exhausted is started again, for as long as
// there is time; any other end is final.
func TestStartKubelet(t *testing.T) {
	cases := map[string]struct {
		reason  string
		script  string // It says that there is no more time with a file "late".
		starts  int
		refused string
	}{
		"AtOnce": {
			reason: "Usually one start is enough.",
			script: `touch ready; while :; do sleep 0.05; done`, starts: 1,
		},
		"Exhausted": {
			reason: "What others have taken they give back.",
			script: `if [ $(wc -l < starts) = 1 ]; then echo 'E1130 "Failed to start cAdvisor" err="inotify_init: too many open files"'; exit 1; fi
				touch ready; while :; do sleep 0.05; done`, starts: 2,
		},
		"Forever": {
			reason: "Not for ever, and then it is said what helps.",
			script: `echo 'err="inotify_init: too many open files"'; touch late; while :; do sleep 0.05; done`, starts: 1,
			refused: "fs.inotify.max_user_instances",
		},
		"Other": {
			reason: "What does not pass is not tried again.",
			script: `echo 'cannot read the configuration'; exit 1`, starts: 1,
			refused: "cannot read the configuration",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			spec := process.Spec{Name: "kubelet", Path: "/bin/sh", Args: []string{"-c", "echo >> starts\n" + tc.script}, Dir: dir, LogDir: dir}
			kubelet, err := startKubelet(ctx, spec, func(context.Context) error {
				if _, err := os.Stat(filepath.Join(dir, "late")); err == nil {
					cancel()
				}
				if _, err := os.Stat(filepath.Join(dir, "ready")); err != nil {
					return errors.New("not yet")
				}
				return nil
			})
			if kubelet != nil {
				defer kubelet.Stop(0)
			}
			if tc.refused == "" && err != nil || tc.refused != "" && (err == nil || !strings.Contains(err.Error(), tc.refused)) {
				t.Errorf("%s\ngot error %v, want %q", tc.reason, err, tc.refused)
			}
			starts, err := os.ReadFile(filepath.Join(dir, "starts"))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.starts, strings.Count(string(starts), "\n")); diff != "" {
				t.Errorf("%s\nstarts: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
