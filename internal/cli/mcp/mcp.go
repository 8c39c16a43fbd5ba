// Package mcp is the command perstack mcp: what perstack offers to programs that speak
// the Model Context Protocol.
//
// Its only command so far is base, which serves the built-in tools over standard input
// and output, or over HTTP on this machine. Start reading at [New], then [Base].
package mcp

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/internal/cli/host"
)

// New returns the command with those below it. baseF, if set, is called instead of
// [Base].
func New(h *host.Host, baseF func(context.Context, *Options) error) *cobra.Command {
	return h.AddBelow(&cobra.Command{
		Use:   "mcp",
		Short: "Serve tools to any MCP client",
		Long: `Serve tools of perstack to any client of the Model Context Protocol (MCP), such as
editors, desktop assistants and other agents.`,
		Example: `  perstack mcp base --help`,
	}, newBase(h, baseF))
}
