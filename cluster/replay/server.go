package replay

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

const stopGrace = 2 * time.Second

// A Server is a handler on a loopback port.
type Server struct {
	URL string // With the prefix, if there is one.

	server *http.Server
	failed chan error
}

// Serve answers on the address, such as 127.0.0.1:0 for any free port.
func Serve(address string, h *Handler) (*Server, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("cannot listen for OpenCost's clients: %w", err)
	}
	s := &Server{
		URL:    "http://" + listener.Addr().String() + h.options.Prefix,
		server: &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second},
		failed: make(chan error, 1),
	}
	go func() {
		if err := s.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			s.failed <- fmt.Errorf("cannot go on serving OpenCost's answers: %w", err)
		}
	}()
	return s, nil
}

// Failed tells why the server can serve no longer.
func (s *Server) Failed() <-chan error { return s.failed }

// Stop lets answers that are being written end, within limits.
func (s *Server) Stop() {
	ctx, cancel := context.WithTimeout(context.Background(), stopGrace)
	defer cancel()
	if err := s.server.Shutdown(ctx); err != nil {
		_ = s.server.Close() // Whoever still reads has been warned.
	}
}
