// Command function serves the composition function of package compose. The
// tests install it under the names of the three functions that it stands for, and
// render Compositions with it.
package main

import (
	"flag"
	"fmt"
	"os"

	function "github.com/crossplane/function-sdk-go"

	"github.com/provider-finops/provider-finops/cluster/function/compose"
)

func main() {
	address := flag.String("address", "127.0.0.1:9443", "listen on this `address`")
	certificates := flag.String("tls-certs-dir", os.Getenv("TLS_SERVER_CERTS_DIR"), "take tls.crt, tls.key and ca.crt from this `folder`, and speak only to who shows a certificate of that authority")
	insecure := flag.Bool("insecure", false, "speak to everybody, without TLS; for rendering offline")
	flag.Parse()

	err := function.Serve(compose.Function{},
		function.Listen("tcp", *address),
		function.MTLSCertificates(*certificates),
		function.Insecure(*insecure),
		function.WithMetricsServer("")) // It would listen on every address otherwise.
	fmt.Fprintf(os.Stderr, "function: %v\n", err)
	os.Exit(1)
}
