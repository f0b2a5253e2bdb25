package charge_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
)

func TestMain(m *testing.M) {
	if dsn := os.Getenv(collectorVariable); dsn != "" {
		if err := collect(dsn); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(apitest.Main(m))
}
