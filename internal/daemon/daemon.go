// Package daemon is the command line of perstackd, the program for servers.
//
// [Main] is the whole program as a function, as package cli has it for perstack. What it serves is in
// packages of its own; start reading there, then at package daemon/registry.
package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/daemon/registry"
	"github.com/perstack-go/perstack/internal/daemon/witness"
	"github.com/perstack-go/perstack/internal/process"
	"github.com/perstack-go/perstack/internal/version"
	"github.com/perstack-go/perstack/internal/wording"
)

// Main runs perstackd with args and returns its exit code.
func Main(ctx context.Context, h *host.Host, args []string) int {
	h.Command = "perstackd"
	h.GuardStdout()
	// What stops says so in its log; the message of perstack is about its jobs.
	ctx, stop := process.Interruptible(ctx, io.Discard, func() bool { return true })
	defer stop()
	root := newRoot(h)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if s, ok := errors.AsType[process.Signal](context.Cause(ctx)); ok && (err == nil || errors.Is(err, context.Canceled)) {
		return s.ExitCode()
	}
	if message := host.Describe(err); message != "" {
		fmt.Fprintln(h.Stderr, "perstackd: "+message)
	}
	return host.ExitCode(err)
}

func newRoot(h *host.Host) *cobra.Command {
	root := &cobra.Command{
		Use:   "perstackd",
		Short: "Serve a registry of Experts, or a witness of one",
		Long: `perstackd is the program for servers. perstackd registry serves a registry: it stores
published Experts, and proves to its clients that it never changes them. perstackd witness
signs that it saw the log of a registry of others, and one history of it only.`,
		Example: `  perstackd registry                        serve on this machine, with SQLite
  perstackd registry admin org create acme --type team
  perstackd registry verify                 compute every digest and the whole log again`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			if asked, _ := cmd.Flags().GetBool("version"); asked {
				_, err := fmt.Fprintln(h.Stdout, version.String())
				return err
			}
			return h.HelpInstead(cmd)
		},
	}
	root.SetIn(h.Stdin)
	root.SetOut(h.Stdout)
	root.SetErr(h.Stderr)
	root.Flags().BoolP("version", "V", false, "print the version")
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(registry.New(h), witness.New(h))
	return root
}

func unknownCommand(root *cobra.Command, name string) error {
	var names []string
	for _, c := range root.Commands() {
		names = append(names, c.Name())
	}
	hint := root.CommandPath() + " --help lists the commands"
	if near := wording.Nearest(name, names); near != "" {
		hint = "did you mean " + near + "?"
	}
	return host.Usagef("unknown command %q; %s", name, hint)
}

// flagError gives errors about flags their exit code and a way out.
func flagError(cmd *cobra.Command, err error) error {
	if _, ok := errors.AsType[*host.ExitError](err); ok {
		return err
	}
	hint := cmd.CommandPath() + " --help lists the flags"
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if near := wording.Nearest(unknown.GetSpecifiedName(), names); near != "" {
			hint = "did you mean --" + near + "?"
		}
	}
	return host.Usagef("%w; %s", err, hint)
}
