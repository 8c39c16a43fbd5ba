// Package search is the command that finds published Experts.
//
// What a registry lists is not proved, and the command says so: perstack view verifies an Expert. Start
// reading at [New].
package search

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

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
words, it lists all. The default registry and those of your configuration are asked, or
only the one that --registry names. A first word like @acme/ looks in the registry of that
scope only.

A list is what a registry says, without proof. "perstack view" verifies an Expert with
the log of its registry, and shows what it can do.

Exit codes: 0 all registries have answered; 1 one could not be reached; 2 wrong usage.`,
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
	h.AddRegistryFlag(cmd, &opts.Registry, "name or address of the registry (default: all of your configuration)")
	cmd.Flags().StringVar(&opts.Owner, "owner", "", "list the Experts of an organization only")
	cmd.Flags().IntVar(&opts.Limit, "limit", defaultLimit, "list so many Experts of a registry at most")
	host.AddLocalConfigFlag(cmd, &opts.Config)
	h.JSONErrors(cmd, &opts.JSON)
	for _, name := range []string{"owner", "limit"} {
		if err := cmd.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions); err != nil {
			panic(err) // the flags are defined above
		}
	}
	return cmd
}

// A hit is an Expert that a registry lists.
type hit struct {
	Registry string `json:"registry"`
	api.Summary
}

type list struct {
	Verified bool           `json:"verified"` // never: it is what the registries say
	Experts  []hit          `json:"experts"`
	More     bool           `json:"more"` // some registry has others
	Failed   []host.Failure `json:"failed,omitempty"`

	asked []string
}

func run(ctx context.Context, opts *Options) error {
	h := opts.Host
	r, err := h.ReadRegistries(ctx, opts.Config)
	if err != nil {
		return err
	}
	asked, err := opts.choose(r)
	if err != nil {
		return err
	}
	pages, errs := make([]list, len(asked)), make([]error, len(asked))
	var all sync.WaitGroup
	for i, d := range asked {
		h.Asking(d)
		all.Go(func() {
			pages[i], errs[i] = opts.search(ctx, r, d)
			errs[i] = h.RegistryError(d, errs[i])
		})
	}
	all.Wait()
	found := list{Experts: []hit{}}
	for i, page := range pages {
		if err := errs[i]; err != nil {
			found.Failed = append(found.Failed, host.FailureOf(err))
			continue
		}
		found.Experts, found.More, found.asked = append(found.Experts, page.Experts...), found.More || page.More, append(found.asked, asked[i].Registry.URL)
	}
	if len(found.asked) == 0 {
		return errors.Join(errs...)
	}
	if opts.JSON {
		err = host.WriteJSON(h.Stdout, found)
	} else {
		_, err = fmt.Fprint(h.Stdout, found.describe(opts.Text))
	}
	failed := errors.Join(errs...)
	if err != nil || failed == nil {
		return err
	}
	fmt.Fprintf(h.Stderr, "perstack: %s\n", host.Describe(failed))
	return host.Exit(host.ExitFailure) // all has been said
}

// search lists what one registry finds.
func (o *Options) search(ctx context.Context, r *host.Registries, d scopes.Decision) (found list, err error) {
	c, err := r.WithKey(d, "")
	if err != nil {
		return found, err
	}
	q := client.Query{Text: o.Text, Owner: o.Owner}
	for {
		q.Take = min(o.Limit-len(found.Experts), api.MaxTake)
		page, err := c.Search(ctx, q)
		if err != nil {
			return found, err
		}
		for _, e := range page.Experts[:min(len(page.Experts), q.Take)] {
			found.Experts = append(found.Experts, hit{c.URL(), e})
		}
		full := len(found.Experts) >= o.Limit
		found.More = page.Next != "" || len(page.Experts) > q.Take
		// A registry could send empty pages for ever.
		if full || page.Next == "" || len(page.Experts) == 0 || page.Next == q.After {
			return found, nil
		}
		q.After = page.Next
	}
}

// choose returns the registries to ask: the one that the user names, or that of the first word if it is a
// scope, or all that the user's own configuration has.
func (o *Options) choose(r *host.Registries) (all []scopes.Decision, err error) {
	if scope, _, ok := strings.Cut(o.Text, "/"); o.Registry == "" && ok && strings.HasPrefix(scope, "@") {
		d, err := r.RegistryOf(scope + "/any") // no other one: the name could be a private one
		return []scopes.Decision{d}, err
	}
	names := []string{o.Registry}
	if o.Registry == "" {
		names = r.Names()
	}
	for _, name := range names {
		d, err := r.ChooseRegistry(name)
		if err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	return all, nil
}

// say is the subject and the verb of what registries say.
func say(registries []string) string {
	if len(registries) == 1 {
		return registries[0] + " says,"
	}
	return wording.And(registries) + " say,"
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
		fmt.Fprintf(out, "  by %s", terminal.RevealLine(e.Owner))
		if len(l.asked) > 1 {
			fmt.Fprintf(out, " in %s", e.Registry)
		}
		fmt.Fprintln(out)
		if e.Description != "" {
			fmt.Fprintf(out, "  %s\n", terminal.RevealLine(wording.CutRunes(e.Description, 160, "...")))
		}
	}
	if len(l.Experts) == 0 {
		out.WriteString("No Experts")
		if text != "" {
			fmt.Fprintf(out, " for %s", terminal.Quote(text))
		}
		fmt.Fprintf(out, " in %s\n", wording.And(l.asked))
		return out.String()
	}
	if l.More {
		fmt.Fprintln(out, "\nThere are more; --limit lists more of them")
	}
	fmt.Fprintf(out, "\nThis is what %s without proof. To verify one: perstack view %s\n", say(l.asked), terminal.ShellJoin(l.Experts[0].Name))
	return out.String()
}
