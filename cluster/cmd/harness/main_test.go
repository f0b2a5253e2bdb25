package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/provider-finops/provider-finops/cluster/process"
)

// actAsHarness makes the test program be the harness when a test starts it again.
const actAsHarness = "FINOPS_TEST_ACT_AS_HARNESS"

func TestMain(m *testing.M) {
	if os.Getenv(actAsHarness) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func harness(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), actAsHarness+"=yes", "TMPDIR="+openFolder(t))
	return cmd
}

// openFolder is a folder that other users can use too; the database server is
// one of them if we are root.
func openFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "finops-harness-test-") //nolint:usetesting // A test's own folder is closed to other users.
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestCommandLine(t *testing.T) {
	cases := map[string]struct {
		reason string
		args   []string
		code   int
		stdout string // A part of it.
		stderr string
	}{
		"Nothing":        {reason: "Without a command it says what there is.", code: 2, stderr: "commands:"},
		"Help":           {reason: "So it does when asked.", args: []string{"--help"}, stdout: "commands:"},
		"CommandHelp":    {reason: "Each command explains itself.", args: []string{replayCommand.name, "--help"}, stdout: "-clock-offset"},
		"UnknownCommand": {reason: "A typo says where to look.", args: []string{"dwon"}, code: 1, stderr: `there is no command "dwon"; harness --help lists them`},
		"UnknownFlag":    {reason: "So does an unknown flag.", args: []string{"postgres", "--fsink"}, code: 2, stderr: "harness postgres: flag provided but not defined: -fsink; --help says more\n"},
		"Surplus":        {reason: "What would be ignored is refused.", args: []string{"assets", "here"}, code: 1, stderr: "assets takes no arguments"},
		"BadInstant":     {reason: "An instant has one form.", args: []string{replayCommand.name, "--anchor=today"}, code: 2, stderr: "want an instant such as"},
		"WithNothing":    {reason: "Something has to run.", args: []string{withCommand.name}, code: 1, stderr: "no program is named"},
		"ExitCode":       {reason: "The program's exit code is the harness's.", args: []string{withCommand.name, "--", "sh", "-c", "echo ran; exit 7"}, code: 7, stdout: "ran"},
		"Signal":         {reason: "An end by signal is told as a shell tells it.", args: []string{withCommand.name, "--", "sh", "-c", "kill -9 $$"}, code: 137, stderr: "killed"},
		"NoProgram":      {reason: "A program that is not there is named.", args: []string{withCommand.name, "--", "no-such-program"}, code: 1, stderr: `cannot run "no-such-program"`},
		"OutsideStory":   {reason: "Steps of a story need a story.", args: []string{"time", "2031-03-03T09:00:00Z"}, code: 1, stderr: "FINOPS_TEST_CONTROL is not set"},
		"NextHour":       {reason: "So does an hour that is to pass.", args: []string{"next-hour"}, code: 1, stderr: "make demo KEEP=1"},
		"BadMove":        {reason: "Time moves to an instant or by a duration.", args: []string{"time", "soon"}, code: 1, stderr: "want an instant such as 2031-03-03T09:00:00Z or a duration such as +90m"},
		"UnknownStory":   {reason: "Who names none of the stories is told which there are.", args: []string{"e2e", "--suite", "bogus"}, code: 1, stderr: "\n  finops/first-bill\n"},
		"AttachNowhere":  {reason: "A shell that evaluates nothing would succeed, and go on elsewhere.", args: []string{"attach", "no-such-cluster"}, code: 1, stdout: "false\n"},
		"BadHour":        {reason: "A run needs a name and an hour.", args: []string{"costjob", "charges-hourly"}, code: 1, stderr: "costjob needs a name"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			cmd := harness(t, tc.args...)
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			err := cmd.Run()
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.code, cmd.ProcessState.ExitCode()); diff != "" {
				t.Errorf("%s\nexit code: -want, +got:\n%s", tc.reason, diff)
			}
			if !strings.Contains(stdout.String(), tc.stdout) || !strings.Contains(stderr.String(), tc.stderr) {
				t.Errorf("%s\nwant stdout with %q, got %q\nwant stderr with %q, got %q", tc.reason, tc.stdout, &stdout, tc.stderr, &stderr)
			}
		})
	}
}

// The parts' variables reach the program, and only what was asked for is there.
func TestWithParts(t *testing.T) {
	cmd := harness(t, withCommand.name, "--replay", "--", "sh", "-c", `echo "$FINOPS_TEST_OPENCOST|$FINOPS_TEST_POSTGRES"`)
	cmd.Env = append(cmd.Env, "FINOPS_TEST_POSTGRES=")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if text := string(out); !strings.HasPrefix(text, "http://127.0.0.1:") || !strings.HasSuffix(text, "|\n") {
		t.Errorf("got %q, want the replayer's URL and nothing else", text)
	}
}

// A server lives as long as whoever started it: until stdin is closed, a
// signal comes, or, at the latest, the harness dies.
func TestPostgresLifetime(t *testing.T) {
	cases := map[string]struct {
		reason string
		end    func(cmd *exec.Cmd, stdin io.Closer) error
		code   int
		tidy   bool
	}{
		"Stdin": {
			reason: "Whoever held the pipe has gone.",
			end:    func(_ *exec.Cmd, stdin io.Closer) error { return stdin.Close() },
			tidy:   true,
		},
		"Signal": {
			reason: "Somebody has asked.",
			end:    func(cmd *exec.Cmd, _ io.Closer) error { return cmd.Process.Signal(syscall.SIGTERM) },
			tidy:   true,
		},
		"Killed": {
			reason: "The kernel tells the server; only its folder stays.",
			end:    func(cmd *exec.Cmd, _ io.Closer) error { return cmd.Process.Kill() },
			code:   -1,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := harness(t, "postgres")
			stdin, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			address := startServer(t, cmd)
			if err := tc.end(cmd, stdin); err != nil {
				t.Fatal(err)
			}
			var exit *exec.ExitError
			if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.code, cmd.ProcessState.ExitCode()); diff != "" {
				t.Errorf("%s\nexit code: -want, +got:\n%s", tc.reason, diff)
			}
			waitClosed(t, address)
			left, err := filepath.Glob(filepath.Join(temporary(cmd), "*"))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.tidy, len(left) == 0); diff != "" {
				t.Errorf("%s\nnothing left: -want, +got:\n%s%v", tc.reason, diff, left)
			}
		})
	}
}

// startServer starts the command and returns the address in the DSN that it prints.
func startServer(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	dsn, err := url.Parse(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	connection, err := net.Dial("tcp", dsn.Host)
	if err != nil {
		t.Fatalf("the server does not serve: %v", err)
	}
	if err := connection.Close(); err != nil {
		t.Fatal(err)
	}
	return dsn.Host
}

func waitClosed(t *testing.T, address string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	err := process.WaitFor(ctx, "the server to end", func(context.Context) error {
		if connection, err := net.Dial("tcp", address); err == nil {
			return errors.Join(fmt.Errorf("%s still answers", address), connection.Close())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func temporary(cmd *exec.Cmd) string {
	for _, variable := range cmd.Env {
		if dir, ok := strings.CutPrefix(variable, "TMPDIR="); ok && strings.Contains(dir, "finops-harness-test-") {
			return dir
		}
	}
	return ""
}
