package pgtest

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/provider-finops/provider-finops/internal/clients/postgres"
)

// A Server is one that a test has for itself and can take away.
type Server struct {
	// DSN is the superuser's, of a migrated database.
	DSN string

	t     testing.TB
	ask   io.WriteCloser
	reply *bufio.Reader
}

// Own runs a server for one test, whatever server the others share.
func Own(t testing.TB) *Server {
	t.Helper()
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	harness := exec.Command("go", "run", "-C", filepath.Join(root, "cluster"), "./cmd/harness", "postgres", "--commands", "--fsync") // Durable, so that a crash takes nothing that was committed.
	harness.SysProcAttr = ownMounts()
	harness.Stderr = os.Stderr
	ask, err := harness.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := harness.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := harness.Start(); err != nil {
		t.Fatalf("cannot start the harness: %v", err)
	}
	s := &Server{t: t, ask: ask, reply: bufio.NewReader(out)}
	t.Cleanup(func() {
		_ = ask.Close() // The server goes with its input.
		if err := harness.Wait(); err != nil {
			t.Errorf("cannot stop the server: %v", err)
		}
	})
	s.DSN = s.line()
	pool, err := postgres.Open(t.Context(), postgres.Config{DSN: s.DSN, Application: "pgtest"})
	if err != nil {
		t.Fatalf("cannot migrate the test's database: %v", err)
	}
	pool.Close()
	return s
}

// Halt takes the server away. Its data stays.
func (s *Server) Halt() { s.tell("halt") }

// Crash takes it away in the middle of whatever it does. What was committed stays.
func (s *Server) Crash() { s.tell("crash") }

// Resume gives it back, at the same address.
func (s *Server) Resume() { s.tell("resume") }

func (s *Server) tell(what string) {
	s.t.Helper()
	if done := s.answer(what); done != what {
		s.t.Fatalf("told the server to %s, it did %q", what, done)
	}
}

func (s *Server) answer(what string) string {
	s.t.Helper()
	if _, err := fmt.Fprintln(s.ask, what); err != nil {
		s.t.Fatalf("cannot tell the server to %s: %v", what, err)
	}
	return s.line()
}

// Database is the server's, and the test's own way into it.
func (s *Server) Database() DB {
	s.t.Helper()
	pool, err := postgres.NewPool(s.t.Context(), postgres.Config{DSN: s.DSN, Application: "pgtest"})
	if err != nil {
		s.t.Fatalf("cannot open the test's database: %v", err)
	}
	s.t.Cleanup(pool.Close)
	return DB{Pool: pool, DSN: s.DSN}
}

// OnSmallDisk returns a database that is migrated, on a disk of 64 MiB which is
// soon full.
func (s *Server) OnSmallDisk() DB {
	s.t.Helper()
	admin, err := pgx.ParseConfig(s.DSN)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, sql := range []string{
		"CREATE TABLESPACE small LOCATION '" + s.answer("disk") + "'",
		"CREATE DATABASE small TEMPLATE template0 ENCODING 'UTF8' TABLESPACE small",
	} {
		if err := execOn(s.t.Context(), admin, sql); err != nil {
			s.t.Fatalf("cannot make a database on a small disk: %v", err)
		}
	}
	db := DB{DSN: urlOf(admin, "small")}
	if db.Pool, err = postgres.Open(s.t.Context(), postgres.Config{DSN: db.DSN, Application: "pgtest"}); err != nil {
		s.t.Fatalf("cannot open the database on the small disk: %v", err)
	}
	s.t.Cleanup(db.Pool.Close)
	return db
}

// ownMounts lets a program mount what nobody else sees. It needs no root where
// users may make namespaces.
func ownMounts() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	if uid, gid := os.Geteuid(), os.Getegid(); uid != 0 {
		const mount = 21 // CAP_SYS_ADMIN
		attr.Cloneflags, attr.AmbientCaps = syscall.CLONE_NEWUSER, []uintptr{mount}
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
	}
	return attr
}

func (s *Server) line() string {
	s.t.Helper()
	line, err := s.reply.ReadString('\n')
	if err != nil {
		s.t.Fatalf("the server does not answer: %v", err)
	}
	return strings.TrimSpace(line)
}
