package pgtest

import (
	"context"
	"sync"

	"github.com/jackc/pgx/v5"
)

// Steps are what somebody sends to the database: statements, those of
// transactions among them, and each COPY. As the tracer of his connections they
// are counted, and one of them can be struck.
type Steps struct {
	// At is before which of them Strike is called, with the connection that it is
	// about to be sent by. Zero is none. It counts from one.
	At     int
	Strike func(conn *pgx.Conn)

	mu   sync.Mutex
	done int
}

// Count is how many there were so far.
func (s *Steps) Count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.done
}

// next holds up whoever comes next until the strike is over: nothing is sent
// meanwhile.
func (s *Steps) next(conn *pgx.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done++; s.done == s.At {
		s.Strike(conn)
	}
}

// TraceQueryStart counts a statement.
func (s *Steps) TraceQueryStart(ctx context.Context, conn *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	s.next(conn)
	return ctx
}

// TraceQueryEnd is nothing to it.
func (*Steps) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TraceCopyFromStart counts a COPY.
func (s *Steps) TraceCopyFromStart(ctx context.Context, conn *pgx.Conn, _ pgx.TraceCopyFromStartData) context.Context {
	s.next(conn)
	return ctx
}

// TraceCopyFromEnd is nothing to it.
func (*Steps) TraceCopyFromEnd(context.Context, *pgx.Conn, pgx.TraceCopyFromEndData) {}
