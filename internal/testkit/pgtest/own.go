package pgtest

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

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
	harness := exec.Command("go", "run", "-C", filepath.Join(root, "cluster"), "./cmd/harness", "postgres", "--commands")
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

// Resume gives it back, at the same address.
func (s *Server) Resume() { s.tell("resume") }

func (s *Server) tell(what string) {
	s.t.Helper()
	if _, err := fmt.Fprintln(s.ask, what); err != nil {
		s.t.Fatalf("cannot tell the server to %s: %v", what, err)
	}
	if done := s.line(); done != what {
		s.t.Fatalf("told the server to %s, it did %q", what, done)
	}
}

func (s *Server) line() string {
	s.t.Helper()
	line, err := s.reply.ReadString('\n')
	if err != nil {
		s.t.Fatalf("the server does not answer: %v", err)
	}
	return strings.TrimSpace(line)
}
