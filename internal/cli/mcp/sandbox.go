package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/sandbox/policy"
	"github.com/perstack-go/perstack/internal/skills"
	"github.com/perstack-go/perstack/internal/skills/base"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/skill"
)

// level is the least level of the sandbox of commands. The file of the workspace can ask for one
// but not turn it off: the client has no terminal to ask the user.
func (r *rules) level() expert.SandboxLevel {
	said := r.user
	if r.config != nil && r.config.Settings.Isolation.Sandbox.Restricts() {
		said = said.Stricter(r.config.Settings.Isolation.Sandbox)
	}
	return cmp.Or(r.sandbox, said, job.DefaultSandbox)
}

// confine puts commands into a sandbox, if there is to be one, and returns a function that
// removes it. It is called when no command runs any more.
func (o *Options) confine(ctx context.Context, r rules, tools *base.Options) (remove func() error, err error) {
	nothing, level, h := func() error { return nil }, r.level(), o.Host
	if filter := (skill.Filter{Pick: o.Pick, Omit: o.Omit}); !filter.Allows(expert.ExecTool) {
		return nothing, nil // without a policy, no command can start
	}
	tools.Sandbox = policy.Off(policy.JobOff)
	if !level.Restricts() {
		return nothing, nil
	}
	offered, err := h.OfferedSandbox(ctx).Choose(level)
	switch {
	case err != nil && level == expert.SandboxAuto:
		config := r.config
		if config == nil {
			config = &manifest.Config{Dir: r.workspace}
		}
		return nothing, h.AcceptNoSandbox(ctx, config, r.workspace, err)
	case err != nil:
		return nil, host.Usagef("commands cannot run in a sandbox: %w", err)
	}
	open, err := h.SandboxWorkspace(r.history, r.workspace, offered)
	if err != nil {
		return nil, err
	}
	if open != "" {
		fmt.Fprintln(h.Stderr, "perstack: "+terminal.CleanLine(open))
	}
	wanted := skills.OnHost(true)
	wanted.Reach.Network = job.NetworkNone
	sandboxes, removeDirs, err := wanted.Prepare(ctx, offered, tools.Workspace.Path(), skills.Machine{
		Environ: h.Environ, Dir: h.Dir, State: h.StatePath(), Caches: r.history.Project.Caches(), Hide: r.protected, Frozen: r.readOnly, Now: time.Now, Log: h.Logger(false),
	})
	if err != nil {
		return nil, &host.ExitError{Code: host.ExitUsage, Err: err}
	}
	removeOwn, err := sandboxes.Confine(tools)
	if err != nil {
		return nil, errors.Join(err, removeDirs())
	}
	return func() error { return errors.Join(removeOwn(), removeDirs()) }, nil
}
