// Package keys is the command that lists the SSH keys of the user with which Experts can be signed.
//
// It reads public keys, and asks the agent for its list. It reads no private key and changes nothing.
// Start reading at [New].
package keys

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/registry/signature"
	"github.com/perstack-go/perstack/internal/terminal"
)

// Options are what the command works with.
type Options struct {
	Host *host.Host
	JSON bool
}

// New returns the command. Tests hand in a runF to see the options.
func New(h *host.Host, runF func(context.Context, *Options) error) *cobra.Command {
	opts := &Options{Host: h}
	if runF == nil {
		runF = run
	}
	cmd := &cobra.Command{
		Use:   "keys",
		Short: "List the SSH keys that can sign Experts",
		Long: `List your SSH keys with which a published Expert can be signed: those that your SSH
agent holds (SSH_AUTH_SOCK), those in ~/.ssh, and those on a hardware key, which the agent
uses. A key that cannot sign is listed with the reason. The list says which key
"perstack publish --sign" takes if you name none.

The line of a key is what others put into "require" of their own configuration, to accept
only Experts that this key signed. docs/registry-commands.md says more.`,
		Example: `  perstack keys
  perstack keys --json | jq -r '.keys[] | select(.usable) | .line'
  ssh-add -K                 # let the agent use the keys on a hardware key`,
		Args:              host.NoArgs("it lists all keys"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return runF(cmd.Context(), opts) },
	}
	h.JSONErrors(cmd, &opts.JSON)
	return cmd
}

// A key is one of the list, for programs.
type key struct {
	Type        string `json:"type"`
	Fingerprint string `json:"fingerprint"`
	Comment     string `json:"comment,omitzero"`
	Line        string `json:"line"`
	Agent       bool   `json:"agent"`
	Hardware    bool   `json:"hardware"`
	Path        string `json:"path,omitzero"` // of the private key
	Usable      bool   `json:"usable"`
	Problem     string `json:"problem,omitzero"`
}

type list struct {
	Keys    []key  `json:"keys"`
	Signer  string `json:"signer,omitzero"`  // fingerprint of the key that publish --sign takes without a name
	Problem string `json:"problem,omitzero"` // why the list can be incomplete
}

func run(ctx context.Context, opts *Options) error {
	h := opts.Host
	keys := h.SigningKeys()
	found, err := keys.List(ctx)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if len(found) == 0 && err != nil {
		return err
	}
	if opts.JSON {
		all := list{Keys: []key{}}
		for _, k := range found {
			all.Keys = append(all.Keys, key{k.Kind, k.Fingerprint, k.Comment, k.Line, k.Agent, k.Hardware, k.Path, k.Problem == "", k.Problem})
		}
		if usable := usableOf(found); len(usable) == 1 {
			all.Signer = usable[0].Fingerprint
		}
		if err != nil {
			all.Problem = err.Error()
		}
		return host.WriteJSON(h.Stdout, all)
	}
	if err != nil {
		fmt.Fprintln(h.Stderr, "perstack: warning: "+terminal.CleanLine(err.Error()))
	}
	_, err = fmt.Fprint(h.Stdout, describe(found, h.UserConfigPath()))
	return err
}

// describe writes the list for people.
func describe(found []signature.Key, config string) string {
	out := &strings.Builder{}
	for _, k := range found {
		var where []string
		if k.Agent {
			where = append(where, "in the agent")
		}
		if k.Hardware {
			where = append(where, "on a device")
		}
		if k.Path != "" {
			where = append(where, terminal.CleanLine(k.Path))
		}
		fmt.Fprintf(out, "%s  %s  %s\n", k.Fingerprint, strings.Join(where, ", "), terminal.RevealLine(k.Comment))
		if k.Problem != "" {
			fmt.Fprintf(out, "  cannot sign: %s\n", terminal.CleanLine(k.Problem))
			continue
		}
		fmt.Fprintf(out, "  %s\n", k.Line)
	}
	usable := usableOf(found)
	if len(usable) == 0 {
		fmt.Fprintln(out, terminal.CleanLine(upperFirst(signature.ErrNoKey)))
		return out.String()
	}
	line := "ssh-ed25519 AAAA..."
	if first := usable[0]; len(usable) == 1 {
		line = first.Line
		fmt.Fprintf(out, "\nperstack publish --sign takes %s, the only key that can sign.\n", first.Fingerprint)
	} else {
		fmt.Fprintf(out, "\nSeveral keys can sign, so name one: perstack publish --sign=%s\n", first.Fingerprint)
	}
	fmt.Fprint(out, "\nTo accept only Experts of @acme that a key signed, others add its line to their own configuration")
	if config != "" {
		fmt.Fprintf(out, "\n(yours is %s)", terminal.CleanLine(config))
	}
	fmt.Fprintf(out, ":\n\n  [scopes.\"@acme\"]\n  require = [%q]\n", line)
	return out.String()
}

// usableOf are the keys that can sign.
func usableOf(found []signature.Key) (usable []signature.Key) {
	for _, k := range found {
		if k.Problem == "" {
			usable = append(usable, k)
		}
	}
	return usable
}

func upperFirst(err error) string {
	text := err.Error()
	return strings.ToUpper(text[:1]) + text[1:]
}
