package landlock_test

import (
	"os"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/sandbox"
)

// The test program plays those who are locked in: with this as the beginning of its first
// argument it acts instead of testing.
const act = "act:"

func TestMain(m *testing.M) {
	sandbox.Init()
	if len(os.Args) > 1 && strings.HasPrefix(os.Args[1], act) {
		os.Exit(play(strings.TrimPrefix(os.Args[1], act), os.Args[2:]))
	}
	os.Exit(m.Run())
}
