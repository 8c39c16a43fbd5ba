package registry

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/server"
)

// An administration has what the commands below admin share. They work on the database, beside a server that
// runs or without one.
type administration struct {
	place *place
	json  bool
}

func newAdmin(p *place) *cobra.Command {
	a := &administration{place: p}
	cmd := &cobra.Command{
		Use:   "admin",
		Short: "Manage organizations, keys and misuse of a registry on this machine",
		Long: `Manage a registry with its files at hand: the commands work on the database, while
the server runs or while it does not. They need no key.`,
		Example: `  perstackd registry admin org create acme --type team
  perstackd registry admin key create acme --scopes read,publish --days 30
  perstackd registry admin key list acme`,
	}
	org := below(&cobra.Command{Use: "org", Short: "Manage organizations", Example: "  perstackd registry admin org create acme --type team"}, a.newOrgCreate(), a.newOrgList(), a.newOrgExempt())
	key := below(&cobra.Command{Use: "key", Short: "Manage API keys", Example: "  perstackd registry admin key create acme --role maintainer"}, a.newKeyCreate(), a.newKeyList(), a.newKeyRevoke())
	return below(cmd, org, key, a.newBindings(), a.newReports(), a.newQuarantine(), a.newRelease(), a.newUnpublish(), a.newTransfer(), newRotateLogKey(a.place), a.newAudit())
}

// below adds commands to one that does nothing by itself.
func below(cmd *cobra.Command, all ...*cobra.Command) *cobra.Command {
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return host.Usagef("unknown command %q; %s --help lists the commands", args[0], cmd.CommandPath())
		}
		cmd.SetOut(cmd.ErrOrStderr())
		if err := cmd.Help(); err != nil {
			return err
		}
		return host.Exit(host.ExitUsage)
	}
	cmd.AddCommand(all...)
	return cmd
}

// exactArgs asks for arguments by their names.
func exactArgs(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != len(names) {
			return host.Usagef("%s needs %s; see %s --help", cmd.CommandPath(), strings.Join(names, " and "), cmd.CommandPath())
		}
		return host.RefuseEmpty(cmd.Flags())
	}
}

// with opens the registry for a command.
func (p *place) with(ctx context.Context, do func(*site) error) error {
	return p.withOptions(ctx, siteOptions{}, do)
}

func (p *place) withOptions(ctx context.Context, opts siteOptions, do func(*site) error) (err error) {
	s, err := p.open(ctx, opts)
	if err != nil {
		return err
	}
	defer func() {
		if closed := s.Close(); err == nil {
			err = closed
		}
	}()
	return refusal(do(s))
}

// refusal makes what the registry refuses a matter of usage: nothing was changed.
func refusal(err error) error {
	answer, ok := errors.AsType[*server.Error](err)
	if !ok {
		return err
	}
	text := answer.Reason
	if answer.Hint != "" {
		text += "; " + answer.Hint
	}
	return host.Usagef("%s", text)
}

func (a *administration) addJSON(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().BoolVar(&a.json, "json", false, "print JSON")
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	return cmd
}

func (a *administration) newOrgCreate() *cobra.Command {
	kind := ""
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Add an organization",
		Long: `Add an organization. A team publishes under its scope, such as @acme/researcher. A
personal account publishes names without a scope.`,
		Example: "  perstackd registry admin org create acme --type team",
		Args:    exactArgs("the name of the organization"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.place.with(cmd.Context(), func(s *site) error {
				id, err := s.CreateOrganization(cmd.Context(), server.Operator(), args[0], kind)
				if err != nil {
					return err
				}
				if a.json {
					return host.WriteJSON(a.place.host.Stdout, api.Organization{ID: id, Name: args[0], Type: kind})
				}
				_, err = fmt.Fprintf(a.place.host.Stdout, "Added %s (%s).\n", args[0], kind)
				return err
			})
		},
	}
	cmd.Flags().StringVar(&kind, "type", server.Team, "personal, personalPlus, team or serviceAdmin, which manages the registry")
	return a.addJSON(cmd)
}

func (a *administration) newOrgList() *cobra.Command {
	return a.addJSON(&cobra.Command{
		Use:   "list",
		Short: "List the organizations",
		Example: `  perstackd registry admin org list
  perstackd registry admin org list --json`,
		Args: host.NoArgs("it lists all organizations"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.place.with(cmd.Context(), func(s *site) error {
				all, err := s.Organizations(cmd.Context(), server.Operator())
				if err != nil {
					return err
				}
				if a.json {
					return host.WriteJSON(a.place.host.Stdout, all)
				}
				return a.table("NAME\tTYPE\tID", func(row func(...string)) {
					for _, o := range all {
						row(o.Name, o.Type, o.ID)
					}
				})
			})
		},
	})
}

func (a *administration) newOrgExempt() *cobra.Command {
	end := false
	cmd := a.act("exempt NAME", "Let an organization publish any number of new names a day",
		`Let an organization publish any number of new names a day. The limit new-names-per-day
holds for all others.`,
		"the name of an organization", "Changed the limit of",
		func(ctx context.Context, s *site, name string) error {
			return s.ExemptNames(ctx, server.Operator(), name, !end)
		})
	cmd.Example = `  perstackd registry admin org exempt acme
  perstackd registry admin org exempt acme --end`
	cmd.Flags().BoolVar(&end, "end", false, "let the limit hold again")
	return cmd
}

// table prints rows in columns.
func (a *administration) table(head string, rows func(row func(...string))) error {
	w := tabwriter.NewWriter(a.place.host.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, head)
	rows(func(texts ...string) { fmt.Fprintln(w, strings.Join(texts, "\t")) })
	return w.Flush()
}
