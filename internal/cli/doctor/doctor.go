// Package doctor is the command that checks this machine and the project for what keeps perstack
// from working well, and says how to fix it.
//
// It changes nothing, and reaches nothing beyond this machine unless --online is given. It starts
// only programs that ask for a version, and processes of its own that try the sandbox. Start
// reading at [Options], then [New]; checks.go lists the checks.
package doctor

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/internal/sandbox/probe"
)

// Options are what the command works with.
type Options struct {
	Host       *host.Host
	Executable func() (string, error) // path of this program
	// Level tries the sandbox, without a cache; see [probe.Prober].
	Level func(context.Context) (expert.SandboxLevel, []probe.Step)
	// Patience is how long each check can take.
	Patience time.Duration

	JSON            bool
	Online          bool
	AppArmorProfile bool
}

// New returns the command. Tests hand in a runF to see the options.
func New(h *host.Host, runF func(context.Context, *Options) error) *cobra.Command {
	opts := &Options{Host: h, Executable: os.Executable, Level: probe.Prober{Complete: sandbox.Complete}.Level, Patience: patience}
	if runF == nil {
		runF = run
	}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check this machine and the project, and say how to fix problems",
		Long: `Check what perstack needs: the program itself, perstack.toml, model and key, files that
only you should read, the state directory, the sandbox with each step, Docker, the programs
that skills need, terminal and proxies. It also prints how much space the history and the
caches take, and how to free it.

Each check takes at most 2 seconds. Nothing is changed, and nothing beyond this machine is
reached; with --online, perstack connects to the host of the model as well.

Exit codes: 0 if no check fails, else 1. Warnings do not change it.

--json prints {version, ok, checks: [{id, title, status, detail, fix}]}; status is ok, warn,
fail or info. docs/doctor.md lists the checks.`,
		Example: `  perstack doctor
  perstack doctor --online
  perstack doctor --json | jq -r '.checks[] | select(.status == "fail") | .fix'
  perstack doctor --apparmor-profile | sudo tee /etc/apparmor.d/perstack`,
		Args:              host.NoArgs("it checks the project in this directory"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runF(cmd.Context(), opts)
		},
	}
	cmd.Flags().BoolVar(&opts.JSON, "json", false, "print the checks as JSON")
	cmd.Flags().BoolVar(&opts.Online, "online", false, "also connect to the host of the model")
	cmd.Flags().BoolVar(&opts.AppArmorProfile, "apparmor-profile", false, "print the AppArmor profile that Ubuntu 24.04 and later need for the sandbox, and check nothing")
	return cmd
}

// patience is that of users.
const patience = 2 * time.Second

func run(ctx context.Context, opts *Options) error {
	h := opts.Host
	if opts.AppArmorProfile {
		return opts.printProfile()
	}
	// The program starts others to ask for their versions, and to try the sandbox.
	x := newExamination(opts)
	defer x.close()
	p := &printer{w: io.Discard}
	if !opts.JSON {
		p.w = h.Plain(h.Stdout)
	}
	if err := p.begin(); err != nil { // before the first check, so that a person sees something
		return err
	}
	var all []Check
	for group := range conduct(ctx, x.tasks(), opts.Patience) {
		if ctx.Err() != nil {
			break // the user has stopped it, which says nothing about the machine
		}
		for _, c := range group {
			c = clean(h, c)
			all = append(all, c)
			if err := p.check(c); err != nil {
				return err
			}
		}
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	failed := count(all, Fail)
	if opts.JSON {
		if err := host.WriteJSON(h.Stdout, report{Version: 1, OK: failed == 0, Checks: all}); err != nil {
			return err
		}
	} else if err := p.end(failed, count(all, Warn)); err != nil {
		return err
	}
	if failed > 0 {
		return host.Exit(host.ExitFailure) // all has been said
	}
	return nil
}

// printProfile prints a profile that lets this program use user namespaces. It is unconfined in
// every other way.
func (o *Options) printProfile() error {
	path, err := o.Executable()
	if err != nil {
		return fmt.Errorf("the path of this program is not known: %w", err)
	}
	profile, err := apparmorProfile(path)
	if err != nil {
		return err
	}
	_, err = io.WriteString(o.Host.Stdout, profile)
	return err
}
