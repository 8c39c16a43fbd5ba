package host

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/registry/client"
	"github.com/perstack-go/perstack/internal/registry/scopes"
	"github.com/perstack-go/perstack/internal/terminal"
)

// OwnRegistries are the registries of the user, whatever project this directory is in.
func (h *Host) OwnRegistries() (*Registries, error) { return h.Registries(nil, "") }

// ReadRegistries are the registries of a command that reads published Experts, and runs none: those of the
// user, and of the project. path is the flag --config; if it is empty, there need not be a project.
func (h *Host) ReadRegistries(ctx context.Context, path string) (*Registries, error) {
	if err := RefuseRemote(path); err != nil {
		return nil, err
	}
	if _, err := h.TrustedConfig(ctx, path, nil); err != nil {
		return nil, err
	}
	config, err := h.LoadConfig(path)
	if path == "" && errors.Is(err, manifest.ErrNotFound) {
		return h.OwnRegistries()
	}
	if err != nil {
		return nil, err
	}
	return h.Registries(config, "")
}

// ChooseRegistry is the registry that the user names, or the default one.
func (r *Registries) ChooseRegistry(text string) (scopes.Decision, error) {
	d, err := r.Choose(text)
	if err != nil {
		return d, &ExitError{Code: ExitUsage, Err: err}
	}
	return d, r.named(d)
}

// RegistryOf is the registry that an Expert comes from.
func (r *Registries) RegistryOf(key string) (scopes.Decision, error) {
	d, err := r.For(key)
	if err != nil {
		return d, &ExitError{Code: ExitUsage, Err: err}
	}
	return d, r.named(d)
}

// named refuses a registry that only the project names: no request is sent to it without the user's word.
func (r *Registries) named(d scopes.Decision) error {
	if !d.Asks {
		return nil
	}
	if d.From != scopes.Project || d.Default {
		return Usagef("only perstack.toml names the key of the log of %s; if it is right, name it in your own configuration", terminal.RevealLine(d.Registry.URL))
	}
	return Usagef("only perstack.toml names the registry %s; to use it, add --registry %s, or name it in your own configuration",
		terminal.RevealLine(d.Registry.URL), terminal.ShellJoin(d.Registry.URL))
}

// WithKey returns the client of a registry with a key that need not be stored.
func (r *Registries) WithKey(d scopes.Decision, key string) (*client.Client, error) {
	return r.client(d, key)
}

// CompleteRegistry completes the name of a registry as the first argument.
func (h *Host) CompleteRegistry(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return h.registryNames(), cobra.ShellCompDirectiveNoFileComp
}

func (h *Host) registryNames() []string {
	r, err := h.OwnRegistries()
	if err != nil {
		return nil // the command itself says what is wrong
	}
	return r.Names()
}

// AddRegistryFlag adds --registry, which names a registry.
func (h *Host) AddRegistryFlag(cmd *cobra.Command, to *string, usage string) {
	cmd.Flags().StringVar(to, "registry", "", usage)
	if err := cmd.RegisterFlagCompletionFunc("registry", func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return h.registryNames(), cobra.ShellCompDirectiveNoFileComp
	}); err != nil {
		panic(err) // the flag is defined above
	}
}

// Asking tells a user at a terminal that a registry is asked, which can take a while.
func (h *Host) Asking(d scopes.Decision) {
	if h.StderrIsTerminal {
		fmt.Fprintf(h.Stderr, "perstack: asking %s\n", terminal.CleanLine(d.Registry.URL))
	}
}
