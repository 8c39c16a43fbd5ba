// Package registry is the command that checks registries from outside, as anybody can.
//
// Start reading at [New]; audit.go follows the log of a registry.
package registry

import (
	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/internal/cli/host"
)

// New returns the command, with those below it.
func New(h *host.Host) *cobra.Command {
	return h.AddBelow(&cobra.Command{
		Use:   "registry",
		Short: "Check a registry from outside",
		Long: `Check a registry from outside, as anybody can. To run a registry, use perstackd registry.

docs/registry-commands.md says more.`,
		Example: `  perstack registry audit https://registry.example.com
  perstack registry audit acme --scope @acme`,
	}, newAudit(h, nil))
}
