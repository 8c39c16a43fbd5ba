package mcp

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/cli/host"
)

// checkNames refuses to pick or omit what does not exist: a slip would open or close
// something else than was meant.
func (o *Options) checkNames() error {
	check := func(flag string, list []string) error {
		for _, name := range list {
			if !slices.Contains(expert.BaseTools(), name) {
				return host.Usagef("%s: there is no tool named %q; the tools are: %s", flag, name, strings.Join(expert.BaseTools(), ", "))
			}
		}
		return nil
	}
	if err := check("--pick", o.Pick); err != nil {
		return err
	}
	return check("--omit", o.Omit)
}

// registerCompletions tells the shell what the flags take.
func registerCompletions(cmd *cobra.Command) {
	must(cmd.MarkFlagDirname("workspace"))
	must(cmd.MarkFlagDirname("storage"))
	must(cmd.MarkFlagFilename("env-path"))
	must(cmd.RegisterFlagCompletionFunc("max-workspace-bytes", cobra.NoFileCompletions))
	must(cmd.RegisterFlagCompletionFunc("pick", completeTools))
	must(cmd.RegisterFlagCompletionFunc("omit", completeTools))
}

// completeTools offers the tools for a list that may have some already.
func completeTools(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	before := typed[:strings.LastIndexByte(typed, ',')+1]
	var names []cobra.Completion
	for _, name := range expert.BaseTools() {
		if !slices.Contains(strings.Split(before, ","), name) {
			names = append(names, before+name)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveKeepOrder
}

// must stops a program that registers a completion for a flag it does not have.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
