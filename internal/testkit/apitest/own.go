package apitest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// A Server is a control plane that a test has for itself and can take away, in
// whole or in parts. What is stored stays.
type Server struct {
	t   testing.TB
	env *envtest.Environment
}

// Own starts a control plane for one test.
func Own(t testing.TB) *Server {
	t.Helper()
	env, err := environment()
	if err != nil {
		t.Fatal(err)
	}
	// Folders that are given are kept when a part stops.
	env.ControlPlane = envtest.ControlPlane{
		APIServer: &envtest.APIServer{CertDir: t.TempDir()},
		Etcd:      &envtest.Etcd{DataDir: t.TempDir()},
	}
	s := &Server{t: t, env: env}
	t.Cleanup(func() {
		if err := s.env.Stop(); err != nil {
			t.Errorf("cannot stop the test's own API server: %v", err)
		}
	})
	if _, err := s.env.Start(); err != nil {
		t.Fatalf("cannot start an API server for the test alone: %v", err)
	}
	return s
}

// Client returns an administrator's client that reads from the server itself.
func (s *Server) Client(t testing.TB) client.WithWatch {
	t.Helper()
	c, err := client.NewWithWatch(s.env.Config, client.Options{Scheme: Scheme()})
	if err != nil {
		t.Fatalf("cannot make a client: %v", err)
	}
	return c
}

// Manager returns a manager of the server, see [Manager].
func (s *Server) Manager(t testing.TB) ctrl.Manager {
	t.Helper()
	mgr, _ := ManagerOn(t, s.env.Config)
	return mgr
}

// KillAPIServer ends the API server as a crash does.
func (s *Server) KillAPIServer() { s.kill("kube-apiserver", s.env.ControlPlane.APIServer.CertDir) }

// StartAPIServer gives it back, at the same address.
func (s *Server) StartAPIServer() { s.do("start the API server", s.env.ControlPlane.APIServer.Start) }

// KillEtcd ends etcd as a crash does.
func (s *Server) KillEtcd() { s.kill("etcd", s.env.ControlPlane.Etcd.DataDir) }

// StartEtcd gives it back, with what is stored.
func (s *Server) StartEtcd() { s.do("start etcd", s.env.ControlPlane.Etcd.Start) }

// Snapshot copies what is stored, for which etcd rests a moment. What it returns
// puts the copy back, as somebody does who restores a cluster: versions go back,
// too.
func (s *Server) Snapshot() (restore func()) {
	s.t.Helper()
	data, saved := s.env.ControlPlane.Etcd.DataDir, filepath.Join(s.t.TempDir(), "snapshot")
	s.KillEtcd()
	s.do("copy what etcd stores", func() error { return os.CopyFS(saved, os.DirFS(data)) })
	s.StartEtcd()
	return func() {
		s.t.Helper()
		s.KillAPIServer()
		s.KillEtcd()
		s.do("put the copy back", func() error {
			return errors.Join(os.RemoveAll(data), os.CopyFS(data, os.DirFS(saved)), os.Chmod(data, 0o700))
		})
		s.StartEtcd()
		s.StartAPIServer()
	}
}

func (s *Server) do(what string, do func() error) {
	s.t.Helper()
	if err := do(); err != nil {
		s.t.Fatalf("cannot %s: %v", what, err)
	}
}

// kill ends the one process that runs a program on a folder of this server.
func (s *Server) kill(program, folder string) {
	s.t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		s.t.Fatal(err)
	}
	for _, line := range lines {
		text, err := os.ReadFile(line)
		if err != nil {
			continue // It has ended meanwhile.
		}
		command, arguments, _ := strings.Cut(string(text), "\x00")
		if filepath.Base(command) != program || !strings.Contains(arguments, folder) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(line)))
		if err != nil {
			s.t.Fatal(err)
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			s.t.Fatalf("cannot kill %s: %v", program, err)
		}
		Eventually(s.t, "the end of "+program, func(context.Context) error {
			if err := syscall.Kill(pid, 0); err == nil {
				return errors.New("it is still there")
			}
			return nil
		})
		return
	}
	s.t.Fatalf("cannot find %s of %s", program, folder)
}
