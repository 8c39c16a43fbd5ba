package run

import (
	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/cli/complete"
	"github.com/perstack-go/perstack/internal/cli/host"
)

// AddSettings adds the flags that say how a job runs. Those about the query, the job and the output
// belong to the command.
func (o *Options) AddSettings(cmd *cobra.Command) {
	flags, h := cmd.Flags(), o.Host
	is := &o.Flags.Isolation
	box := &is.Container
	host.AddConfigFlag(cmd, &o.Config)
	h.AddYesFlag(cmd)
	flags.StringArrayVar(&o.EnvPath, "env-path", nil, "env file to read; can be repeated (default: .env, .env.local)")
	flags.StringVar(&o.Workspace, "workspace", "", "directory that the file tools work in (default: the current one)")
	flags.BoolVar(&o.MoveWorkspace, "move-workspace", false, "let a continued job work in another directory, which --workspace names")
	flags.StringVar(&o.Storage, "storage", "", "directory of the history (default: $PERSTACK_STORAGE_PATH, else outside of the project; docs/journal.md)")
	flags.StringVar(&o.Flags.Provider, "provider", "", "provider of Experts that name none (default: from perstack.toml, else the continued job's, else anthropic)")
	flags.StringVar(&o.Flags.Model, "model", "", "model of Experts that name none (default: from perstack.toml, else the continued job's, else the provider's)")
	flags.StringVar(&o.reasoning, "reasoning-budget", "", "none, minimal, low, medium, high or a number of tokens (default: low)")
	flags.StringVar(&o.Flags.Runtime, "runtime", "", "where the Expert runs: local or docker (default: from perstack.toml, else local)")
	flags.BoolVar(&box.ReadOnlyWorkspace, "read-only-workspace", false, "make the workspace read-only, with --runtime docker")
	flags.StringArrayVar(&is.Env, "env", nil, "name of a variable of the environment or of an env file to pass to commands, with --runtime docker; can be repeated")
	flags.StringVar(&box.BaseImage, "base-image", "", "image with programs for commands, with --runtime docker (default: from perstack.toml, else none)")
	flags.BoolVar(&box.Offline, "offline", false, "do not fetch images or packages, with --runtime docker")
	flags.BoolVar(&is.SharedSandbox, "shared-sandbox", false, "use one sandbox for all skills, with --runtime docker; a continued job does not keep this")
	flags.StringVar(&box.Proxy, "proxy", "", "proxy of the container: builtin, or squid, whose image perstack.toml names (default: builtin)")
	host.AddSandboxFlag(cmd, &is.Sandbox, "least level of the sandboxes of skills and commands, with --runtime local")
	host.AddReachFlags(cmd, &is.Reach)
	host.AddDomainFlag(cmd, &is.Reach)
	flags.BoolVar(&o.Flags.Approvals.Plan, "plan", false, "only plan, and change nothing until you accept the plan")
	flags.BoolVar(&o.Flags.Approvals.AllowAll, "allow-all", false, "allow every tool call that would be asked about; rules that deny still hold")
	flags.StringVar(&o.Flags.Setting.Cassette, "cassette", "", "file with prepared answers, with --provider replay")
	host.AddLimits(flags, &o.Flags.Limits)
	flags.BoolVar(&o.Verbose, "verbose", false, "print the debug log, skill output and retries to standard error")
	o.completeSettings(cmd)
}

// AddJob adds the flags that say which job is continued. [Options.FindJob] finds it.
func (o *Options) AddJob(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&o.Continue, "continue", false, "continue the newest job")
	flags.StringVar(&o.ContinueJob, "continue-job", "", "continue this job")
	flags.BoolVar(&o.TrustHistory, "trust-history", false, "continue a job that is not sealed by your key: everything that it records is believed")
	register(cmd, map[string]cobra.CompletionFunc{
		"continue-job": func(cmd *cobra.Command, _ []string, start string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if s := o.completionStore(); s != nil {
				return complete.Jobs(cmd, s, start)
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		},
	})
}

// ReadSettings takes what was given with the flags of [Options.AddSettings].
func (o *Options) ReadSettings(cmd *cobra.Command) error {
	is := &o.Flags.Isolation
	if err := host.CheckSandbox(cmd.Flags(), is.Sandbox); err != nil {
		return err
	}
	if err := host.RefuseEmpty(cmd.Flags()); err != nil {
		return err
	}
	if err := o.Host.CheckReach(&is.Reach); err != nil {
		return err
	}
	if o.Flags.Approvals.AllowAll {
		if err := o.Host.RefuseInJob(cmd, "--allow-all"); err != nil {
			return err
		}
	}
	o.Flags.WritableWorkspace = cmd.Flags().Changed("read-only-workspace") && !is.Container.ReadOnlyWorkspace
	if o.reasoning != "" {
		var err error
		if o.Flags.Reasoning, err = expert.ParseReasoningBudget(o.reasoning); err != nil {
			return host.Usagef("--reasoning-budget: %w", err)
		}
	}
	if path := o.Flags.Setting.Cassette; path != "" {
		o.Flags.Setting.Cassette = o.Host.Path(path)
	}
	return nil
}
