// Package process starts the programs a test cluster consists of and stops
// them by their own process id. What it starts dies with the harness, even if
// the harness is killed hard, and writes its output to a file of its own.
package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// A Spec says what to run.
type Spec struct {
	Name string   // What errors and the log file call it.
	Path string   // The program.
	Args []string // Without the program's name.
	Dir  string   // Working directory; empty: the harness's own.
	Env  []string // Whole environment; nil: the harness's own.

	LogDir string // The output goes to <LogDir>/<Name>.log, appended. Made if it is missing.

	// User runs the program as somebody else; nil: as the harness's own user.
	User *syscall.Credential

	// StopSignal asks the program to end; zero: SIGTERM. It is also what the
	// kernel sends when the harness dies without having stopped it.
	StopSignal syscall.Signal
}

// A Process is a running program.
type Process struct {
	spec Spec
	cmd  *exec.Cmd
	log  string
	done chan struct{}
	err  error // Valid once done is closed.
}

// Start runs the program in a process group of its own, so that a Ctrl-C in
// the terminal reaches the harness alone, which then stops things in order.
func Start(spec Spec) (*Process, error) {
	if spec.StopSignal == 0 {
		spec.StopSignal = syscall.SIGTERM
	}
	p := &Process{spec: spec, log: filepath.Join(spec.LogDir, spec.Name+".log"), done: make(chan struct{})}
	if err := os.MkdirAll(spec.LogDir, 0o755); err != nil {
		return nil, fmt.Errorf("cannot make the folder for the log of %q: %w", spec.Name, err)
	}
	out, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot open the log of %q: %w", spec.Name, err)
	}
	defer func() { _ = out.Close() }() // The child has its own copy.

	p.cmd = exec.Command(spec.Path, spec.Args...)
	p.cmd.Dir, p.cmd.Env = spec.Dir, spec.Env
	p.cmd.Stdout, p.cmd.Stderr = out, out
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: spec.StopSignal, Credential: spec.User}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("cannot start %q: %w", spec.Name, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// PID is the process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Log is the file with the program's output.
func (p *Process) Log() string { return p.log }

// Done is closed when the program has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Ended explains an end that nobody asked for, with the last lines of the log.
func (p *Process) Ended() error {
	<-p.done
	reason := p.err
	if reason == nil {
		reason = errors.New("exit status 0")
	}
	return fmt.Errorf("%s ended by itself: %w; its log %s ends with:\n%s", p.spec.Name, reason, p.log, Tail(p.log, 12))
}

// Stop asks the program to end, and kills it after the grace period. It
// returns once the program is gone.
func (p *Process) Stop(grace time.Duration) {
	for _, signal := range []syscall.Signal{p.spec.StopSignal, syscall.SIGKILL} {
		select {
		case <-p.done:
			return
		default:
		}
		_ = p.cmd.Process.Signal(signal) // An error means that it has just ended.
		select {
		case <-p.done:
			return
		case <-time.After(grace):
		}
	}
	<-p.done
}

// Tail returns the last lines of a file, indented; a file that cannot be read
// has none.
func Tail(path string, lines int) string {
	text, _ := os.ReadFile(path)
	all := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	if len(all) > lines {
		all = all[len(all)-lines:]
	}
	return "    " + strings.Join(all, "\n    ")
}
