package registry

import (
	"context"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/server"
	"github.com/perstack-go/perstack/internal/terminal"
)

// act is a command that does one thing to what its argument names, and says so.
func (a *administration) act(use, short, long, argument, did string, do func(ctx context.Context, s *site, what string) error) *cobra.Command {
	return a.addJSON(&cobra.Command{
		Use: use, Short: short, Long: long, Args: exactArgs(argument),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.place.with(cmd.Context(), func(s *site) error {
				if err := do(cmd.Context(), s, args[0]); err != nil {
					return err
				}
				if a.json {
					return host.WriteJSON(a.place.host.Stdout, map[string]string{"done": did, "object": args[0]})
				}
				_, err := fmt.Fprintf(a.place.host.Stdout, "%s %s.\n", did, terminal.CleanLine(args[0]))
				return err
			})
		},
	})
}

func (a *administration) newQuarantine() *cobra.Command {
	message := ""
	cmd := a.act("quarantine KEY", "Withhold the content of a version",
		`Withhold the content of a version. It is not resolved and not shown any more. Its leaves
stay in the log, which says that it was withheld.`,
		"the exact key of a version", "Withheld",
		func(ctx context.Context, s *site, key string) error {
			return s.Quarantine(ctx, server.Operator(), key, message)
		})
	cmd.Example = "  perstackd registry admin quarantine @acme/researcher@1.2.0 --message 'It leaks keys.'"
	cmd.Flags().StringVar(&message, "message", "", "why, for the users")
	return cmd
}

func (a *administration) newRelease() *cobra.Command {
	cmd := a.act("release KEY", "End the quarantine of a version", "", "the exact key of a version", "Released",
		func(ctx context.Context, s *site, key string) error { return s.Release(ctx, server.Operator(), key) })
	cmd.Example = "  perstackd registry admin release @acme/researcher@1.2.0"
	return cmd
}

func (a *administration) newUnpublish() *cobra.Command {
	force := false
	cmd := a.act("unpublish KEY", "Erase the content of a version, for legal reasons",
		`Erase the content of a version, at any time and even if others delegate to it. The
number stays taken, and the log says that the version was erased.`,
		"the exact key of a version", "Erased",
		func(ctx context.Context, s *site, key string) error {
			if !force {
				return host.Usagef("this erases %s for ever; add --force to do it", key)
			}
			return s.Unpublish(ctx, server.Operator(), key)
		})
	cmd.Example = "  perstackd registry admin unpublish @acme/researcher@1.2.0 --force"
	cmd.Flags().BoolVar(&force, "force", false, "do it")
	return cmd
}

func (a *administration) newTransfer() *cobra.Command {
	to := ""
	cmd := a.act("transfer NAME", "Give an Expert to another organization",
		`Give an Expert to another organization at once. Owners do that by themselves over the API: one
offers the Expert, and the other accepts it.`, "the name of an Expert", "Transferred",
		func(ctx context.Context, s *site, name string) error {
			if to == "" {
				return host.Usagef("name the organization that gets %s with --to", name)
			}
			_, err := s.Transfer(ctx, server.Operator(), name, to)
			return err
		})
	cmd.Example = "  perstackd registry admin transfer @acme/researcher --to example"
	cmd.Flags().StringVar(&to, "to", "", "organization that gets it")
	return cmd
}

func (a *administration) newReports() *cobra.Command {
	list := a.addJSON(&cobra.Command{
		Use: "list", Short: "List the open reports", Args: host.NoArgs("it lists all open reports"),
		Example: "  perstackd registry admin report list",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.place.with(cmd.Context(), func(s *site) error {
				all, err := s.Reports(cmd.Context(), server.Operator())
				if err != nil {
					return err
				}
				if a.json {
					return host.WriteJSON(a.place.host.Stdout, all)
				}
				return a.table("ID\tKEY\tDAY\tCONTACT\tREASON", func(row func(...string)) {
					for _, r := range all {
						row(r.ID, r.Key, day(r.At), terminal.CleanLine(r.Contact), terminal.CleanLine(r.Reason))
					}
				})
			})
		},
	})
	outcome := ""
	done := a.act("close ID", "Close a report", "", "the id of a report", "Closed",
		func(ctx context.Context, s *site, id string) error {
			return s.CloseReport(ctx, server.Operator(), id, outcome)
		})
	done.Example = "  perstackd registry admin report close r4kx --outcome 'The version was withheld.'"
	done.Flags().StringVar(&outcome, "outcome", "", "what came of it")
	return below(&cobra.Command{Use: "report", Short: "Read and close reports about Experts", Example: "  perstackd registry admin report list"}, list, done)
}

func (a *administration) newBindings() *cobra.Command {
	var asked api.Binding
	create := a.addJSON(&cobra.Command{
		Use: "create ORGANIZATION", Short: "Let the builds of a repository publish",
		Long: `Let the builds of a repository publish Experts whose names match a pattern, without a
stored key. The registry must accept tokens of the issuer (--issuer of perstackd
registry). The Experts need not exist yet.`,
		Example: `  perstackd registry admin binding create acme --issuer https://token.actions.githubusercontent.com \
    --repository 123456789 --workflow .github/workflows/release.yml --names '@acme/web*'`,
		Args: exactArgs("the name of an organization"),
		RunE: func(cmd *cobra.Command, args []string) error {
			asked.Organization = args[0]
			return a.place.with(cmd.Context(), func(s *site) error {
				made, err := s.CreateBinding(cmd.Context(), server.Operator(), asked)
				if err != nil {
					return err
				}
				if a.json {
					return host.WriteJSON(a.place.host.Stdout, made)
				}
				_, err = fmt.Fprintf(a.place.host.Stdout, "Builds of %s can publish %s (binding %s).\n", made.Repository, made.Pattern, made.ID)
				return err
			})
		},
	})
	flags := create.Flags()
	flags.StringVar(&asked.Issuer, "issuer", "", "address of the issuer, as its tokens have it")
	flags.StringVar(&asked.Repository, "repository", "", "id of the repository; of an issuer without ids, the subject of its tokens")
	flags.StringVar(&asked.Workflow, "workflow", "", "file of the workflow in the repository (default: any)")
	flags.StringVar(&asked.Environment, "environment", "", "environment of the build (default: any)")
	flags.StringVar(&asked.Pattern, "names", "", "names that can be published, such as @acme/web*")
	list := a.addJSON(&cobra.Command{
		Use: "list ORGANIZATION", Short: "List the bindings of an organization", Args: exactArgs("the name of an organization"),
		Example: "  perstackd registry admin binding list acme",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.place.with(cmd.Context(), func(s *site) error {
				all, err := s.Bindings(cmd.Context(), server.Operator(), args[0])
				if err != nil {
					return err
				}
				if a.json {
					return host.WriteJSON(a.place.host.Stdout, all)
				}
				return a.table("ID\tISSUER\tREPOSITORY\tWORKFLOW\tENVIRONMENT\tNAMES", func(row func(...string)) {
					for _, b := range all {
						row(b.ID, b.Issuer, b.Repository, b.Workflow, b.Environment, b.Pattern)
					}
				})
			})
		},
	})
	remove := a.act("remove ID", "End a binding", "", "the id of a binding", "Removed",
		func(ctx context.Context, s *site, id string) error {
			return s.RemoveBinding(ctx, server.Operator(), id)
		})
	remove.Example = "  perstackd registry admin binding remove b7wq"
	return below(&cobra.Command{Use: "binding", Short: "Let builds publish without a stored key", Example: "  perstackd registry admin binding list acme"}, create, list, remove)
}

func (a *administration) newAudit() *cobra.Command {
	since := ""
	cmd := &cobra.Command{
		Use: "audit", Short: "Print who did what, as lines of JSON", Args: host.NoArgs("it prints the whole audit trail"),
		Example: "  perstackd registry admin audit --since 2026-01-31",
		RunE: func(cmd *cobra.Command, _ []string) error {
			var from time.Time
			if since != "" {
				var err error
				if from, err = time.Parse(time.DateOnly, since); err != nil {
					return host.Usagef("--since must be a day, like 2026-01-31")
				}
			}
			return a.place.with(cmd.Context(), func(s *site) error {
				out := event.NewWriter(a.place.host.Stdout) // which escapes what would act on a terminal
				return s.AuditTrail(cmd.Context(), server.Operator(), from, func(e api.AuditEntry) error {
					line, err := json.Marshal(e, json.Deterministic(true))
					if err != nil {
						return err
					}
					return out.WriteLine(line)
				})
			})
		},
	}
	cmd.Flags().StringVar(&since, "since", "", "first day")
	return cmd
}
