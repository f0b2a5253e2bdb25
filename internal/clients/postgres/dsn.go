package postgres

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"
)

// parseDSN reads every form of connection string that libpq knows. The error
// of the library quotes the string, with a password masked where it is
// recognized; a string that cannot be parsed is exactly where it may not be.
// So the error here names what is wrong and quotes nothing.
func parseDSN(dsn string) (*pgxpool.Config, error) {
	if strings.TrimSpace(dsn) == "" {
		return nil, errors.New("cannot parse the PostgreSQL connection string: it is empty")
	}
	if cutShort(dsn) {
		return nil, errors.New("cannot parse the PostgreSQL connection string: " +
			"the user name or password holds a character that ends the host part of a URL; " +
			"write /, ?, # and @ as %2F, %3F, %23 and %40")
	}
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("cannot parse the PostgreSQL connection string: %s", complaint(err))
	}
	if !strings.Contains(dsn, "pool_max_conns") {
		config.MaxConns = defaultMaxConns
	}
	return config, nil
}

// cutShort tells a URL whose user name or password holds a character that ends
// it: the rest is then taken for a host, a path or a query, which errors name.
// One @ ends the user's part, and none stands in the path behind it.
func cutShort(dsn string) bool {
	_, rest, isURL := strings.Cut(dsn, "://")
	if !isURL {
		return false
	}
	authority, tail := rest, ""
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		authority, tail = rest[:end], rest[end:]
	}
	if strings.Count(authority, "@") > 1 {
		return true
	}
	// user=name@server and the like may stand in a query, behind their name.
	path, query, _ := strings.Cut(tail, "?")
	name, _, found := strings.Cut(query, "@")
	return strings.Contains(path, "@") || found && !strings.Contains(name, "=") ||
		found && !strings.Contains(authority, "@") && !strings.HasPrefix(tail, "/")
}

// complaint turns a parser's error into one of our own sentences. Only the
// choice between them depends on the error, so nothing of the connection
// string can come through.
func complaint(err error) string {
	text := err.Error()
	for _, c := range complaints {
		if strings.Contains(text, c.sign) {
			return c.sentence
		}
	}
	return "it is neither a URL (postgres://user:password@host:5432/database) nor a list of key=value pairs; " +
		"in a URL, special characters of the password are percent-encoded"
}

var complaints = []struct{ sign, sentence string }{
	{"sslmode is invalid", "sslmode is none of disable, allow, prefer, require, verify-ca, verify-full"},
	{"unable to read CA file", "the file named by sslrootcert cannot be read"},
	{"unable to add CA to cert pool", "the file named by sslrootcert holds no certificate"},
	{"sslcert", "sslcert and sslkey name no usable pair of files"},
	{"failed to configure TLS", "its TLS settings cannot be used"},
	{"invalid port", "the port is no number between 1 and 65535"},
	{"port numbers to", "there are not as many ports as hosts"},
	{"connect_timeout", "connect_timeout is no number of seconds"},
	{"target_session_attrs", "target_session_attrs has an unknown value"},
	{"failed to read service", "the service file or the service it names cannot be read"},
	{"pool_", "one of its pool_ settings cannot be used"},
}

// redacted returns err, or, if its text shows the password, an error with the
// same text but for that. Such an error is the end of its chain: whatever it
// wrapped would show the password again.
func redacted(err error, password string) error {
	if err == nil || password == "" || !strings.Contains(err.Error(), password) {
		return err
	}
	return errors.New(strings.ReplaceAll(err.Error(), password, "xxxxx"))
}
