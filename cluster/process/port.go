package process

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// The range that QuietPort draws from lies below the one that the kernel gives
// to outgoing connections.
const (
	firstQuiet = 20000
	quietPorts = 12000
)

// QuietPort returns a free loopback port for a server that stops and starts
// again: no connection takes it in between, as it might one of FreePorts.
func QuietPort() (int, error) {
	for range quietPorts {
		port := firstQuiet + rand.IntN(quietPorts)
		l, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			continue
		}
		if err := l.Close(); err != nil {
			return 0, fmt.Errorf("cannot give back port %d: %w", port, err)
		}
		return port, nil
	}
	return 0, fmt.Errorf("cannot find a free loopback port from %d to %d", firstQuiet, firstQuiet+quietPorts-1)
}

// FreePorts returns n different TCP ports that were free on the loopback
// interface a moment ago. Somebody may take one before its server does, so
// whoever starts a server has to be ready to try again.
func FreePorts(n int) ([]int, error) {
	ports := make([]int, 0, n)
	for range n {
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("cannot find a free loopback port: %w", err)
		}
		defer func() { _ = l.Close() }() // All stay open until the last is found, so no two are equal.
		_, port, err := net.SplitHostPort(l.Addr().String())
		if err != nil {
			return nil, fmt.Errorf("cannot read a loopback address: %w", err)
		}
		number, err := strconv.Atoi(port)
		if err != nil {
			return nil, fmt.Errorf("cannot read a loopback port: %w", err)
		}
		ports = append(ports, number)
	}
	return ports, nil
}
