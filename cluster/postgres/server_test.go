package postgres

import (
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func query(t *testing.T, s *Server, sql string) string {
	t.Helper()
	out, err := exec.Command(s.Binaries.Path("psql"), s.DSN(), "-XAtqc", sql).CombinedOutput()
	if err != nil {
		t.Fatalf("cannot query: %v\n%s", err, out)
	}
	return strings.TrimSpace(string(out))
}

// A server serves, and leaves neither a folder, nor a process, nor an open
// port when it is stopped.
func TestServer(t *testing.T) {
	temporary := t.TempDir()
	if err := os.Chmod(temporary, 0o755); err != nil { // The server runs as another user if we are root.
		t.Fatal(err)
	}
	openToOthers(t, temporary)
	t.Setenv("TMPDIR", temporary)

	s, err := Start(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	const settings = `SELECT concat_ws(' ', current_setting('fsync'), current_setting('listen_addresses'), current_setting('server_encoding'),
		current_setting('max_connections'), (SELECT rolsuper FROM pg_roles WHERE rolname = current_user))`
	if diff := cmp.Diff("off 127.0.0.1 UTF8 200 t", query(t, s, settings)); diff != "" {
		t.Errorf("settings: -want, +got:\n%s", diff)
	}

	s.Stop()
	select {
	case <-s.Done():
	default:
		t.Error("the server is still running")
	}
	left, err := os.ReadDir(temporary)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(0, len(left)); diff != "" {
		t.Errorf("files left: -want, +got:\n%s", diff)
	}
	if out, err := exec.Command(s.Binaries.Path("psql"), s.DSN(), "-XAtqc", "SELECT 1").CombinedOutput(); err == nil {
		t.Errorf("somebody still answers on the port: %s", out)
	}
}

// openToOthers lets other users pass through the folders that the test made.
func openToOthers(t *testing.T, dir string) {
	t.Helper()
	for at := dir; strings.HasPrefix(at, os.TempDir()) && at != os.TempDir(); at = at[:strings.LastIndexByte(at, '/')] {
		if err := os.Chmod(at, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTwoServersAtOnce(t *testing.T) {
	durable, err := Start(t.Context(), Options{Fsync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(durable.Stop)
	fast, err := Start(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fast.Stop)

	const settings = "SELECT current_setting('fsync') || current_setting('synchronous_commit')"
	got := []string{query(t, durable, settings), query(t, fast, settings)}
	if diff := cmp.Diff([]string{"onon", "offoff"}, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	for _, s := range []*Server{durable, fast} {
		dsn, err := url.Parse(s.DSN())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff("127.0.0.1", dsn.Hostname()); diff != "" {
			t.Errorf("host: -want, +got:\n%s", diff)
		}
	}
}

func TestNewest(t *testing.T) {
	script := func(version string) string {
		t.Helper()
		dir := t.TempDir()
		for _, program := range []string{"initdb", "psql", "postgres"} {
			text := "#!/bin/sh\necho 'postgres (PostgreSQL) " + version + "'\n"
			if err := os.WriteFile(dir+"/"+program, []byte(text), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	old, good, better := script("13.9"), script("15.4 (Debian 15.4-1)"), script("17beta1")
	incomplete := script("18.1")
	if err := os.Remove(incomplete + "/initdb"); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		reason string
		dirs   []string
		want   Binaries
	}{
		"Newest":     {reason: "The newest wins, wherever it is found.", dirs: []string{good, better, old}, want: Binaries{Dir: better, Major: 17}},
		"TooOld":     {reason: "What the product does not support is not there.", dirs: []string{old}},
		"Incomplete": {reason: "A client's package is no server.", dirs: []string{incomplete, good}, want: Binaries{Dir: good, Major: 15}},
		"Nothing":    {reason: "A folder that is not there is no installation.", dirs: []string{t.TempDir() + "/none"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, ok := newest(t.Context(), tc.dirs)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.want.Major > 0, ok); diff != "" {
				t.Errorf("%s\nfound: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// A halted server is gone for its clients and keeps what they stored.
func TestHalt(t *testing.T) {
	s, err := Start(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	query(t, s, "CREATE TABLE kept AS SELECT 1 AS id")
	before := s.DSN()

	s.Halt()
	if out, err := exec.Command(s.Binaries.Path("psql"), s.DSN(), "-XAtqc", "SELECT 1").CombinedOutput(); err == nil {
		t.Errorf("somebody still answers: %s", out)
	}
	if err := s.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{before, "1"}, []string{s.DSN(), query(t, s, "SELECT count(*) FROM kept")}); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}
