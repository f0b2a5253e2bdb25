package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/jackc/pgx/v5"
)

// A Machine is what a report was made on.
type Machine struct {
	CPUs     int    `json:"cpus"`
	CPU      string `json:"cpu,omitempty"`
	Kernel   string `json:"kernel,omitempty"`
	Go       string `json:"go"`
	Postgres string `json:"postgres"`
	Fsync    string `json:"fsync"`
}

// ThisMachine describes the machine of the run and its PostgreSQL.
func ThisMachine(ctx context.Context, dsn string) (Machine, error) {
	m := Machine{CPUs: runtime.GOMAXPROCS(0), Go: runtime.Version()}
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		_, after, _ := strings.Cut(string(text), "model name")
		line, _, _ := strings.Cut(after, "\n")
		m.CPU = strings.TrimSpace(strings.TrimLeft(line, " \t:"))
	}
	if text, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.Kernel = strings.TrimSpace(string(text))
	}
	c, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return m, errors.New("cannot connect to the PostgreSQL server")
	}
	err = c.QueryRow(ctx, "SELECT current_setting('server_version'), current_setting('fsync')").Scan(&m.Postgres, &m.Fsync)
	if err != nil {
		err = fmt.Errorf("cannot ask PostgreSQL for its version: %w", err)
	}
	return m, errors.Join(err, c.Close(ctx))
}

// String is the machine on one line.
func (m Machine) String() string {
	return fmt.Sprintf("%d CPUs (%s), Linux %s, %s, PostgreSQL %s with fsync %s", m.CPUs, m.CPU, m.Kernel, m.Go, m.Postgres, m.Fsync)
}
