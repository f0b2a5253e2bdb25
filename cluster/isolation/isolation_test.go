package isolation

import (
	"fmt"
	"net"
	"os"
	"testing"
)

// The test runs itself inside, where it is the program that Command starts.
func TestMain(m *testing.M) {
	if Inside() {
		if err := inside(); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("isolated")
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
	return nil
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

func TestDoors(t *testing.T) {
	doors, files, err := NewDoors("api", "registry")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 2 || doors["api"] == doors["registry"] || doors["api"] == 0 {
		t.Errorf("got doors %v and %d files", doors, len(files))
	}
	for _, f := range files {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}
