// Package outdated is the command that compares the published Experts of a project with their registries.
//
// It changes nothing. What it compares is verified as it is before a run. Start reading at [New].
package outdated

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/cli/published"
	"github.com/perstack-go/perstack/internal/lockfile"
	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/client"
	"github.com/perstack-go/perstack/internal/registry/resolve"
	"github.com/perstack-go/perstack/internal/terminal"
)

// Options are what the command works with.
type Options struct {
	Host  *host.Host
	Flags published.Flags
}

// New returns the command. Tests hand in a runF to see the options.
func New(h *host.Host, runF func(context.Context, *Options) error) *cobra.Command {
	opts := &Options{Host: h}
	if runF == nil {
		runF = run
	}
	cmd := &cobra.Command{
		Use:   "outdated",
		Short: "List published Experts that have newer versions",
		Long: `List the published Experts that perstack.toml delegates to and that have newer versions:
the version that perstack.lock or an earlier run has pinned, the one that the key means
now, and the latest one. A deprecated version is listed with the reason that its owner gives.

perstack update pins what the keys mean now. For the latest one, change the key in
perstack.toml if it names a version or a tag. Experts of container registries are not
compared.

Exit codes: 0 everything is up to date; 1 something is listed, or a registry could not be
reached; 2 wrong usage or configuration.`,
		Example: `  perstack outdated
  perstack outdated --json`,
		Args:              host.NoArgs("it looks at all Experts of the file that --config names"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := host.RefuseEmpty(cmd.Flags()); err != nil {
				return err
			}
			return runF(cmd.Context(), opts)
		},
	}
	opts.Flags.Add(h, cmd)
	return cmd
}

func run(ctx context.Context, opts *Options) error {
	rows, err := opts.compare(ctx)
	if err == nil {
		err = opts.print(rows)
	}
	if err == nil && len(rows) > 0 {
		err = host.Exit(host.ExitFailure) // all has been said
	}
	return err
}

// A row is an Expert that has a newer version.
type row struct {
	Key        string `json:"key"`             // as perstack.toml has it
	Pinned     string `json:"pinned,omitzero"` // version of perstack.lock, or of earlier runs
	Wanted     string `json:"wanted"`          // that the key means now
	Latest     string `json:"latest"`
	Status     string `json:"status"` // of the wanted one
	Message    string `json:"message,omitzero"`
	ReplacedBy string `json:"replacedBy,omitzero"`
	Registry   string `json:"registry"`
}

func (o *Options) compare(ctx context.Context) (rows []row, err error) {
	s, err := published.Open(ctx, o.Host, o.Flags.Config)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if s.Config == nil {
		_, err := o.Host.Locate(o.Flags.Config) // which says that there is none
		return nil, err
	}
	lock, err := lockfile.Read(s.Config)
	if err != nil {
		return nil, &host.ExitError{Code: host.ExitUsage, Err: err}
	}
	pins, err := o.Host.Pins(s.Config, o.Host.Dir, lock)
	if err != nil {
		return nil, err
	}
	rows = []row{}
	for _, key := range s.Config.Missing() {
		k, err := expert.ParseKey(key)
		if err != nil || !expert.ValidName(k.Name) {
			continue // of a container registry
		}
		one, err := compareOne(ctx, s, pins[key], key, k)
		if err != nil {
			return nil, err
		}
		if one.Pinned != one.Wanted && one.Pinned != "" || one.Wanted != one.Latest || one.Status != api.Available {
			rows = append(rows, one)
		}
	}
	return rows, nil
}

// compareOne asks the registry what a key means now, and which version is the latest.
func compareOne(ctx context.Context, s *published.Session, pin resolve.Pin, key string, k expert.Key) (row, error) {
	one := row{Key: key}
	r, err := s.Registry(ctx, key)
	if err != nil {
		return one, err
	}
	found, err := r.Client.Resolve(ctx, key)
	if err != nil {
		return one, r.Explain(err)
	}
	e := found.Experts[found.Keys[key]]
	one.Registry, one.Wanted, one.Status, one.Message, one.ReplacedBy = r.Client.URL(), e.Definition.Version, e.Status, e.Message, e.ReplacedBy
	one.Latest = one.Wanted
	newest, err := r.Client.Resolve(ctx, k.Name)
	switch {
	case err == nil:
		one.Latest = newest.Experts[newest.Keys[k.Name]].Definition.Version
	case client.KindOf(err) != client.NotFound: // there can be no version that floating keys get
		return one, r.Explain(err)
	}
	if p, err := expert.ParseKey(pin.Exact); err == nil { // there can be no pin
		one.Pinned = p.Version
	}
	return one, nil
}

func (o *Options) print(rows []row) error {
	if o.Flags.JSON {
		return host.WriteJSON(o.Host.Stdout, struct {
			Outdated []row `json:"outdated"`
		}{rows})
	}
	var text strings.Builder
	for _, r := range rows {
		fmt.Fprintf(&text, "%s\n  pinned %s, wanted %s, latest %s\n", r.Key, cmp.Or(r.Pinned, "(not pinned)"), r.Wanted, r.Latest)
		if r.Status != api.Available {
			why := r.Status
			if r.Message != "" {
				why += ": " + r.Message
			}
			if r.ReplacedBy != "" {
				why += "; its owner recommends " + r.ReplacedBy
			}
			fmt.Fprintf(&text, "  %s\n", terminal.CleanLine(why))
		}
	}
	if len(rows) == 0 {
		text.WriteString("All published Experts are up to date\n")
	}
	_, err := fmt.Fprint(o.Host.Stdout, text.String())
	return err
}
