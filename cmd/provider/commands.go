package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/provider-finops/provider-finops/internal/jobs/audit"
)

// commands are for people, beside the modes. They change nothing.
var commands = map[string]func(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int{
	"verify":      verify,
	"explain":     explain,
	"certificate": makeCertificate,
}

const verifyUsage = `provider-finops verify [--from HOUR] [--to HOUR] [--subscription UID]

Computes every final charge again, from the recorded versions, price books and
allocation rows, and writes each difference. Exit code 0: none; 1: some, or it
could not look; 2: wrong arguments.

Reads POSTGRES_CONNECTION_STRING, FINOPS_DB_SCHEMA, CLUSTER_ID and
OPENCOST_AGGREGATE, as the collectors do.

`

func verify(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	set := commandFlags("verify", verifyUsage)
	from := set.String("from", "", "first hour, such as 2026-04-01T00 or 2026-04-01 or 2026-04; empty: the first there is")
	to := set.String("to", "", "hour to end before, in the same forms; empty: all")
	uid := set.String("subscription", "", "uid of the one Subscription to verify; empty: all")
	if code, done := parsed(set, args, 0, 0, stdout, stderr); done {
		return code
	}
	q := audit.Request{UID: *uid}
	var err error
	if q.From, err = begin(*from); err == nil {
		q.To, err = begin(*to)
	}
	if err == nil && !q.To.IsZero() && !q.From.Before(q.To) {
		err = fmt.Errorf("cannot verify from %q to %q: there is no hour between", *from, *to)
	}
	if err != nil {
		return refuse(stderr, err)
	}
	settings, err := audit.FromEnvironment(getenv)
	if err != nil {
		return refuse(stderr, err)
	}

	result, err := audit.Verify(ctx, settings, q, stdout)
	if err != nil {
		return failed(stderr, err)
	}
	_, err = fmt.Fprintf(stdout, "%d final rows of %d Subscriptions, %s micros in all: %d differences\n",
		result.Rows, result.Subscriptions, result.Amount, result.Differences)
	if err != nil {
		return failed(stderr, err)
	}
	if result.Differences > 0 {
		return 1
	}
	return 0
}

const explainUsage = `provider-finops explain NAMESPACE/NAME|UID PERIOD [SOURCE]

Shows where a figure comes from. PERIOD is a month (2026-04), a day (2026-04-01)
or an hour (2026-04-01T10), in UTC. Of a month or a day it lists the hours that
the figure is the sum of; of an hour how each row was computed: boundaries of
the fee, or quantity, rate, price book and margin of every allocation row.
SOURCE is subscription, cpuHour, gpuHour, ramGbHour, pvGbHour or networkGb.

Reads the same variables as verify.

`

func explain(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	set := commandFlags("explain", explainUsage)
	if code, done := parsed(set, args, 2, 3, stdout, stderr); done {
		return code
	}
	source, err := audit.ParseSource(set.Arg(2))
	if err != nil {
		return refuse(stderr, err)
	}
	period, err := audit.ParsePeriod(set.Arg(1))
	if err != nil {
		return refuse(stderr, err)
	}
	settings, err := audit.FromEnvironment(getenv)
	if err != nil {
		return refuse(stderr, err)
	}

	q := audit.Question{Subscription: set.Arg(0), Period: period, Source: source}
	if err := audit.Explain(ctx, settings, q, stdout); err != nil {
		return failed(stderr, err)
	}
	return 0
}

func commandFlags(name, text string) *flag.FlagSet {
	set := flag.NewFlagSet(name, flag.ContinueOnError)
	set.SetOutput(io.Discard) // It would write the whole help below every mistake.
	set.Usage = func() {
		_, _ = fmt.Fprint(set.Output(), text)
		set.PrintDefaults()
	}
	return set
}

// parsed reads the arguments. It reports true if the command is over, with its
// exit code.
func parsed(set *flag.FlagSet, args []string, least, most int, stdout, stderr io.Writer) (int, bool) {
	err := set.Parse(args)
	if err == nil && (set.NArg() < least || set.NArg() > most) {
		want := fmt.Sprintf("%d", least)
		if most > least {
			want += fmt.Sprintf(" to %d", most)
		}
		err = fmt.Errorf("%s takes %s arguments besides flags, which come first, not %d: %s", set.Name(), want, set.NArg(), synopsis(set))
	}
	switch {
	case errors.Is(err, flag.ErrHelp):
		set.SetOutput(stdout)
		set.Usage()
		return 0, true
	case err != nil:
		return refuse(stderr, err), true
	}
	return 0, false
}

// synopsis is how a command is called, the first line of its help.
func synopsis(set *flag.FlagSet) string {
	var help strings.Builder
	set.SetOutput(&help)
	set.Usage()
	set.SetOutput(io.Discard)
	first, _, _ := strings.Cut(help.String(), "\n")
	return first
}

func failed(stderr io.Writer, err error) int {
	_, _ = fmt.Fprintf(stderr, "provider-finops: %v\n", err)
	return 1
}

func refuse(stderr io.Writer, err error) int {
	_, _ = fmt.Fprintf(stderr, "provider-finops: %v\nSee --help.\n", err)
	return 2
}

// begin reads where a span begins or ends; empty is the zero time.
func begin(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	p, err := audit.ParsePeriod(text)
	return p.Start, err
}
