package account

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/credentials"
)

// LogoutOptions are what logout works with.
type LogoutOptions struct {
	Host     *host.Host
	Registry string // name or address; empty for the default one
	JSON     bool
}

// NewLogout returns the command. Tests hand in a runF to see the options.
func NewLogout(h *host.Host, runF func(context.Context, *LogoutOptions) error) *cobra.Command {
	opts := &LogoutOptions{Host: h}
	if runF == nil {
		runF = logout
	}
	cmd := &cobra.Command{
		Use:   "logout [registry]",
		Short: "Remove the stored API key of a registry",
		Long: `Remove the API key of a registry from credentials.json, or from the keychain that has
it. The registry is named as in your configuration, or by its address; without one, it is
the default registry.

The key stays valid at the registry. If somebody else can know it, revoke it there.`,
		Example: `  perstack logout
  perstack logout acme
  perstack login --list`,
		Args:              one("logout"),
		ValidArgsFunction: h.CompleteRegistry,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := h.RefuseInJob(cmd); err != nil {
				return err
			}
			if len(args) > 0 {
				opts.Registry = args[0]
			}
			return runF(cmd.Context(), opts)
		},
	}
	h.JSONErrors(cmd, &opts.JSON)
	return cmd
}

func logout(ctx context.Context, opts *LogoutOptions) (err error) {
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
	found, err := s.logins.Logout(ctx, d.Registry.URL)
	if err != nil {
		return fmt.Errorf("log out of %s: %w", d.Registry.URL, err)
	}
	if d.Default && h.Getenv(credentials.Variable) != "" {
		fmt.Fprintln(h.Stderr, "perstack: warning: "+credentials.Variable+" is set, and is still used for this registry")
	}
	if opts.JSON {
		return host.WriteJSON(h.Stdout, struct {
			Registry     string `json:"registry"`
			RegistryName string `json:"registryName,omitzero"`
			Removed      bool   `json:"removed"`
		}{d.Registry.URL, d.Registry.Name, found})
	}
	text := "Logged out of " + d.Registry.URL + "\nThe key is still valid at the registry; revoke it there if others can know it.\n"
	if !found {
		text = "There is no login for " + d.Registry.URL + "\n"
	}
	_, err = fmt.Fprint(h.Stdout, text)
	return err
}
