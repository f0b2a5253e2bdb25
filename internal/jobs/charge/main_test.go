package charge_test

import (
	"os"
	"testing"

	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
)

func TestMain(m *testing.M) { os.Exit(apitest.Main(m)) }
