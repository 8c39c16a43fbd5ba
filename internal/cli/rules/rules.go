// Package rules is the command that shows which tool calls are allowed, asked about and denied: the
// presets and rules of all files, and the answers that are stored.
//
// It reads files, and changes nothing except for a grant that the user revokes. Start reading at
// [New].
package rules

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/internal/approval"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/providers"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/job"
)

// Options are what the command works with.
type Options struct {
	Host   *host.Host
	Config string
	JSON   bool
}

// New returns the command. Tests hand in a runF to see the options.
func New(h *host.Host, runF func(context.Context, *Options) error) *cobra.Command {
	opts := &Options{Host: h}
	if runF == nil {
		runF = run
	}
	cmd := &cobra.Command{
		Use:   "rules",
		Short: "Show which tool calls are allowed, asked about and denied",
		Long: `Show which tool calls are allowed, asked about and denied in a project: the presets and
rules of perstack.toml, of your own configuration and of the administrator of this
machine, and the answers that you let perstack remember.

All rules count, whatever file has them: deny is stronger than ask, and ask is stronger
than allow. If no rule matches, the strictest preset decides. docs/approvals.md says how
to write rules, and what they do not prevent.`,
		Example: `  perstack rules
  perstack rules --json
  perstack rules test -- exec git push origin main
  perstack rules revoke k3v9a2xq`,
		Args:              host.NoArgs("to see which rule decides about a call, use: perstack rules test"),
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return h.RefuseInJob(cmd) },

		RunE: func(cmd *cobra.Command, _ []string) error { return runF(cmd.Context(), opts) },
	}
	host.AddLocalConfigFlag(cmd, &opts.Config)
	cmd.Flags().BoolVar(&opts.JSON, "json", false, "print the list as JSON")
	cmd.AddCommand(newTest(h, nil), newRevoke(h, nil))
	return cmd
}

func run(_ context.Context, opts *Options) error {
	s, err := load(opts.Host, opts.Config)
	if err != nil {
		return err
	}
	for _, w := range s.warnings {
		fmt.Fprintln(opts.Host.Stderr, "perstack: "+terminal.Clean(w))
	}
	if opts.JSON {
		return host.WriteJSON(opts.Host.Stdout, s.list())
	}
	return s.print(opts.Host.Stdout)
}

// A state is everything that decides in a project.
type state struct {
	approvals job.Approvals
	files     map[job.Origin]string
	grants    *host.Grants
	refuses   string // file that refuses --allow-all
	warnings  []string
	dir       string // of the project
}

// load reads all files. The project need not have a perstack.toml.
func load(h *host.Host, config string) (*state, error) {
	if err := host.RefuseRemote(config); err != nil {
		return nil, err
	}
	c := &manifest.Config{Dir: h.Dir}
	if _, err := manifest.Locate(h.Dir, config); config != "" || !errors.Is(err, manifest.ErrNotFound) {
		var err error
		if c, err = h.LoadConfig(config); err != nil { // which prints its warnings
			return nil, err
		}
	}
	own, err := h.Own(c.Dir, h.Dir)
	if err != nil {
		return nil, err
	}
	s := &state{
		dir: c.Dir, refuses: own.NoAllowAll,
		files:     map[job.Origin]string{job.FromProject: c.Path, job.FromUser: h.UserConfigPath(), job.FromSystem: h.PolicyPath},
		approvals: job.Resolve(job.Flags{User: own.Settings}, c.Settings, job.Settings{}, providers.Catalogue{}).Approvals,
	}
	for _, w := range own.Warnings {
		s.warnings = append(s.warnings, w.String())
	}
	s.grants, err = h.Grants(c.Dir, h.Dir)
	return s, err
}

// A list is what --json prints.
type list struct {
	Format   int          `json:"format"` // 1
	Presets  []preset     `json:"presets"`
	Rules    []rule       `json:"rules"`
	Grants   []host.Grant `json:"grants"`
	AllowAll bool         `json:"allowAll"`        // whether a run can answer all questions with yes
	Timeout  int64        `json:"approvalTimeout"` // seconds
	Hints    []string     `json:"trustHints,omitempty"`
}

type preset struct {
	Preset job.Preset `json:"preset"`
	Origin job.Origin `json:"origin"`
	File   string     `json:"file"`
}

type rule struct {
	Number int        `json:"number"` // in its file
	Origin job.Origin `json:"origin"`
	File   string     `json:"file"`
	job.Rule
}

func (s *state) list() list {
	l := list{Format: 1, Presets: []preset{}, Rules: []rule{}, Grants: append([]host.Grant{}, s.grants.All...), AllowAll: s.refuses == "", Timeout: int64(s.approvals.Timeout.Seconds()), Hints: s.approvals.TrustHints}
	for _, source := range s.approvals.Sources {
		file := s.files[source.Origin]
		if source.Preset != "" {
			l.Presets = append(l.Presets, preset{source.Preset, source.Origin, file})
		}
		for i, r := range source.Rules {
			l.Rules = append(l.Rules, rule{i + 1, source.Origin, file, r})
		}
	}
	return l
}

// print writes the list for people.
func (s *state) print(w io.Writer) error {
	l, out := s.list(), &strings.Builder{}
	fmt.Fprintln(out, "Presets")
	for _, p := range l.Presets {
		fmt.Fprintf(out, "  %-9s  %s (%s)\n", p.Preset, p.Origin, terminal.CleanLine(p.File))
	}
	if len(l.Presets) == 0 {
		fmt.Fprintf(out, "  %-9s  default\n", job.PresetAuto)
	}
	fmt.Fprintln(out, "\nRules")
	for _, r := range l.Rules {
		line := fmt.Sprintf("  %-5s  %s  rule %d of the %s", r.Do, terminal.RevealLine(approval.Describe(r.Rule)), r.Number, r.Origin)
		if r.Why != "" {
			line += ": " + terminal.RevealLine(r.Why)
		}
		if r.Do == job.Allow && r.Origin == job.FromProject {
			line += ", with your consent"
		}
		fmt.Fprintln(out, line)
	}
	if len(l.Rules) == 0 {
		fmt.Fprintln(out, "  none")
	}
	fmt.Fprintln(out, "\nGrants")
	for _, g := range l.Grants {
		fmt.Fprintf(out, "  %s  %-7s  %s  given %s by an answer to job %s\n", terminal.RevealLine(g.ID), g.Scope, granted(g), g.When.Format(time.DateOnly), terminal.RevealLine(g.Job))
	}
	if len(l.Grants) == 0 {
		fmt.Fprintln(out, "  none")
	}
	if s.refuses != "" {
		fmt.Fprintf(out, "\n--allow-all is refused by %s\n", terminal.CleanLine(s.refuses))
	}
	_, err := io.WriteString(w, out.String())
	return err
}

func granted(g host.Grant) string {
	if g.Host+g.Path != "" {
		return terminal.RevealLine(fmt.Sprintf("Expert %s, programs of %s: leaving the sandbox for %s", g.Expert, g.Skill, g.Host+g.Path))
	}
	what := g.Args
	if len(g.Command) > 0 {
		what = strings.Join(g.Command, " ")
	}
	return terminal.RevealLine(fmt.Sprintf("Expert %s, %s of %s: %s", g.Expert, g.Tool, g.Skill, what))
}
