package run

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/internal/cli/complete"
	"github.com/perstack-go/perstack/internal/env"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/store"
)

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

// completionStore is the history of the project, or nil if that cannot be found: the shell is
// then offered nothing.
func (o *Options) completionStore() store.Store {
	history, err := o.Host.History(o.Storage, o.Config, o.workspace())
	if err != nil {
		return nil
	}
	return o.store(history)
}

// completeSettings tells the shell what the flags of [Options.AddSettings] take.
func (o *Options) completeSettings(cmd *cobra.Command) {
	completions := map[string]cobra.CompletionFunc{
		"provider":         words(model.Providers()...),
		"runtime":          words(job.Local, job.Docker),
		"proxy":            words(job.ProxyBuiltin, job.ProxySquid),
		"reasoning-budget": words("none", "minimal", "low", "medium", "high"),
		"base-image":       words(), // nothing to offer, and files least of all
		"env":              o.completeEnv,
		"model": func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return complete.Models(o.Host, o.Config, o.Flags.Provider)
		},
	}
	for _, l := range job.AllLimits() {
		completions[l.Flag] = words()
	}
	register(cmd, completions, cmd.MarkFlagFilename("cassette", "toml"), cmd.MarkFlagDirname("workspace"), cmd.MarkFlagDirname("storage"))
}

// completeOwn tells the shell what the other flags of the command take.
func (o *Options) completeOwn(cmd *cobra.Command) {
	register(cmd, map[string]cobra.CompletionFunc{
		"output": words(outputJSON, outputText, outputProgress),
		"events": words(eventsFull, eventsLean),
		"resume-from": func(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if s := o.completionStore(); s != nil {
				return complete.Checkpoints(cmd, s, o.ContinueJob, o.Continue)
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		},
	})
}

func words(all ...cobra.Completion) cobra.CompletionFunc {
	return cobra.FixedCompletions(all, cobra.ShellCompDirectiveNoFileComp)
}

func register(cmd *cobra.Command, completions map[string]cobra.CompletionFunc, errs ...error) {
	for flag, completion := range completions {
		errs = append(errs, cmd.RegisterFlagCompletionFunc(flag, completion))
	}
	if err := errors.Join(errs...); err != nil {
		panic(err) // a flag does not exist
	}
}
