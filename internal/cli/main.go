// Package cli is the command line: one package a command, put together here.
//
// [Main] is the whole program as a function. It prints an error once, in one place,
// and turns it into the exit code that package host documents. Start reading there.
package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/perstack-go/perstack/internal/cli/account"
	"github.com/perstack-go/perstack/internal/cli/add"
	"github.com/perstack-go/perstack/internal/cli/approvals"
	"github.com/perstack-go/perstack/internal/cli/audit"
	"github.com/perstack-go/perstack/internal/cli/demo"
	"github.com/perstack-go/perstack/internal/cli/diff"
	"github.com/perstack-go/perstack/internal/cli/docker"
	"github.com/perstack-go/perstack/internal/cli/doctor"
	"github.com/perstack-go/perstack/internal/cli/egress"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/cli/inspect"
	"github.com/perstack-go/perstack/internal/cli/install"
	"github.com/perstack-go/perstack/internal/cli/jobs"
	"github.com/perstack-go/perstack/internal/cli/keys"
	"github.com/perstack-go/perstack/internal/cli/log"
	"github.com/perstack-go/perstack/internal/cli/mcp"
	"github.com/perstack-go/perstack/internal/cli/models"
	"github.com/perstack-go/perstack/internal/cli/outdated"
	"github.com/perstack-go/perstack/internal/cli/publish"
	"github.com/perstack-go/perstack/internal/cli/registry"
	"github.com/perstack-go/perstack/internal/cli/restore"
	"github.com/perstack-go/perstack/internal/cli/rules"
	"github.com/perstack-go/perstack/internal/cli/run"
	"github.com/perstack-go/perstack/internal/cli/schema"
	"github.com/perstack-go/perstack/internal/cli/search"
	"github.com/perstack-go/perstack/internal/cli/start"
	"github.com/perstack-go/perstack/internal/cli/status"
	"github.com/perstack-go/perstack/internal/cli/tag"
	"github.com/perstack-go/perstack/internal/cli/trust"
	"github.com/perstack-go/perstack/internal/cli/undo"
	"github.com/perstack-go/perstack/internal/cli/unpublish"
	"github.com/perstack-go/perstack/internal/cli/validate"
	"github.com/perstack-go/perstack/internal/cli/view"
	"github.com/perstack-go/perstack/internal/process"
	"github.com/perstack-go/perstack/internal/version"
	"github.com/perstack-go/perstack/internal/wording"
)

// Main runs perstack with args and returns its exit code.
func Main(ctx context.Context, h *host.Host, args []string) int {
	h.HideSecrets(h.Getenv)
	h.GuardStderr()
	h.GuardStdout()
	ctx, stop := h.Interruptible(ctx)
	defer stop()

	root := newRoot(h, args)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil && asksForUnknown(cmd) {
		err = cmd.RunE(cmd, cmd.Flags().Args()) // which says what is wrong
	}
	return exitCode(ctx, h.Report(cmd, args, err))
}

// exitCode is that of the error, unless a signal was its cause: a command that was
// stopped before there was anything to save ends like one that was stopped later.
func exitCode(ctx context.Context, err error) int {
	var s process.Signal
	if errors.As(err, &s) || errors.Is(err, context.Canceled) && errors.As(context.Cause(ctx), &s) {
		return s.ExitCode()
	}
	return host.ExitCode(err)
}

// commands are those of perstack, with their names.
var commands = []struct {
	name string
	add  func(root *cobra.Command, h *host.Host)
}{
	{"add", func(root *cobra.Command, h *host.Host) { root.AddCommand(add.New(h, nil)) }},
	{"approvals", func(root *cobra.Command, h *host.Host) { root.AddCommand(approvals.NewList(h, nil)) }},
	{"approve", func(root *cobra.Command, h *host.Host) { root.AddCommand(approvals.NewApprove(h, nil)) }},
	{"audit", func(root *cobra.Command, h *host.Host) { root.AddCommand(audit.New(h, nil)) }},
	{"diff", func(root *cobra.Command, h *host.Host) { root.AddCommand(diff.New(h, nil)) }},
	{"demo", func(root *cobra.Command, h *host.Host) { root.AddCommand(demo.New(h, nil)) }},
	{"deny", func(root *cobra.Command, h *host.Host) { root.AddCommand(approvals.NewDeny(h, nil)) }},
	{"docker", func(root *cobra.Command, h *host.Host) { root.AddCommand(docker.New(h, nil)) }},
	{"doctor", func(root *cobra.Command, h *host.Host) { root.AddCommand(doctor.New(h, nil)) }},
	{"jobs", func(root *cobra.Command, h *host.Host) { root.AddCommand(jobs.New(h, nil, nil)) }},
	{"egress", func(root *cobra.Command, h *host.Host) { root.AddCommand(egress.New(h, nil)) }},
	{"inspect", func(root *cobra.Command, h *host.Host) { root.AddCommand(inspect.New(h, nil)) }},
	{"install", func(root *cobra.Command, h *host.Host) { root.AddCommand(install.New(h, nil)) }},
	{"keys", func(root *cobra.Command, h *host.Host) { root.AddCommand(keys.New(h, nil)) }},
	{"log", func(root *cobra.Command, h *host.Host) { root.AddCommand(log.New(h, nil)) }},
	{"login", func(root *cobra.Command, h *host.Host) { root.AddCommand(account.NewLogin(h, nil)) }},
	{"logout", func(root *cobra.Command, h *host.Host) { root.AddCommand(account.NewLogout(h, nil)) }},
	{"mcp", func(root *cobra.Command, h *host.Host) { root.AddCommand(mcp.New(h, nil)) }},
	{"models", func(root *cobra.Command, h *host.Host) { root.AddCommand(models.New(h, nil)) }},
	{"outdated", func(root *cobra.Command, h *host.Host) { root.AddCommand(outdated.New(h, nil)) }},
	{"publish", func(root *cobra.Command, h *host.Host) { root.AddCommand(publish.New(h, nil)) }},
	{"registry", func(root *cobra.Command, h *host.Host) { root.AddCommand(registry.New(h)) }},
	{"restore", func(root *cobra.Command, h *host.Host) { root.AddCommand(restore.New(h, nil)) }},
	{"rules", func(root *cobra.Command, h *host.Host) { root.AddCommand(rules.New(h, nil)) }},
	{"run", func(root *cobra.Command, h *host.Host) { root.AddCommand(run.New(h, nil)) }},
	{"schema", func(root *cobra.Command, h *host.Host) { root.AddCommand(schema.New(h, nil)) }},
	{"search", func(root *cobra.Command, h *host.Host) { root.AddCommand(search.New(h, nil)) }},
	{"start", func(root *cobra.Command, h *host.Host) { root.AddCommand(start.New(h, nil)) }},
	{"status", func(root *cobra.Command, h *host.Host) { root.AddCommand(status.New(h, nil)) }},
	{"tag", func(root *cobra.Command, h *host.Host) { root.AddCommand(tag.New(h, nil)) }},
	{"trust", func(root *cobra.Command, h *host.Host) { root.AddCommand(trust.New(h, nil)) }},
	{"undo", func(root *cobra.Command, h *host.Host) { root.AddCommand(undo.New(h, nil)) }},
	{"unpublish", func(root *cobra.Command, h *host.Host) { root.AddCommand(unpublish.New(h, nil)) }},
	{"update", func(root *cobra.Command, h *host.Host) { root.AddCommand(install.NewUpdate(h, nil)) }},
	{"validate", func(root *cobra.Command, h *host.Host) { root.AddCommand(validate.New(h, nil)) }},
	{"view", func(root *cobra.Command, h *host.Host) { root.AddCommand(view.New(h, nil)) }},
	{"whoami", func(root *cobra.Command, h *host.Host) { root.AddCommand(account.NewWhoami(h, nil)) }},
	{"version", func(root *cobra.Command, h *host.Host) { root.AddCommand(newVersion(h)) }},
}

// newRoot makes the command that args name. If they do not begin with one, it makes all: they ask
// for help, for completions, or for a command that does not exist. To make all takes longer than
// to read perstack.toml.
func newRoot(h *host.Host, args []string) *cobra.Command {
	root := &cobra.Command{
		Use:   "perstack",
		Short: "Run AI agents that you can trust with your files",
		Long: `Perstack runs Experts: small agents that perstack.toml defines by an instruction,
skills and delegates. Every run is recorded. You can read afterwards what happened,
and continue a run from any checkpoint.`,
		Example: `  perstack demo                             try it, without an API key
  perstack run writer "Draft the notes"     run an Expert of perstack.toml
  perstack log                              list the recorded jobs`,
		SilenceErrors: true,
		SilenceUsage:  true,

		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			if asked, _ := cmd.Flags().GetBool("version"); asked {
				return printVersion(h)
			}
			return h.HelpInstead(cmd)
		},
	}
	root.SetIn(h.Stdin)
	root.SetOut(h.Stdout)
	root.SetErr(h.Stderr)
	root.Flags().BoolP("version", "V", false, "print the version")
	root.SetFlagErrorFunc(flagError)
	root.SetHelpCommand(newHelp())
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		if !asksForUnknown(cmd) {
			help(cmd, args)
		}
	})
	for _, c := range commands {
		if len(args) > 0 && c.name == args[0] {
			c.add(root, h)
			root.CompletionOptions.DisableDefaultCmd = true
			return root
		}
	}
	for _, c := range commands {
		c.add(root, h)
	}
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() == "completion" {
			cmd.Args, cmd.RunE = cobra.ArbitraryArgs, unknownShell
		}
	}
	return root
}

// newHelp is the help command, with an error for a command that does not exist.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "help [command]",
		Short: "Explain a command",
		RunE: func(cmd *cobra.Command, args []string) error {
			found, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return unknownCommand(cmd.Root(), strings.Join(args, " "))
			}
			return found.Help()
		},
	}
}

func newVersion(h *host.Host) *cobra.Command {
	return &cobra.Command{
		Use:               "version",
		Short:             "Print the version",
		Args:              host.NoArgs("it prints the version of perstack"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(*cobra.Command, []string) error { return printVersion(h) },
	}
}

func printVersion(h *host.Host) error {
	_, err := fmt.Fprintln(h.Stdout, version.String())
	return err
}

// asksForUnknown reports whether --help was given with a command that does not exist: cobra
// shows the help of the command above it.
func asksForUnknown(cmd *cobra.Command) bool {
	help, _ := cmd.Flags().GetBool("help")
	return help && host.IsGroup(cmd) && cmd.Flags().NArg() > 0
}

func unknownShell(_ *cobra.Command, args []string) error {
	const shells = "use bash, zsh, fish or powershell"
	if len(args) == 0 {
		return host.Usagef("no shell given; %s", shells)
	}
	return host.Usagef("there is no completion for %q; %s", args[0], shells)
}

func unknownCommand(root *cobra.Command, name string) error {
	hint := "perstack --help lists the commands"
	var names []string
	for _, c := range root.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
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
	if host.IsGroup(cmd) && cmd.Flags().NArg() > 0 {
		return cmd.RunE(cmd, cmd.Flags().Args()) // no such command: that is the first mistake
	}
	hint := cmd.CommandPath() + " --help lists the flags"
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if near := wording.Nearest(unknown.GetSpecifiedName(), names); near != "" {
			hint = "did you mean --" + near + "?"
		}
	}
	if missing, ok := errors.AsType[*pflag.ValueRequiredError](err); ok && missing.GetSpecifiedName() == "sandbox" {
		return host.ErrSandboxValue()
	}
	// What the library says about a switch is meant for programmers.
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok && invalid.GetFlag().Value.Type() == "bool" {
		return host.Usagef("--%s is true or false, not %q; give it without a value to switch it on", invalid.GetFlag().Name, invalid.GetValue())
	}
	return host.Usagef("%w; %s", err, hint)
}
