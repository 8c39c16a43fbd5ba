package account

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/credentials"
	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/client"
	"github.com/perstack-go/perstack/internal/registry/scopes"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/internal/wording"
)

// LoginOptions are what login works with.
type LoginOptions struct {
	Host *host.Host

	Registry string // name or address; empty for the default one
	Stdin    bool
	Helper   string // where to put the key; empty for the file
	List     bool
	JSON     bool
}

// NewLogin returns the command. Tests hand in a runF to see the options.
func NewLogin(h *host.Host, runF func(context.Context, *LoginOptions) error) *cobra.Command {
	opts := &LoginOptions{Host: h}
	if runF == nil {
		runF = login
	}
	cmd := &cobra.Command{
		Use:   "login [registry]",
		Short: "Store an API key for a registry",
		Long: `Store an API key for a registry, so that you can publish there. The registry is named as
in your configuration, or by its address; without one, it is the default registry.

The key is read from the terminal and not shown, or from standard input with --stdin. It
is never an argument: other users could see it. perstack asks the registry whose key it is,
and stores it if the registry accepts it. If the registry cannot be reached, the key is
stored with a warning.

The key is put into credentials.json in the directory of your configuration, which only
you can read, or with --helper into a keychain, by the program docker-credential-NAME. It
is sent to this registry only. File tools and sandboxes do not show the file; programs that
an Expert runs without a sandbox can read it. PERSTACK_API_KEY in the environment is
stronger than a login for the default registry.`,
		Example: `  perstack login
  perstack login https://registry.example.com
  perstack login acme --stdin < key.txt
  perstack login acme --helper secretservice
  perstack login --list`,
		Args:              one("login"),
		ValidArgsFunction: h.CompleteRegistry,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := errors.Join(h.RefuseInJob(cmd), host.RefuseEmpty(cmd.Flags())); err != nil {
				return err
			}
			if opts.List && (len(args) > 0 || opts.Stdin || opts.Helper != "") {
				return host.Usagef("--list stores nothing; give it without a registry, --stdin and --helper")
			}
			if len(args) > 0 {
				opts.Registry = args[0]
			}
			return runF(cmd.Context(), opts)
		},
	}
	cmd.Flags().BoolVar(&opts.Stdin, "stdin", false, "read the key from standard input")
	cmd.Flags().StringVar(&opts.Helper, "helper", "", "keep the key in a keychain, by the program docker-credential-NAME")
	cmd.Flags().BoolVar(&opts.List, "list", false, "list the logins, with the last four characters of their keys")
	h.JSONErrors(cmd, &opts.JSON)
	if err := cmd.RegisterFlagCompletionFunc("helper", cobra.FixedCompletions([]cobra.Completion{"osxkeychain", "pass", "secretservice", "wincred"}, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // the flag is defined above
	}
	return cmd
}

// A loggedIn is the result, for programs.
type loggedIn struct {
	Registry     string    `json:"registry"`
	RegistryName string    `json:"registryName,omitzero"` // in the user's configuration
	Organization string    `json:"organization,omitzero"`
	Key          string    `json:"key,omitzero"` // its public id
	Scopes       []string  `json:"scopes,omitempty"`
	ExpiresAt    time.Time `json:"expiresAt,omitzero"`
	Checked      bool      `json:"checked"` // the registry has accepted the key
	Stored       string    `json:"stored"`  // file or helper
	Location     string    `json:"location"`
	Configured   bool      `json:"configured"` // the user's configuration names the registry
	Warnings     []string  `json:"warnings,omitempty"`
}

func login(ctx context.Context, opts *LoginOptions) (err error) {
	h := opts.Host
	s, err := open(h)
	if err != nil {
		return err
	}
	defer s.close(&err)
	if opts.List {
		return s.list(opts.JSON)
	}
	d, err := s.choose(opts.Registry)
	if err != nil {
		return err
	}
	key, err := readKey(ctx, opts, d.Registry.URL)
	if err != nil {
		return err
	}
	h.Secrets.AddKey("login", key)
	result := loggedIn{Registry: d.Registry.URL, RegistryName: d.Registry.Name, Configured: d.Registry.Name != "", Stored: "file", Location: h.LoginPath()}
	who, err := s.check(ctx, d, key, &result)
	if err != nil {
		return err
	}
	keep := credentials.Login{Key: key, Helper: opts.Helper, Ends: who.Key.ExpiresAt, Account: account(who)}
	if err := s.logins.Login(ctx, d.Registry.URL, keep); err != nil {
		return &host.ExitError{Code: host.ExitUsage, Err: err}
	}
	if opts.Helper != "" {
		result.Stored, result.Location = "helper", "docker-credential-"+opts.Helper
	}
	if d.Default && h.Getenv(credentials.Variable) != "" {
		result.Warnings = append(result.Warnings, credentials.Variable+" is set, and is used instead of this login")
	}
	for _, warning := range result.Warnings {
		fmt.Fprintln(h.Stderr, "perstack: warning: "+terminal.CleanLine(warning))
	}
	if opts.JSON {
		return host.WriteJSON(h.Stdout, result)
	}
	_, err = io.WriteString(h.Stdout, result.describe(h.UserConfigPath(), who))
	return err
}

// account is whose key it is, as it is stored.
func account(who *api.Whoami) string {
	if name := who.Organization.Name; len(name) <= 255 && terminal.CleanLine(name) == name {
		return name
	}
	return ""
}

// maxInput bounds what is read from standard input: more than any key.
const maxInput = 64 << 10

// readKey reads the key, without showing it.
func readKey(ctx context.Context, opts *LoginOptions, address string) (string, error) {
	h := opts.Host
	if !opts.Stdin {
		switch {
		case opts.JSON:
			return "", host.Usagef("--json asks nothing; write the key to standard input, and add --stdin")
		case !h.CanAsk():
			return "", host.Usagef("there is no terminal to type the key on; write it to standard input, and add --stdin")
		}
		line, err := h.ReadHidden(ctx, "API key for "+terminal.CleanLine(address)+": ")
		return refuseNone(string(line), err)
	}
	if h.StdinIsTerminal {
		return "", host.Usagef("--stdin is for a pipe or a file; on a terminal, what you type would be shown; leave it out")
	}
	data, err := io.ReadAll(io.LimitReader(h.Stdin, maxInput+1))
	if err == nil && len(data) > maxInput {
		err = host.Usagef("standard input has more than %s, which is no key", wording.Bytes(maxInput))
	}
	return refuseNone(string(data), err)
}

func refuseNone(key string, err error) (string, error) {
	key = strings.TrimSpace(key)
	if err == nil && key == "" {
		err = host.Usagef("no key was given; nothing was changed")
	}
	return key, err
}

// serverFails is the first status that says nothing about the key.
const serverFails = 500

// check asks the registry whose key it is. If the registry cannot say, that is a warning.
func (s *session) check(ctx context.Context, d scopes.Decision, key string, result *loggedIn) (*api.Whoami, error) {
	c, err := s.registries.WithKey(d, key)
	if err != nil {
		return nil, &host.ExitError{Code: host.ExitUsage, Err: err}
	}
	s.host.Asking(d)
	who, err := c.Whoami(ctx)
	if err == nil {
		result.Checked, result.Organization, result.Key = true, who.Organization.Name, who.Key.ID
		result.Scopes, result.ExpiresAt = who.Key.Scopes, who.Key.ExpiresAt
		return who, nil
	}
	e, ok := errors.AsType[*client.Error](err)
	if !ok {
		return nil, err
	}
	switch {
	case e.Kind == client.Unauthorized:
		told := *e
		told.Hint = "the key was not stored; check that you copied all of it, and that it is for this registry"
		return nil, &host.ExitError{Code: host.ExitUsage, Err: &told}
	case e.Kind == client.Network, e.Kind == client.Timeout, e.Kind == client.RateLimited, e.Status >= serverFails:
		result.Warnings = append(result.Warnings, "the key was not checked: "+e.Error())
		return &api.Whoami{}, nil
	case e.Kind == client.Refused && e.Status == 0: // it has no version 2
		result.Warnings = append(result.Warnings, "the key was not checked: this registry cannot say whose key it is")
		return &api.Whoami{}, nil
	}
	return nil, s.host.RegistryError(d, err)
}

// describe writes the result for people.
func (r *loggedIn) describe(config string, who *api.Whoami) string {
	out := &strings.Builder{}
	if r.Checked {
		fmt.Fprintf(out, "Logged in to %s as %s\n", r.Registry, terminal.RevealLine(r.Organization))
		describeKey(out, &who.Key)
	} else {
		fmt.Fprintf(out, "Stored a key for %s, which was not checked\n", r.Registry)
	}
	if r.Stored == "file" {
		fmt.Fprintf(out, "The key is in %s, which only you can read. Programs that an Expert runs without a\nsandbox can read it, too. File tools and sandboxes do not show it.\n", terminal.CleanLine(r.Location))
	} else {
		fmt.Fprintf(out, "The key is in the keychain of %s. Programs that an Expert runs without a\nsandbox can ask it for the key.\n", terminal.CleanLine(r.Location))
	}
	if !r.Configured {
		fmt.Fprintf(out, "\nYour configuration does not name this registry, so no Experts come from it. To let those of a\nscope come from it, add to %s:\n\n", terminal.CleanLine(cmp.Or(config, "config.toml")))
		fmt.Fprintf(out, "  [registries.%s]\n  url = %q\n  scopes = [%q]\n", suggestName(r.Registry), r.Registry, suggestScope(&who.Organization))
	}
	return out.String()
}

// suggestName makes the name of a registry of its host.
func suggestName(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "mine"
	}
	name := strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
			return c
		}
		return '-'
	}, strings.ToLower(u.Hostname()))
	name = strings.Trim(wording.Cut(name, 60), "-")
	return cmp.Or(strings.TrimPrefix(name, "registry-"), "mine")
}

func suggestScope(o *api.Organization) string {
	for _, c := range o.Name {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return "@acme"
		}
	}
	return "@" + cmp.Or(o.Name, "acme")
}

// describeKey writes what a key can do.
func describeKey(out *strings.Builder, k *api.KeyInfo) {
	fmt.Fprintf(out, "  key       %s", terminal.RevealLine(k.ID))
	if k.Name != "" {
		fmt.Fprintf(out, " (%s)", terminal.RevealLine(k.Name))
	}
	fmt.Fprintf(out, "\n  can       %s\n", terminal.RevealLine(cmp.Or(strings.Join(k.Scopes, ", "), "nothing")))
	if len(k.Patterns) > 0 {
		fmt.Fprintf(out, "  names     %s\n", terminal.RevealLine(strings.Join(k.Patterns, ", ")))
	}
	if len(k.Networks) > 0 {
		fmt.Fprintf(out, "  networks  %s\n", terminal.RevealLine(strings.Join(k.Networks, ", ")))
	}
	if !k.ExpiresAt.IsZero() {
		fmt.Fprintf(out, "  until     %s\n", k.ExpiresAt.UTC().Format("2006-01-02 15:04 UTC"))
	}
}
