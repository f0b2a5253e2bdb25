package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"
	"golang.org/x/sync/errgroup"

	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/testkit/pgtest"
)

// secret has every character that has a meaning in one of the forms. It holds
// no part that would stand in an error anyway.
const secret = `Zq7@/:?#%&= 'w\x9K`

// guarded makes a role with that password, and returns it with the server.
func guarded(t *testing.T) (role string, admin *pgx.ConnConfig) {
	t.Helper()
	admin = pgtest.Admin(t)
	conn, err := pgx.ConnectConfig(t.Context(), admin)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	role = fmt.Sprintf("finops_guarded_%d", os.Getpid())
	quoted := "'" + strings.ReplaceAll(secret, "'", "''") + "'"
	if _, err := conn.Exec(t.Context(), "CREATE ROLE "+role+" LOGIN SUPERUSER PASSWORD "+quoted); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn, err := pgx.ConnectConfig(context.Background(), admin)
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = conn.Close(context.Background()) }()
		for _, sql := range []string{"DROP OWNED BY " + role + " CASCADE", "DROP ROLE " + role} {
			if _, err := conn.Exec(context.Background(), sql); err != nil {
				t.Error(err)
			}
		}
	})
	return role, admin
}

// TestDSNForms opens and migrates one database by every form of connection
// string that libpq knows.
func TestDSNForms(t *testing.T) {
	role, admin := guarded(t)
	host, port := admin.Host, fmt.Sprint(admin.Port)
	encoded := url.UserPassword("", secret).String() // With its colon.
	kv := strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(secret)

	cases := map[string]struct {
		reason   string
		dsn      func(database string) string
		password bool
	}{
		"PostgresURL": {
			reason: "The usual form, the password percent-encoded (%40 for @).", password: true,
			dsn: func(db string) string {
				return "postgres://" + role + encoded + "@" + net.JoinHostPort(host, port) + "/" + db + "?sslmode=disable"
			},
		},
		"PostgresqlURL": {
			reason: "The other scheme.", password: true,
			dsn: func(db string) string {
				return "postgresql://" + role + encoded + "@" + net.JoinHostPort(host, port) + "/" + db +
					"?sslmode=disable&connect_timeout=5"
			},
		},
		"KeyValue": {
			reason: "key=value, quoted.", password: true,
			dsn: func(db string) string {
				return "host=" + host + " port=" + port + " dbname=" + db + " user=" + role + " password='" + kv + "' sslmode=disable"
			},
		},
		"PasswordInQuery": {
			reason: "Everything in the query.", password: true,
			dsn: func(db string) string {
				q := url.Values{"user": {role}, "password": {secret}, "sslmode": {"disable"}, "host": {host}, "port": {port}}
				return "postgres:///" + db + "?" + strings.ReplaceAll(q.Encode(), "+", "%20")
			},
		},
		"SearchPathInOptions": {
			reason: "The connection's own search path is where the tables go.",
			dsn: func(db string) string {
				return "postgres://" + role + "@" + net.JoinHostPort(host, port) + "/" + db +
					"?sslmode=disable&options=-csearch_path%3Dbilling"
			},
		},
		"SearchPathAsParameter": {
			reason: "The same as a parameter of its own.",
			dsn: func(db string) string {
				return "postgres://" + role + "@" + net.JoinHostPort(host, port) + "/" + db + "?sslmode=disable&search_path=billing"
			},
		},
		"PoolSettings": {
			reason: "Settings of the pool must not reach the server as parameters it does not know.",
			dsn: func(db string) string {
				return "postgres://" + role + "@" + net.JoinHostPort(host, port) + "/" + db +
					"?sslmode=prefer&pool_max_conns=2&pool_max_conn_lifetime=1h"
			},
		},
		"SeveralHosts": {
			reason: "A list of hosts, the first of which is away.",
			dsn: func(db string) string {
				return "postgres://" + role + "@127.0.0.1:1," + net.JoinHostPort(host, port) + "/" + db +
					"?sslmode=disable&target_session_attrs=read-write"
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			empty := pgtest.Empty(t)
			exec1(t.Context(), t, empty, "CREATE SCHEMA billing")
			u, err := url.Parse(empty)
			if err != nil {
				t.Fatal(err)
			}
			pool, err := postgres.Open(t.Context(), postgres.Config{DSN: tc.dsn(strings.TrimPrefix(u.Path, "/"))})
			if err != nil {
				t.Fatalf("%s\n%v", tc.reason, err)
			}
			defer pool.Close()
			// A server may trust who comes from its own machine, so what would
			// be shown to one that does not is looked at, too.
			want := ""
			if tc.password {
				want = secret
			}
			if got := pool.Config().ConnConfig.Password; got != want {
				t.Errorf("%s\nthe password came out as %q", tc.reason, got)
			}

			home := "public"
			if strings.HasPrefix(name, "SearchPath") {
				home = "billing"
			}
			tables := value[int](t, empty, "SELECT count(*) FROM pg_class WHERE relnamespace = $1::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition", home)
			if tables != 12 {
				t.Errorf("%s\nwant 12 tables in schema %s, got %d", tc.reason, home, tables)
			}
		})
	}
}

// TestNoErrorShowsThePassword provokes every failure we know of.
func TestNoErrorShowsThePassword(t *testing.T) {
	asking := askingServer(t, "28P01", "password authentication failed for user \"finops\"")
	echoing := askingServer(t, "28000", "no entry for user finops with password S3cretWord")
	silent := listener(t)
	dir := t.TempDir()
	garbage := filepath.Join(dir, "ca.pem")
	if err := os.WriteFile(garbage, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	const word = "S3cretWord"

	cases := map[string]struct {
		dsn    string
		want   string
		absent []string // What must not be shown, beside the whole password.
	}{
		"Empty":          {dsn: "  ", want: "it is empty"},
		"NoForm":         {dsn: "S3cretWord", want: "neither a URL"},
		"OtherScheme":    {dsn: "mysql://finops:S3cretWord@db/finops", want: "neither a URL"},
		"BadPort":        {dsn: "postgres://finops:S3cretWord@db:99999/finops", want: "the port is no number between 1 and 65535"},
		"PortIsWord":     {dsn: "postgres://finops:S3cretWord@db:port/finops", want: "the port is no number between 1 and 65535"},
		"BadEscape":      {dsn: "postgres://finops:S3cret%ZZWord@db/finops", want: "neither a URL", absent: []string{"S3cret", "%ZZ"}},
		"SpaceInURL":     {dsn: "postgres://finops:S3cretWord@d b/finops", want: "neither a URL"},
		"Slash":          {dsn: "postgres://finops:S3cret/Word@db/finops", want: "write /, ?, # and @ as %2F, %3F, %23 and %40", absent: []string{"S3cret", "Word"}},
		"Question":       {dsn: "postgres://finops:1234?Word@db/finops", want: "write /, ?, # and @ as", absent: []string{"1234", "Word"}},
		"Hash":           {dsn: "postgres://finops:1234#Word@db/finops", want: "write /, ?, # and @ as", absent: []string{"1234", "Word"}},
		"QuestionEquals": {dsn: "postgres://finops:1234?Wo=rd@db/finops", want: "write /, ?, # and @ as", absent: []string{"1234", "Wo="}},
		"At":             {dsn: "postgres://finops:1234@Word@db/finops", want: "write /, ?, # and @ as", absent: []string{"1234", "Word"}},
		"AtAndSlash":     {dsn: "postgres://finops:12@34/Word@db/finops", want: "write /, ?, # and @ as", absent: []string{"34", "Word"}},
		"AtAndQuestion":  {dsn: "postgres://finops:12@34?Word@db/finops", want: "write /, ?, # and @ as", absent: []string{"34", "Word"}},
		"BadSSLMode":     {dsn: "postgres://finops:S3cretWord@db/finops?sslmode=maybe", want: "sslmode is none of"},
		"NoCA":           {dsn: "postgres://finops:S3cretWord@db/finops?sslmode=verify-full&sslrootcert=" + dir + "/none.pem", want: "the file named by sslrootcert cannot be read"},
		"BadCA":          {dsn: "postgres://finops:S3cretWord@db/finops?sslmode=verify-full&sslrootcert=" + garbage, want: "the file named by sslrootcert holds no certificate"},
		"BadTimeout":     {dsn: "host=db user=finops password=S3cretWord connect_timeout=soon", want: "connect_timeout is no number of seconds"},
		"OpenQuote":      {dsn: "host=db password='S3cretWord user=finops", want: "neither a URL"},
		"NoEquals":       {dsn: "host=db password S3cretWord", want: "neither a URL"},
		"BadAttributes":  {dsn: "postgres://finops:S3cretWord@db/finops?target_session_attrs=best", want: "target_session_attrs has an unknown value"},
		"BadPool":        {dsn: "postgres://finops:S3cretWord@db/finops?pool_max_conns=many", want: "one of its pool_ settings cannot be used"},
		"NoService":      {dsn: "postgres://finops:S3cretWord@/finops?service=none&servicefile=" + dir + "/none", want: "the service file or the service it names cannot be read"},
		"PortsAndHosts":  {dsn: "host=a,b port=1,2,3 password=S3cretWord", want: "there are not as many ports as hosts"},

		"Refused":       {dsn: "postgres://finops:S3cretWord@127.0.0.1:1/finops?sslmode=disable", want: "connection refused"},
		"UnknownHost":   {dsn: "postgres://finops:S3cretWord@database.invalid/finops?sslmode=disable", want: "database.invalid"},
		"NoSocket":      {dsn: "host=" + dir + " user=finops password=S3cretWord dbname=finops", want: "no such file or directory"},
		"WrongPassword": {dsn: "postgres://finops:S3cretWord@" + asking + "/finops?sslmode=disable", want: "password authentication failed for user"},
		"WrongInKV":     {dsn: "host=127.0.0.1 port=" + port(asking) + " user=finops password='S3cretWord' dbname=finops sslmode=disable", want: "28P01"},
		"ServerEchoes":  {dsn: "postgres://finops:S3cretWord@" + echoing + "/finops?sslmode=disable", want: "with password xxxxx"},
		"NoTLS":         {dsn: "postgres://finops:S3cretWord@" + asking + "/finops?sslmode=require", want: "refused TLS"},
		"Deadline":      {dsn: "postgres://finops:S3cretWord@" + silent + "/finops?sslmode=disable", want: "deadline exceeded"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			if name == "Deadline" {
				ctx, cancel = context.WithTimeout(t.Context(), 200*time.Millisecond)
			}
			defer cancel()
			pool, err := postgres.Open(ctx, postgres.Config{DSN: tc.dsn})
			if err == nil {
				pool.Close()
				t.Fatal("want an error")
			}
			// The whole chain is looked at: somebody may print a part of it.
			for ; err != nil; err = errors.Unwrap(err) {
				for _, hidden := range append(tc.absent, word) {
					if strings.Contains(fmt.Sprintf("%v %+v %q", err, err, err.Error()), hidden) {
						t.Errorf("an error shows %q: %v", hidden, err)
					}
				}
				if tc.want != "" && strings.Contains(err.Error(), tc.want) {
					tc.want = ""
				}
			}
			if tc.want != "" {
				t.Errorf("no error says %q", tc.want)
			}
		})
	}
}

func port(address string) string {
	_, p, _ := net.SplitHostPort(address)
	return p
}

// listener accepts connections and says nothing.
func listener(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l.Addr().String()
}

// askingServer speaks as much of the protocol as a refusal takes: it refuses
// TLS, reads who comes, and answers with an error.
func askingServer(t *testing.T, code, message string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var group errgroup.Group
	group.Go(func() error {
		for {
			conn, err := l.Accept()
			if errors.Is(err, net.ErrClosed) {
				return nil
			}
			if err != nil {
				return err
			}
			if err := refuse(conn, code, message); err != nil {
				return err
			}
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		if err := group.Wait(); err != nil {
			t.Errorf("the server that asks: %v", err)
		}
	})
	return l.Addr().String()
}

func refuse(conn net.Conn, code, message string) error {
	defer func() { _ = conn.Close() }()
	backend := pgproto3.NewBackend(conn, conn)
	for {
		first, err := backend.ReceiveStartupMessage()
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil // Who does not get TLS hangs up.
		}
		if err != nil {
			return err
		}
		if _, ok := first.(*pgproto3.SSLRequest); !ok {
			break
		}
		if _, err := conn.Write([]byte("N")); err != nil {
			return err
		}
	}
	backend.Send(&pgproto3.ErrorResponse{Severity: "FATAL", Code: code, Message: message})
	return backend.Flush()
}
