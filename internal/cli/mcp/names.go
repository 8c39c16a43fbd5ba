package mcp

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/skills/base/prompt"
	"github.com/perstack-go/perstack/skill"
)

// checkNames refuses unknown tools: with a typing error, the wrong tools would be served.
func (o *Options) checkNames() error {
	for i, list := range [][]string{o.Pick, o.Omit} {
		for _, name := range list {
			if !slices.Contains(prompt.Names(), name) {
				flag := []string{"--pick", "--omit"}[i]
				return host.Usagef("%s: there is no tool named %q; the tools are: %s", flag, name, strings.Join(prompt.Names(), ", "))
			}
		}
	}
	filter := skill.Filter{Pick: o.Pick, Omit: o.Omit}
	if !slices.ContainsFunc(prompt.Names(), filter.Allows) {
		return host.Usagef("--pick and --omit leave no tool to serve")
	}
	return nil
}

// registerCompletions tells the shell what the flags take.
func registerCompletions(cmd *cobra.Command) {
	err := errors.Join(
		cmd.MarkFlagDirname("workspace"),
		cmd.MarkFlagDirname("storage"),
		cmd.MarkFlagFilename("env-path"),
		cmd.MarkFlagFilename("token-file"),
		cmd.RegisterFlagCompletionFunc("port", cobra.NoFileCompletions),
		cmd.RegisterFlagCompletionFunc("max-workspace-bytes", cobra.NoFileCompletions),
		cmd.RegisterFlagCompletionFunc("pick", completeTools),
		cmd.RegisterFlagCompletionFunc("omit", completeTools),
	)
	if err != nil {
		panic(err) // a flag does not exist
	}
}

// completeTools offers the tools that are not in the list yet.
func completeTools(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	before := typed[:strings.LastIndexByte(typed, ',')+1]
	var names []cobra.Completion
	for _, name := range prompt.Names() {
		if !slices.Contains(strings.Split(before, ","), name) {
			names = append(names, before+name)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveKeepOrder
}
