//go:build !linux

package postgres

import (
	"testing"

	"github.com/perstack-go/perstack/internal/testkit"
)

// Start ends the test: PostgreSQL is tested on Linux.
func Start(t testing.TB) *Server {
	t.Helper()
	testkit.Missing(t, "postgresql")
	return nil
}
