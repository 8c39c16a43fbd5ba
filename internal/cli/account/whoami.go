package account

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/credentials"
	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/terminal"
)

// WhoamiOptions are what whoami works with.
type WhoamiOptions struct {
	Host     *host.Host
	Registry string // name or address; empty for the default one
	JSON     bool
}

// NewWhoami returns the command. Tests hand in a runF to see the options.
func NewWhoami(h *host.Host, runF func(context.Context, *WhoamiOptions) error) *cobra.Command {
	opts := &WhoamiOptions{Host: h}
	if runF == nil {
		runF = whoami
	}
	cmd := &cobra.Command{
		Use:   "whoami [registry]",
		Short: "Show whose API key a registry gets",
		Long: `Ask a registry whose API key it gets from you: which organization it belongs to, what it
can do and until when. The registry is named as in your configuration, or by its address;
without one, it is the default registry.`,
		Example: `  perstack whoami
  perstack whoami acme
  perstack whoami https://registry.example.com --json`,
		Args:              one("whoami"),
		ValidArgsFunction: h.CompleteRegistry,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				opts.Registry = args[0]
			}
			return runF(cmd.Context(), opts)
		},
	}
	h.JSONErrors(cmd, &opts.JSON)
	return cmd
}

func whoami(ctx context.Context, opts *WhoamiOptions) (err error) {
	h := opts.Host
	s, err := open(h)
	if err != nil {
		return err
	}
	defer s.close(&err)
	d, err := s.choose(opts.Registry)
	if err != nil {
		return err
	}
	environment := ""
	if d.Default {
		environment = h.Getenv(credentials.Variable)
	}
	found, err := s.logins.Registry(ctx, d.Registry.URL, environment)
	if err != nil && !errors.Is(err, credentials.ErrNone) {
		return h.RegistryError(d, err)
	}
	c, err := s.registries.WithKey(d, found.Key)
	if err != nil {
		return &host.ExitError{Code: host.ExitUsage, Err: err}
	}
	h.Asking(d)
	who, err := c.Whoami(ctx)
	if err != nil {
		return h.RegistryError(d, err)
	}
	if opts.JSON {
		return host.WriteJSON(h.Stdout, struct {
			Registry     string             `json:"registry"`
			RegistryName string             `json:"registryName,omitzero"`
			From         credentials.Source `json:"from"`
			*api.Whoami
		}{d.Registry.URL, d.Registry.Name, found.From, who})
	}
	out := &strings.Builder{}
	fmt.Fprintf(out, "%s at %s\n", terminal.RevealLine(who.Organization.Name), d.Registry.URL)
	describeKey(out, &who.Key)
	fmt.Fprintf(out, "  from      %s\n", where(found.From))
	_, err = fmt.Fprint(h.Stdout, out)
	return err
}

func where(from credentials.Source) string {
	switch from {
	case credentials.FromEnvironment:
		return credentials.Variable
	case credentials.FromHelper:
		return "the keychain of a helper"
	}
	return credentials.FileName
}
