package inside_test

import (
	"os"
	"testing"

	"github.com/perstack-go/perstack"
	"github.com/perstack-go/perstack/internal/runtimes/docker/inside"
)

func TestMain(m *testing.M) {
	perstack.Init()
	inside.RunForTests = perstack.Run
	os.Exit(m.Run())
}
