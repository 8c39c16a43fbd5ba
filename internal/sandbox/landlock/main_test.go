package landlock_test

import (
	"os"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/sandbox"
)

// The test program is also the confined program: if its first argument begins with this, it
// acts instead of testing.
const act = "act:"

func TestMain(m *testing.M) {
	sandbox.Init()
	if len(os.Args) > 1 && strings.HasPrefix(os.Args[1], act) {
		os.Exit(play(strings.TrimPrefix(os.Args[1], act), os.Args[2:]))
	}
	os.Exit(m.Run())
}
