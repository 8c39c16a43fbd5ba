package registry

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/server"
	"github.com/perstack-go/perstack/internal/terminal"
)

func (a *administration) newKeyCreate() *cobra.Command {
	var asked api.CreateKey
	role := ""
	cmd := &cobra.Command{
		Use:   "create ORGANIZATION",
		Short: "Make an API key, which is printed once",
		Long: `Make an API key for an organization, and print it. The registry stores a hash of it:
it cannot be shown again.

A key has scopes: read, publish, tag, status, unpublish, audit and admin. --role names
several: owner has all, maintainer read, publish, tag and status, reader read, auditor
read and audit. A key with more than read is valid for 90 days at most.`,
		Example: `  perstackd registry admin key create acme --role maintainer
  perstackd registry admin key create acme --scopes publish --names '@acme/web*' --days 1
  perstackd registry admin key create acme --role reader --networks 192.0.2.0/24 --days 365`,
		Args: exactArgs("the name of an organization"),
		RunE: func(cmd *cobra.Command, args []string) error {
			asked.Organization = args[0]
			if err := setRole(cmd, &asked, role); err != nil {
				return err
			}
			return a.place.with(cmd.Context(), func(s *site) error {
				made, err := s.CreateKey(cmd.Context(), server.Operator(), asked)
				if err != nil {
					return err
				}
				if a.json {
					return host.WriteJSON(a.place.host.Stdout, made)
				}
				if _, err := fmt.Fprintln(a.place.host.Stdout, made.Token); err != nil {
					return err
				}
				_, err = fmt.Fprintf(a.place.host.Stderr, "Key %s of %s can %s until %s. It is shown only now.\n", made.Key.ID, args[0], strings.Join(made.Key.Scopes, ", "), day(made.Key.ExpiresAt))
				return err
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&role, "role", "maintainer", "owner, maintainer, reader or auditor")
	flags.StringSliceVar(&asked.Scopes, "scopes", nil, "scopes instead of a role, separated by commas")
	flags.StringSliceVar(&asked.Patterns, "names", nil, "names that the key is limited to, such as @acme/web*")
	flags.StringSliceVar(&asked.Networks, "networks", nil, "networks that the key can be used from, such as 192.0.2.0/24")
	flags.IntVar(&asked.Days, "days", 0, "days that the key is valid (default 7)")
	flags.StringVar(&asked.Name, "name", "", "what the key is for")
	return a.addJSON(cmd)
}

// setRole turns a role into scopes.
func setRole(cmd *cobra.Command, asked *api.CreateKey, role string) error {
	if cmd.Flags().Changed("scopes") {
		if cmd.Flags().Changed("role") {
			return host.Usagef("--role and --scopes exclude each other")
		}
		return nil
	}
	scopes, ok := server.Role(role)
	if !ok {
		return host.Usagef("--role must be owner, maintainer, reader or auditor, not %q", role)
	}
	for _, s := range scopes {
		asked.Scopes = append(asked.Scopes, string(s))
	}
	return nil
}

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

func (a *administration) newKeyList() *cobra.Command {
	return a.addJSON(&cobra.Command{
		Use:     "list ORGANIZATION",
		Short:   "List the keys of an organization that are valid",
		Example: "  perstackd registry admin key list acme",
		Args:    exactArgs("the name of an organization"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.place.with(cmd.Context(), func(s *site) error {
				all, err := s.Keys(cmd.Context(), server.Operator(), args[0])
				if err != nil {
					return err
				}
				if a.json {
					return host.WriteJSON(a.place.host.Stdout, all)
				}
				return a.table("ID\tSCOPES\tNAMES\tEXPIRES\tUSED\tFOR", func(row func(...string)) {
					for _, k := range all {
						used, names := "never", "all"
						if !k.UsedAt.IsZero() {
							used = day(k.UsedAt)
						}
						if len(k.Patterns) > 0 {
							names = strings.Join(k.Patterns, ",")
						}
						row(k.ID, strings.Join(k.Scopes, ","), names, day(k.ExpiresAt), used, terminal.CleanLine(k.Name))
					}
				})
			})
		},
	})
}

func (a *administration) newKeyRevoke() *cobra.Command {
	return a.addJSON(&cobra.Command{
		Use:     "revoke ID",
		Short:   "Make a key invalid, immediately",
		Example: "  perstackd registry admin key revoke mctbsukreq7t",
		Args:    exactArgs("the id of a key"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.place.with(cmd.Context(), func(s *site) error {
				if err := s.RevokeKey(cmd.Context(), server.Operator(), args[0]); err != nil {
					return err
				}
				if a.json {
					return host.WriteJSON(a.place.host.Stdout, map[string]string{"revoked": args[0]})
				}
				_, err := fmt.Fprintf(a.place.host.Stdout, "Revoked %s.\n", args[0])
				return err
			})
		},
	})
}
