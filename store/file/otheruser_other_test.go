//go:build unix && !linux

package file

import (
	"os"
	"testing"

	"github.com/perstack-go/perstack/internal/testkit"
)

func asOtherUser(t *testing.T, f func()) {
	t.Helper()
	if os.Geteuid() == 0 {
		testkit.Missing(t, "a user who is not root")
	}
	f()
}

func giveAway(*testing.T, string) {}
