package egress

import (
	"os"
	"testing"

	"github.com/perstack-go/perstack/internal/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Init() // Squid is started by it
	os.Exit(m.Run())
}
