package process

import (
	"fmt"
	"net"
	"strconv"
)

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
		defer l.Close() // All stay open until the last is found, so no two are equal.
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
