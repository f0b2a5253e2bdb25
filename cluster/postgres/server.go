// Package postgres runs a throw-away PostgreSQL server from the machine's own
// binaries: on a free loopback port, unless told otherwise, in a temporary folder
// that goes when the server goes. Everybody on this machine may connect, nobody
// from elsewhere.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/provider-finops/provider-finops/cluster/process"
)

const (
	startTimeout   = 3 * time.Minute
	stopGrace      = 20 * time.Second
	attempts       = 5   // A free port may be taken before the server binds it.
	maxConnections = 200 // Parallel test packages have pools of their own.
	loopback       = "127.0.0.1/32"
)

// Options of a server.
type Options struct {
	// Fsync makes commits durable. A throw-away server only needs that when
	// its speed is measured or its machine is switched off.
	Fsync bool

	// Address is where to listen, with the network whose clients are let in, such
	// as 10.244.0.1/24; empty: on loopback. Somebody has to see to it that nobody
	// else reaches it.
	Address string

	// Progress is told what takes long; nil: nobody.
	Progress io.Writer
}

// A Server is a running PostgreSQL.
type Server struct {
	Binaries Binaries
	Port     int

	dir     string
	host    string // Where it listens.
	clients string // Who is let in, as a network.
	fsync   bool
	account *syscall.Credential
	process *process.Process
}

// Start initialises a database cluster and serves it.
func Start(ctx context.Context, o Options) (*Server, error) {
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	if o.Address == "" {
		o.Address = loopback
	}
	address, clients, err := net.ParseCIDR(o.Address)
	if err != nil {
		return nil, fmt.Errorf("cannot read where PostgreSQL is to listen: %w", err)
	}
	binaries, err := Find(ctx, o.Progress)
	if err != nil {
		return nil, err
	}
	account, err := serverAccount()
	if err != nil {
		return nil, err
	}
	dir, err := process.Folder("postgres")
	if err != nil {
		return nil, err
	}
	s := &Server{Binaries: binaries, dir: dir, host: address.String(), clients: clients.String(), fsync: o.Fsync, account: account}
	if err := s.start(ctx); err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

// DSN names the maintenance database as the superuser.
func (s *Server) DSN() string {
	return fmt.Sprintf("postgres://postgres@%s/postgres?sslmode=disable", net.JoinHostPort(s.host, strconv.Itoa(s.Port)))
}

// Done is closed when the server has ended.
func (s *Server) Done() <-chan struct{} { return s.process.Done() }

// Ended explains an end that nobody asked for.
func (s *Server) Ended() error { return s.process.Ended() }

// Stop ends the server and removes its folder.
func (s *Server) Stop() {
	if s.process != nil {
		s.process.Stop(stopGrace)
	}
	_ = syscall.Unmount(filepath.Join(s.dir, "small"), syscall.MNT_DETACH) // Most have none.
	_ = os.RemoveAll(s.dir)                                                // A folder under the temporary one is no harm.
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// Halt ends the server and keeps its data. It does not wait for clients to leave.
func (s *Server) Halt() { s.process.Stop(stopGrace) }

// Crash ends the server as pg_ctl's immediate mode does: nothing is written down
// any more, and who is connected is cut off.
func (s *Server) Crash() {
	_ = syscall.Kill(s.process.PID(), syscall.SIGQUIT) // An error means that it has just ended.
	s.process.Stop(stopGrace)
}

// SmallDisk mounts a file system of so many bytes, on which the server may write,
// and returns where. It asks for a mount namespace of one's own, with which it
// goes.
func (s *Server) SmallDisk(size int64) (string, error) {
	at := filepath.Join(s.dir, "small")
	if err := os.Mkdir(at, 0o700); err != nil {
		return "", fmt.Errorf("cannot make a small disk: %w", err)
	}
	if err := syscall.Mount("tmpfs", at, "tmpfs", syscall.MS_NOSUID|syscall.MS_NODEV, fmt.Sprintf("size=%d,mode=0700", size)); err != nil {
		return "", fmt.Errorf("cannot mount a small disk at %q: %w", at, err)
	}
	if s.account != nil {
		if err := os.Chown(at, int(s.account.Uid), int(s.account.Gid)); err != nil {
			return "", fmt.Errorf("cannot hand %q to the server's user: %w", at, err)
		}
	}
	return at, nil
}

// Resume serves the data of a server that was halted or has crashed again, on the
// same port.
func (s *Server) Resume(ctx context.Context) error { return s.run(ctx) }

func (s *Server) start(ctx context.Context) error {
	if s.account != nil {
		if err := os.Chown(s.dir, int(s.account.Uid), int(s.account.Gid)); err != nil {
			return fmt.Errorf("cannot hand folder %q to the server's user: %w", s.dir, err)
		}
	}
	if err := s.initialise(ctx); err != nil {
		return err
	}
	var err error
	for range attempts {
		if err = s.serve(ctx); !errors.Is(err, errPortTaken) {
			return err
		}
	}
	return err
}

func (s *Server) initialise(ctx context.Context) error {
	cmd := process.Command(ctx, s.Binaries.Path("initdb"), "--pgdata="+s.data(), "--username=postgres",
		"--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions")
	cmd.Dir = s.dir
	cmd.SysProcAttr.Credential = s.account
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("cannot initialise PostgreSQL with %s: %w\n%s", cmd.Path, err, out)
	}
	rule := "host all all " + s.clients + " trust\n" // All databases, all users.
	if err := os.WriteFile(filepath.Join(s.data(), "pg_hba.conf"), []byte(rule), 0o600); err != nil {
		return fmt.Errorf("cannot limit PostgreSQL to this machine: %w", err)
	}
	return nil
}

var errPortTaken = errors.New("the port was taken before PostgreSQL could bind it")

// serve runs the server on a port that is free.
func (s *Server) serve(ctx context.Context) error {
	ports, err := process.FreePorts(1)
	if err != nil {
		return err
	}
	s.Port = ports[0]
	return s.run(ctx)
}

// run runs the server on its port.
func (s *Server) run(ctx context.Context) (err error) {
	s.process, err = process.Start(process.Spec{
		Name: serverProgram, Path: s.Binaries.Path(serverProgram), Args: s.arguments(s.fsync),
		Dir: s.dir, LogDir: s.dir, User: s.account,
		StopSignal: syscall.SIGINT, // PostgreSQL's fast shutdown: it does not wait for clients to leave.
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	err = process.WaitFor(ctx, "PostgreSQL to accept connections", s.ready, s.process)
	if err != nil && strings.Contains(process.Tail(s.process.Log(), 20), "could not bind") {
		return errPortTaken
	}
	return err
}

func (s *Server) arguments(fsync bool) []string {
	settings := []string{
		"listen_addresses=" + s.host,
		"unix_socket_directories=", // No socket: its path has a length limit that temporary folders can pass.
		"max_connections=" + strconv.Itoa(maxConnections),
		"timezone=UTC", "log_timezone=UTC",
	}
	if !fsync {
		settings = append(settings, "fsync=off", "synchronous_commit=off", "full_page_writes=off")
	}
	args := make([]string, 0, 4+2*len(settings))
	args = append(args, "-D", s.data(), "-p", strconv.Itoa(s.Port))
	for _, setting := range settings {
		args = append(args, "-c", setting)
	}
	return args
}

// ready reads what pg_ctl reads: line 1 of the server's own file is its process
// id, line 8 its state.
func (s *Server) ready(context.Context) error {
	text, err := os.ReadFile(filepath.Join(s.data(), "postmaster.pid"))
	if err != nil {
		return err
	}
	lines := strings.Split(string(text), "\n")
	if len(lines) < 8 || lines[0] != strconv.Itoa(s.process.PID()) || strings.TrimSpace(lines[7]) != "ready" {
		return errors.New("it is still starting")
	}
	return nil
}
