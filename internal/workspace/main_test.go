package workspace_test

import (
	"os"
	"testing"

	"github.com/perstack-go/perstack/internal/testkit/evil"
)

func TestMain(m *testing.M) {
	evil.SwapIfAsked()
	os.Exit(m.Run())
}
