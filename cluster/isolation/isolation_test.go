package isolation

import (
	"fmt"
	"io"
	"net"
	"os"
	"testing"
)

// The test runs itself inside, where it is the program that Command starts.
func TestMain(m *testing.M) {
	if Inside() {
		do := inside
		if os.Getenv(doorsVariable) != "" {
			do = greet
		}
		if err := do(); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// inside listens where a Service would be and everywhere, and connects.
func inside() error {
	if err := Open("10.96.0.1/24"); err != nil {
		return err
	}
	for _, address := range []string{"127.0.0.1", "10.96.0.1", "10.96.0.77"} {
		listener, err := net.Listen("tcp", ":8080")
		if err != nil {
			return err
		}
		connection, err := net.Dial("tcp", net.JoinHostPort(address, "8080"))
		if err != nil {
			return err
		}
		if err := connection.Close(); err != nil {
			return err
		}
		if err := listener.Close(); err != nil {
			return err
		}
	}
	if c, err := net.Dial("tcp", "192.0.2.1:80"); err == nil {
		return fmt.Errorf("there is a way out, to %s", c.RemoteAddr())
	}
	fmt.Println("isolated")
	return nil
}

// greet answers whoever comes in by the door, once.
func greet() error {
	if err := Open("10.96.0.1/24"); err != nil {
		return err
	}
	hall, err := EnterHall()
	if err != nil {
		return err
	}
	defer hall.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:8080")
	if err != nil {
		return err
	}
	fmt.Println(hall.Lead("greeting", "127.0.0.1:8080"))
	connection, err := listener.Accept()
	if err != nil {
		return err
	}
	if _, err := connection.Write([]byte("hello from inside")); err != nil {
		return err
	}
	if err := connection.(*net.TCPConn).CloseWrite(); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, connection) // Until whoever came has gone.
	return err
}

func TestIsolated(t *testing.T) {
	// Somebody on this machine has the port already.
	listener, err := net.Listen("tcp", "127.0.0.1:8080")
	if err == nil {
		defer func() { _ = listener.Close() }()
	}
	cmd, err := Command(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != "isolated\n" {
		t.Errorf("inside: %v\n%s", Explain(err), out)
	}
}

func TestOpenOutside(t *testing.T) {
	if err := Open("10.96.0.1/24"); err == nil {
		t.Error("The machine's own network was changed.")
	}
}

// What is answered inside is heard outside.
func TestDoors(t *testing.T) {
	cmd, err := Command(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := WithDoors(cmd, "greeting"); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(Explain(err))
	}
	var address string
	if _, err := fmt.Fscanln(out, &address); err != nil {
		t.Fatal(err)
	}
	connection, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	heard, err := io.ReadAll(connection)
	if err != nil || string(heard) != "hello from inside" {
		t.Errorf("heard %q, %v", heard, err)
	}
	if err := connection.Close(); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
