// Package search is the command that finds published Experts.
//
// What a registry lists is not proved, and the command says so: perstack view verifies an Expert. Start
// reading at [New].
package search

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/client"
	"github.com/perstack-go/perstack/internal/registry/scopes"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/internal/wording"
)

// Options are what the command works with.
type Options struct {
	Host *host.Host

	Text     string
	Owner    string
	Registry string // name or address
	Config   string // path of perstack.toml, which can name registries
	Limit    int
	JSON     bool
}

// The bounds of a list.
const (
	defaultLimit = 20
	maxLimit     = 1000
)

// New returns the command. Tests hand in a runF to see the options.
func New(h *host.Host, runF func(context.Context, *Options) error) *cobra.Command {
	opts := &Options{Host: h}
	if runF == nil {
		runF = run
	}
	cmd := &cobra.Command{
		Use:   "search [word...]",
		Short: "Find published Experts",
		Long: `Find published Experts by words of their names, descriptions and keywords. Without
words, it lists all. A word like @acme/ looks in the registry of that scope; --registry
names another one than the default registry.

A list is what the registry says, without proof. "perstack view" verifies an Expert with
the log of the registry, and shows what it can do.`,
		Example: `  perstack search researcher
  perstack search web pages --limit 50
  perstack search --owner acme --registry acme
  perstack search researcher --json | jq -r '.experts[].name'`,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.Text = strings.Join(args, " ")
			err := host.RefuseEmpty(cmd.Flags())
			if err == nil && (opts.Limit < 1 || opts.Limit > maxLimit) {
				err = host.Usagef("--limit is %d, and must be from 1 to %d", opts.Limit, maxLimit)
			}
			if err != nil {
				return err
			}
			return runF(cmd.Context(), opts)
		},
	}
	h.AddRegistryFlag(cmd, &opts.Registry, "name or address of the registry (default: that of the scope, or the default registry)")
	cmd.Flags().StringVar(&opts.Owner, "owner", "", "list the Experts of an organization only")
	cmd.Flags().IntVar(&opts.Limit, "limit", defaultLimit, "list so many Experts at most")
	host.AddLocalConfigFlag(cmd, &opts.Config)
	h.JSONErrors(cmd, &opts.JSON)
	for _, name := range []string{"owner", "limit"} {
		if err := cmd.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions); err != nil {
			panic(err) // the flags are defined above
		}
	}
	return cmd
}

type list struct {
	Registry string        `json:"registry"`
	Verified bool          `json:"verified"` // never: it is what the registry says
	Experts  []api.Summary `json:"experts"`
	More     bool          `json:"more"` // the registry has others
}

func run(ctx context.Context, opts *Options) error {
	h := opts.Host
	r, err := h.ReadRegistries(ctx, opts.Config)
	if err != nil {
		return err
	}
	d, err := opts.choose(r)
	if err != nil {
		return err
	}
	c, err := r.WithKey(d, "")
	if err != nil {
		return h.RegistryError(d, err)
	}
	h.Asking(d)
	found := list{Registry: c.URL(), Experts: []api.Summary{}}
	q := client.Query{Text: opts.Text, Owner: opts.Owner}
	for {
		q.Take = min(opts.Limit-len(found.Experts), api.MaxTake)
		page, err := c.Search(ctx, q)
		if err != nil {
			return h.RegistryError(d, err)
		}
		found.Experts = append(found.Experts, page.Experts[:min(len(page.Experts), q.Take)]...)
		full := len(found.Experts) >= opts.Limit
		found.More = page.Next != "" || len(page.Experts) > q.Take
		// A registry could send empty pages for ever.
		if full || page.Next == "" || len(page.Experts) == 0 || page.Next == q.After {
			break
		}
		q.After = page.Next
	}
	if opts.JSON {
		return host.WriteJSON(h.Stdout, found)
	}
	_, err = fmt.Fprint(h.Stdout, found.describe(opts.Text))
	return err
}

// choose returns the registry to ask: that of the first word, if it is a scope.
func (o *Options) choose(r *host.Registries) (scopes.Decision, error) {
	if scope, _, ok := strings.Cut(o.Text, "/"); o.Registry == "" && ok && strings.HasPrefix(scope, "@") {
		return r.RegistryOf(scope + "/any") // no other one: the name could be a private one
	}
	return r.ChooseRegistry(o.Registry)
}

// describe writes the list for people.
func (l *list) describe(text string) string {
	out := &strings.Builder{}
	for i := range l.Experts {
		e := &l.Experts[i]
		fmt.Fprintf(out, "%s@%s", terminal.RevealLine(e.Name), terminal.RevealLine(e.Latest))
		if e.Status != api.Available && e.Status != "" {
			fmt.Fprintf(out, "  %s", terminal.RevealLine(e.Status))
		}
		fmt.Fprintf(out, "  by %s\n", terminal.RevealLine(e.Owner))
		if e.Description != "" {
			fmt.Fprintf(out, "  %s\n", terminal.RevealLine(wording.CutRunes(e.Description, 160, "...")))
		}
	}
	if len(l.Experts) == 0 {
		fmt.Fprintf(out, "%s has no Experts", l.Registry)
		if text != "" {
			fmt.Fprintf(out, " for %s", terminal.Quote(text))
		}
		fmt.Fprintln(out)
		return out.String()
	}
	if l.More {
		fmt.Fprintln(out, "\nThere are more; --limit lists more of them")
	}
	fmt.Fprintf(out, "\nThis is what %s says, without proof. To verify one: perstack view %s\n", l.Registry, terminal.ShellJoin(l.Experts[0].Name))
	return out.String()
}
