package node

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/provider-finops/provider-finops/cluster/process"
)

// exhausted is what a kubelet ends with when the machine has no more of what it
// watches files by. Each cluster takes some twenty of them, and the machine has,
// unless somebody has raised it, 128 for all of root's.
const exhausted = "inotify_init: too many open files"

// retryInterval is how long to wait for somebody else to give some back.
const retryInterval = 2 * time.Second

// startKubelet runs the kubelet until it is ready, once more whenever it ends
// because others have taken what it needs for a while.
func startKubelet(ctx context.Context, spec process.Spec, ready func(context.Context) error, on ...*process.Process) (*process.Process, error) {
	for {
		kubelet, err := process.Start(spec)
		if err != nil {
			return nil, err
		}
		err = process.WaitFor(ctx, "the node to be ready", ready, append(on, kubelet)...)
		if err == nil {
			return kubelet, nil
		}
		kubelet.Stop(stopGrace)
		if !strings.Contains(process.Tail(kubelet.Log(), 3), exhausted) {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(err, fmt.Errorf("all of this machine's inotify instances are in use: run less at once, or raise the setting fs.inotify.max_user_instances"))
		case <-time.After(retryInterval):
		}
	}
}
