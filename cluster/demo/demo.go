// Package demo runs the whole product once, from nothing to a bill, and shows
// what a user would look at. It is told in chapters; each of them checks what
// it shows, and the demo fails if anything is not as it should be.
//
// Hours pass without waiting: business time is moved (see package product).
package demo

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/provider-finops/provider-finops/cluster/installation"
	"github.com/provider-finops/provider-finops/cluster/process"
	"github.com/provider-finops/provider-finops/cluster/stay"
)

// What examples/quickstart calls its objects.
const (
	platformNamespace = "finops-operator-system"
	catalogue         = "catalogue"
	tenant            = "acme"
	parent            = "acme-platform"
	child             = "acme-web"
	allocationJob     = "allocations-hourly"
	chargeJob         = "charges-hourly"
	quickstart        = "examples/quickstart"
	subscriptionKind  = "subscriptions.finops.stakater.com"
)

// The story's hours, from its first. Activation falls into the first one;
// the child is deleted half an hour after the last run, and released by one more.
const (
	activation = 20 * time.Minute
	runs       = 4
	deletion   = runs*time.Hour + 30*time.Minute
	release    = (runs + 1) * time.Hour
)

// Options of the demo.
type Options struct {
	Root string    // Of the repository.
	Out  io.Writer // Where the story goes.
	Keep bool      // Leave everything running until the context ends.
}

// A demo is one showing.
type demo struct {
	*stage
	*installation.Installation

	root, dir string
	first     time.Time // The story's first hour.
}

// Run tells the story. On failure its folder with all logs is kept and named.
func Run(ctx context.Context, o Options) error {
	if err := stay.Clean(o.Root, "demo"); err != nil {
		return err
	}
	owner, err := process.Self()
	if err != nil {
		return err
	}
	dir, err := stay.Folder(o.Root, "demo", owner.String())
	if err != nil {
		return err
	}
	d := &demo{stage: newStage(o.Out), root: o.Root, dir: dir, first: firstHour(time.Now())}
	defer d.close()
	err = d.tell(ctx)
	told := err == nil
	if told && o.Keep {
		err = d.stay(ctx)
	}
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("%w\nthe logs of everything that ran are in %s", err, dir)
	}
	d.close()
	_ = os.RemoveAll(dir) // It lies in the folder that "make clean" removes.
	switch {
	case !told:
		return context.Cause(ctx) // Whatever failed, failed of that.
	case o.Keep:
		_, _ = fmt.Fprintln(o.Out, "\nStopped; everything is removed.")
	}
	return nil
}

// firstHour is 08:00 UTC on the 15th of the next month: the same hours in every
// showing, in the middle of a month, and after every real timestamp.
func firstHour(now time.Time) time.Time {
	now = now.UTC()
	return time.Date(now.Year(), now.Month()+1, 15, 8, 0, 0, 0, time.UTC)
}

func (d *demo) tell(ctx context.Context) error {
	for _, chapter := range []struct {
		title string
		tell  func(context.Context) error
	}{
		{"A cluster from nothing", d.startCluster},
		{"The platform team installs the product", d.install},
		{"A tenant subscribes", d.subscribe},
		{fmt.Sprintf("%d hours pass", runs), d.passHours},
		{"The last hour once more", d.repeat},
		{"What a user looks at", d.look},
		{"One figure by hand, and all the others by machine", d.check},
		{"The tenant leaves the web shop", d.leave},
	} {
		d.open(chapter.title)
		if err := chapter.tell(ctx); err != nil {
			return err
		}
	}
	d.open("Done")
	return nil
}

func (d *demo) startCluster(ctx context.Context) (err error) {
	d.Installation, err = installation.Start(ctx, installation.Options{
		Root: d.root, Dir: d.dir,
		Anchor:   d.first, // The story's first hour is told by the first recorded one.
		Progress: indented{d.out},
	})
	if err != nil {
		return err
	}
	d.sayf("Kubernetes, PostgreSQL and recorded answers of a real OpenCost, all on loopback.")
	return nil
}

// close takes everything down.
func (d *demo) close() {
	if d.Installation != nil {
		d.Stop()
		d.Installation = nil
	}
}

// indented makes other people's progress part of the chapter.
type indented struct{ io.Writer }

func (i indented) Write(text []byte) (int, error) {
	for line := range strings.Lines(string(text)) {
		if _, err := io.WriteString(i.Writer, "   "+line); err != nil {
			return 0, err
		}
	}
	return len(text), nil
}
