package start

import (
	"os"
	"testing"

	"github.com/perstack-go/perstack/internal/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Init()
	os.Exit(m.Run())
}
