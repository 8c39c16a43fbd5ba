//go:build root && linux

package egress

import (
	"io"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/cli/host"
)

// Squid as root would change its user, which it has no right to here.
func TestRootSquidIsRefused(t *testing.T) {
	err := Run(t.Context(), &Options{Host: &host.Host{Stdout: io.Discard, Stderr: io.Discard}, Squid: "squid", Listen: "127.0.0.1:3128", MaxConnections: 1})
	if err == nil || !strings.Contains(err.Error(), "does not work as root") || host.ExitCode(err) != host.ExitUsage {
		t.Errorf("ended with %v", err)
	}
}
