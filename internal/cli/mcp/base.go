package mcp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/process"
	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/internal/sandbox/disk"
	"github.com/perstack-go/perstack/internal/skills/base"
	"github.com/perstack-go/perstack/internal/skills/mcp/serve"
	"github.com/perstack-go/perstack/internal/skills/quota"
	"github.com/perstack-go/perstack/internal/version"
	"github.com/perstack-go/perstack/internal/workspace"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/skill"
)

// Options are the options of perstack mcp base.
type Options struct {
	Host *host.Host

	Workspace  string
	Storage    string
	EnvPath    []string
	Pick, Omit []string
	Limits     job.Limits // MaxWorkspaceBytes only
	Sandbox    expert.SandboxLevel
	Verbose    bool

	HTTP      bool
	Port      uint16 // 0 for one that is free
	TokenFile string
}

func newBase(h *host.Host, runF func(context.Context, *Options) error) *cobra.Command {
	opts := &Options{Host: h}
	if runF == nil {
		runF = Base
	}
	cmd := &cobra.Command{
		Use:   "base",
		Short: "Serve the built-in tools over standard input and output, or HTTP",
		Long: `Serve the tools that every Expert has (files, directories, commands, to-do list)
to an MCP client. Each line of standard input and output is one JSON message.

The tools work in one directory, with the same protections as in a run: no path
leads out of it, .env files and the history cannot be read, and perstack.toml cannot
be changed. Only exec starts programs. They run in a sandbox, which can use the
workspace and reaches no host. With --sandbox=off they can use your files and network,
as you can. On Linux they cannot gain more rights: sudo does not work, and programs
started by root do not have its special rights. --omit exec leaves this tool out.

Most clients are configured under "mcpServers":

  "perstack": {
    "command": "perstack",
    "args": ["mcp", "base", "--workspace", "/path/to/project", "--omit", "exec"]
  }

With --http, the server listens on an address of this machine instead. Clients must
send its token. The token is read from a file, or a new one is made and printed once.

The server ends when the client closes its input. Exit codes: 0 closed, 1 failed,
2 wrong usage, 3 the workspace is too large, 129, 130 and 143 stopped by a
signal.`,
		Example: `  perstack mcp base
  perstack mcp base --workspace ./project --omit exec
  perstack mcp base --workspace ./project --sandbox=full
  perstack mcp base --pick readTextFile,listDirectory
  perstack mcp base --max-workspace-bytes 1000000000
  perstack mcp base --http --port 7777 --token-file ~/.perstack-token`,
		Args:              host.NoArgs("--workspace chooses where it works"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := host.CheckSandbox(cmd.Flags(), opts.Sandbox); err != nil {
				return err
			}
			if err := host.RefuseEmpty(cmd.Flags()); err != nil {
				return err
			}
			if err := opts.checkHTTP(cmd.Flags()); err != nil {
				return err
			}
			return runF(cmd.Context(), opts)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.Workspace, "workspace", "", "directory that the tools work in (default: the current one)")
	flags.StringVar(&opts.Storage, "storage", "", "directory of the history, which the tools cannot read (default: $PERSTACK_STORAGE_PATH, else outside of the project)")
	flags.StringArrayVar(&opts.EnvPath, "env-path", nil, "env file that the tools cannot read; can be repeated (default: .env, .env.local)")
	flags.StringSliceVar(&opts.Pick, "pick", nil, "tools to serve, separated by commas (default: all)")
	flags.StringSliceVar(&opts.Omit, "omit", nil, "tools not to serve, separated by commas")
	host.AddLimits(flags, &opts.Limits, "maxWorkspaceBytes")
	host.AddSandboxFlag(cmd, &opts.Sandbox, "least level of the sandbox of commands")
	flags.BoolVar(&opts.HTTP, "http", false, "listen on 127.0.0.1 instead of using standard input and output")
	flags.Uint16Var(&opts.Port, "port", 0, "port to listen on, with --http (default: a free one)")
	flags.StringVar(&opts.TokenFile, "token-file", "", "file with the token that clients must send, with --http (default: a new one, printed once)")
	flags.BoolVar(&opts.Verbose, "verbose", false, "print the debug log to standard error")
	registerCompletions(cmd)
	return cmd
}

// Base serves the base skill until the client closes the stream. The error carries the
// exit code.
func Base(ctx context.Context, opts *Options) error {
	h := opts.Host
	if err := opts.checkNames(); err != nil {
		return err
	}
	rules, err := loadRules(ctx, opts)
	if err != nil {
		return err
	}
	token, err := opts.readToken()
	if err != nil {
		return &host.ExitError{Code: host.ExitUsage, Err: err}
	}
	files, err := workspace.Open(rules.workspace, workspace.Options{Protected: rules.protected, ReadOnly: rules.readOnly})
	if err != nil {
		return &host.ExitError{Code: host.ExitUsage, Err: err}
	}
	defer files.Close()

	log := h.Logger(opts.Verbose)
	commands := sandbox.NewSupervisor()
	commands.LimitDisk(disk.Limits{Bytes: job.DefaultSandboxLimits().DiskGrowth, Files: disk.DefaultFiles})
	removeSandbox := func() error { return nil }
	defer func() {
		if err := commands.Close(); err != nil {
			log.Error("commands may be running still", "error", err)
		}
		if err := removeSandbox(); err != nil {
			log.Warn("the directory of the sandbox is still there", "error", err)
		}
	}()
	tools := base.Options{
		Workspace: files, Environ: h.Environ, Commands: commands, Redact: h.Secrets.Redact, PID: os.Getpid(),
	}
	remove, err := opts.confine(ctx, rules, &tools)
	if err != nil {
		return err
	}
	removeSandbox = remove
	open := func() skill.Skill { return base.New(tools) }
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if rules.maxBytes > 0 {
		limit := limitSize(files, rules.maxBytes, cancel)
		limit.Measure = commands.WithUnlinked(files.Path(), limit.Measure)
		if !limit.Check(ctx) {
			return outcome(context.Cause(ctx))
		}
		bare := open
		open = func() skill.Skill { return limit.Watch(bare()) }
	}
	fmt.Fprintf(h.Stderr, "Running %s version %s\n", event.BaseSkill, version.String())
	served := serve.Options{
		Name:    event.BaseSkill,
		Version: version.String(),
		Filter:  skill.Filter{Pick: opts.Pick, Omit: opts.Omit},
		Redact:  h.Secrets.Redact,
		Log:     log,
	}
	if opts.HTTP {
		err := serve.HTTP(ctx, open, serve.HTTPOptions{Options: served, Port: opts.Port, Token: token, Ready: opts.announce(token)})
		if errors.As(err, new(*serve.ListenError)) {
			return fmt.Errorf("%w; choose another --port, or leave it out for one that is free", err)
		}
		return outcome(err)
	}
	if h.StdinIsTerminal {
		fmt.Fprintln(h.Stderr, "This program speaks MCP with other programs: add it to the configuration of a client (perstack mcp base --help shows how). Ctrl-D ends it.")
	}
	served.In, served.Out = h.Stdin, h.Stdout
	return outcome(serve.Run(ctx, open(), served))
}

// limitSize limits the size of the workspace: more cancels the server.
func limitSize(files *workspace.Workspace, most int64, cancel context.CancelCauseFunc) *quota.Quota {
	return &quota.Quota{
		Max:     most,
		Measure: files.Usage,
		Exceeded: func(used int64) {
			cancel(&engine.LimitError{Limit: event.LimitWorkspace, Used: float64(used), Max: float64(most)})
		},
		Failed: func(err error) { cancel(err) },
	}
}

// outcome turns the end of the server into an exit code.
func outcome(err error) error {
	var s process.Signal
	var l *engine.LimitError
	switch {
	case errors.As(err, &s):
		return host.Exit(s.ExitCode())
	case errors.As(err, &l):
		return &host.ExitError{Code: host.ExitLimit, Err: fmt.Errorf("the workspace takes %.0f bytes or more, and %.0f are allowed; delete something, or allow more with --max-workspace-bytes", l.Used, l.Max)}
	case errors.Is(err, syscall.EPIPE): // the client is gone
		return nil
	}
	return err
}
