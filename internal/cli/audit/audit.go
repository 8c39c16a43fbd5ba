// Package audit is the command that checks the security of perstack on this machine, or reviews
// an Expert, and reports what it found.
//
// It needs neither a model nor a network. The probes are in internal/audit/probes, the report in
// internal/audit, and the capability card in internal/cli/inspect. This package puts them
// together, and knows the rules that an Expert is reviewed by (review.go). Start reading at
// [Options].
package audit

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/internal/audit"
	"github.com/perstack-go/perstack/internal/cli/complete"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/cli/inspect"
	"github.com/perstack-go/perstack/internal/version"
	"github.com/perstack-go/perstack/internal/wording"
)

// Options are what the command works with.
type Options struct {
	Host *host.Host
	// SelfTest returns the promises with their probes. What they use is released by the function
	// that comes with them.
	SelfTest func(context.Context, *host.Host) ([]audit.Promise, func() error, error)
	// Versions returns what is audited, with the programs that perstack starts in a self-test.
	Versions func(ctx context.Context, h *host.Host, selfTest bool) []audit.Version

	Expert  string // empty for the self-test
	Config  string // path of the file; empty means to look for it
	EnvPath []string
	Report  string // directory
	Format  string
}

// The formats of what is printed.
const (
	formatText  = "text"
	formatJSON  = "json"
	formatSARIF = "sarif"
)

func formats() []string { return []string{formatText, formatJSON, formatSARIF} }

// New returns the command. Tests hand in a runF to see the options.
func New(h *host.Host, runF func(context.Context, *Options) error) *cobra.Command {
	opts := &Options{Host: h, SelfTest: selfTest, Versions: versions}
	if runF == nil {
		runF = run
	}
	cmd := &cobra.Command{
		Use:   "audit [expert]",
		Short: "Test what perstack promises on this machine, or review an Expert",
		Long: `Without an Expert, try to break every promise of SECURITY.md on this machine, with
hostile programs, files and servers that are part of perstack. Each promise is verified,
failed, or not available here, with the reason and the evidence. If you can use a Docker
daemon, containers are attacked, too; nothing is pulled, and they are removed afterwards.

With an Expert, print its capability card, for it and all Experts that it can reach, and
what is wrong with it: packages that are not pinned, wildcards, a secret together with
untrusted input and a way out, invisible characters, missing limits, no sandbox.
Nothing is started.

No model is asked, and no host outside of this machine is contacted.

--report writes the whole report to a directory, as Markdown and as JSON. It compares the
findings with the newest earlier report in that directory. Findings keep their ids.
docs/audit.md describes the report.

The exit code is 0 if no finding of severity High or above is open, 1 if there is one, and
2 for wrong usage.`,
		Example: `  perstack audit
  perstack audit writer
  perstack audit --report audits
  perstack audit writer --format sarif > writer.sarif`,
		Args: host.AtMost(1, func(args []string) error {
			return host.Usagef("expected at most one Expert, got %d arguments; call it as: perstack audit [expert]", len(args))
		}),
		ValidArgsFunction: complete.Expert(h, &opts.Config),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				opts.Expert = args[0]
			}
			if err := check(cmd, opts, len(args) == 1); err != nil {
				return err
			}
			return runF(cmd.Context(), opts)
		},
	}
	flags := cmd.Flags()
	host.AddConfigFlag(cmd, &opts.Config)
	h.AddRemoteYesFlag(cmd)
	flags.StringArrayVar(&opts.EnvPath, "env-path", nil, "env file to look for variables in; can be repeated (default: .env, .env.local)")
	flags.StringVar(&opts.Report, "report", "", "directory to write the report to, as Markdown and JSON")
	flags.StringVar(&opts.Format, "format", formatText, "what to print: text, json or sarif")
	for name, complete := range map[string]cobra.CompletionFunc{
		"format": cobra.FixedCompletions(formats(), cobra.ShellCompDirectiveNoFileComp),
		"report": func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
	} {
		if err := cmd.RegisterFlagCompletionFunc(name, complete); err != nil {
			panic(err) // the flags are defined above
		}
	}
	return cmd
}

// check refuses flags that would be ignored.
func check(cmd *cobra.Command, opts *Options, named bool) error {
	if err := host.RefuseEmpty(cmd.Flags()); err != nil {
		return err
	}
	if named && opts.Expert == "" {
		return host.Usagef("the name of the Expert is empty; call it as: perstack audit [expert]")
	}
	if !slices.Contains(formats(), opts.Format) {
		return host.Usagef("--format %q is not known; %s", opts.Format, "use "+wording.Or(formats()))
	}
	for _, name := range []string{"config", "env-path"} {
		if !named && cmd.Flags().Changed(name) {
			return host.Usagef("--%s is for the review of an Expert; name one: perstack audit <expert>", name)
		}
	}
	return nil
}

func run(ctx context.Context, opts *Options) error {
	h := opts.Host
	in := audit.Input{Time: h.Source.Now()}
	review := examine
	if opts.Expert == "" {
		review = attack
	}
	if err := review(ctx, opts, &in); err != nil {
		return err
	}
	if opts.Report != "" {
		earlier, err := audit.FindEarlier(h.Path(opts.Report), in.Time, in.Subject)
		if err != nil {
			return &host.ExitError{Code: host.ExitUsage, Err: err}
		}
		in.Earlier = earlier
	}
	report := audit.NewReport(in)
	if err := show(opts, report); err != nil {
		return err
	}
	if opts.Report != "" {
		if err := save(h, h.Path(opts.Report), in.Time, report); err != nil {
			return err
		}
	}
	if len(report.Serious()) > 0 {
		return host.Exit(host.ExitFailure)
	}
	return nil
}

// attack runs the self-test.
func attack(ctx context.Context, opts *Options, in *audit.Input) (err error) {
	h := opts.Host
	progress := progress{to: h.Stderr, live: h.StderrIsTerminal}
	progress.show("looking at this machine")
	defer progress.clear()
	in.Versions = opts.Versions(ctx, h, true)
	promises, release, err := opts.SelfTest(ctx, h)
	if err != nil {
		return err
	}
	defer func() {
		if failed := release(); err == nil {
			err = failed
		}
	}()
	in.Claims, err = audit.Run(ctx, promises, audit.Options{Progress: progress.tell})
	if err != nil {
		return err
	}
	in.Findings = audit.Findings(promises, in.Claims, version.Number)
	return nil
}

// progress shows how far the self-test is: one line that is replaced, on a terminal only.
type progress struct {
	to   io.Writer
	live bool
}

func (p progress) tell(done, of int, testing []string) {
	text := fmt.Sprintf("%d of %d promises tested", done, of)
	if len(testing) > 0 {
		text += "; testing " + wording.And(testing)
	}
	p.show(text)
}

func (p progress) show(text string) {
	if p.live {
		fmt.Fprint(p.to, "\r\x1b[K"+text)
	}
}

func (p progress) clear() {
	if p.live {
		fmt.Fprint(p.to, "\r\x1b[K")
	}
}

// examine reviews an Expert.
func examine(ctx context.Context, opts *Options, in *audit.Input) error {
	card, config, err := inspect.Read(ctx, &inspect.Options{Host: opts.Host, Expert: opts.Expert, Config: opts.Config, EnvPath: opts.EnvPath})
	if err != nil {
		return err
	}
	in.Versions = opts.Versions(ctx, opts.Host, false)
	in.Subject = audit.Subject{Expert: card.Expert, Config: config.Name()}
	in.Card = card.Print(opts.Host)
	in.Findings = review(card, config)
	return nil
}

func show(opts *Options, r *audit.Report) error {
	h := opts.Host
	var out bytes.Buffer
	var err error
	switch opts.Format {
	case formatJSON:
		err = host.WriteJSON(&out, r)
	case formatSARIF:
		err = host.WriteJSON(&out, r.Sarif(version.Number))
	default:
		out.WriteString(r.Text())
	}
	if err != nil {
		return err
	}
	_, err = io.WriteString(h.Stdout, h.Secrets.Redact(out.String()))
	return err
}
