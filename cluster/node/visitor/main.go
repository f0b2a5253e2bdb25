// Command visitor looks around in a pod, for the tests of the node: it fails
// unless it has what the product's pods rely on. Told to stay, it does so
// whatever it is told then.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

const account = "/var/run/secrets/kubernetes.io/serviceaccount/"

func main() {
	if os.Args[1] == "stay" {
		told := make(chan os.Signal, 1)
		signal.Notify(told, syscall.SIGTERM)
		fmt.Println("here to stay")
		for range told { // It hears, and stays.
		}
	}
	server := os.Args[1] // Beside the API server, as a database would be.
	if err := errors.Join(look(), ask(), connect(server)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("all is well")
}

// look sees as whom it runs and what it may write to.
func look() error {
	var failed error
	if id := os.Getuid(); id != 65532 {
		failed = fmt.Errorf("it runs as user %d", id)
	}
	if err := os.WriteFile("/somewhere", nil, 0o600); err == nil {
		failed = errors.Join(failed, errors.New("it can write to the image"))
	}
	return errors.Join(failed, os.WriteFile("/tmp/something", []byte("here"), 0o600))
}

// ask asks the API server who it is, with the token of its ServiceAccount.
func ask() error {
	authority, err := os.ReadFile(account + "ca.crt")
	if err != nil {
		return err
	}
	token, err := os.ReadFile(account + "token")
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	client := http.Client{
		Timeout:   time.Minute,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}},
	}
	host := net.JoinHostPort(os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT"))
	body := strings.NewReader(`{"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}`)
	request, err := http.NewRequest(http.MethodPost, "https://"+host+"/apis/authentication.k8s.io/v1/selfsubjectreviews", body)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+string(token))
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err == nil && !strings.Contains(string(text), "system:serviceaccount:default:default") {
		err = fmt.Errorf("the API server does not know it: %s", text)
	}
	return err
}

func connect(server string) error {
	connection, err := net.DialTimeout("tcp", server, time.Minute)
	if err != nil {
		return err
	}
	return connection.Close()
}
