package run

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/internal/cli/complete"
	"github.com/perstack-go/perstack/internal/env"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/model"
)

// completeExpert offers the Experts of perstack.toml for the first argument.
func (o *Options) completeExpert(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return complete.Experts(o.Host, o.Config)
}

// completeModel offers the models of the provider that the flag before it names, or the
// file.
func (o *Options) completeModel(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return complete.Models(o.Host, o.Config, o.Flags.Provider)
}

func (o *Options) completeJob(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return complete.Jobs(cmd, o.history())
}

// completeCheckpoint offers the checkpoints of the job that is continued.
func (o *Options) completeCheckpoint(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return complete.Checkpoints(cmd, o.history(), o.ContinueJob, o.Continue)
}

// completeEnv offers the names of variables that commands may have, never their values.
func (o *Options) completeEnv(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var names []cobra.Completion
	for _, entry := range o.Host.Environ {
		name, value, _ := strings.Cut(entry, "=")
		if value != "" && isVariable(name) && !env.Protected(name) && !strings.HasPrefix(strings.ToUpper(name), "PERSTACK_") {
			names = append(names, name)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// registerCompletions tells the shell what the flags take.
func registerCompletions(cmd *cobra.Command, o *Options) {
	fixed := map[string][]cobra.Completion{
		"output":   {outputJSON, outputText, outputProgress},
		"events":   {eventsFull, eventsLean},
		"provider": model.Providers(),
		"runtime":  {job.Local, job.Docker},
		"proxy":    {job.ProxyBuiltin, job.ProxySquid},

		"reasoning-budget": {"none", "minimal", "low", "medium", "high"},
	}
	for flag, values := range fixed {
		must(cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)))
	}
	// A number, or the name of an image, has nothing to offer, and files least of all.
	must(cmd.RegisterFlagCompletionFunc("base-image", cobra.NoFileCompletions))
	for _, l := range job.AllLimits() {
		must(cmd.RegisterFlagCompletionFunc(l.Flag, cobra.NoFileCompletions))
	}
	must(cmd.RegisterFlagCompletionFunc("model", o.completeModel))
	must(cmd.RegisterFlagCompletionFunc("env", o.completeEnv))
	must(cmd.RegisterFlagCompletionFunc("continue-job", o.completeJob))
	must(cmd.RegisterFlagCompletionFunc("resume-from", o.completeCheckpoint))
	must(cmd.MarkFlagFilename("config", "toml"))
	must(cmd.MarkFlagFilename("cassette", "toml"))
	must(cmd.MarkFlagDirname("workspace"))
	must(cmd.MarkFlagDirname("storage"))
}

// must stops a program that registers a completion for a flag it does not have.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
