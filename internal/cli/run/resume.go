package run

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/internal/wording"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/store"
)

// checkSeal refuses a job that another program may have written, before anything that it says
// is used.
func (o *Options) checkSeal(ctx context.Context, t *target, s store.Store, sealer *store.Sealer) error {
	if t.history == nil || o.TrustHistory {
		return nil
	}
	if sealer == nil {
		return host.Usagef("whether this user sealed job %s is not known, because the home directory is not known; set HOME, or believe everything that the job records with --trust-history", t.jobID)
	}
	return host.ExplainSeal(t.history.CheckSeal(ctx, s, sealer))
}

// tellChanges says what is different from the recorded job, and what is kept from it
// although no flag repeats it.
func (pl *plan) tellChanges() error {
	had, s := pl.target.recorded, pl.spec
	if had.Expert == "" {
		return nil // a new job
	}
	pl.tellProviders()
	if had.Runtime == job.Docker && s.Runtime != job.Docker {
		pl.say("the job is resumed with the runtime %s; it ran with docker: no container isolates it any more", s.Runtime)
	}
	was, is := had.Isolation, s.Isolation
	if s.Runtime != job.Docker || had.Runtime != job.Docker {
		return nil
	}
	if was.SharedSandbox && !is.SharedSandbox {
		pl.say("the job is resumed with a sandbox for each skill; it ran with --shared-sandbox")
	}
	var kept []string
	if pl.resolved.From("baseImage") == job.Record {
		if message, hint := manifest.ImageReference(is.Container.BaseImage); message != "" {
			return host.Usagef("the base image that the job had: %s; %s, and give it with --base-image", message, hint)
		}
		kept = append(kept, "the base image "+is.Container.BaseImage)
	}
	if pl.resolved.From("readOnlyWorkspace") == job.Record {
		kept = append(kept, "a read-only workspace")
	}
	if pl.resolved.From("env") == job.Record {
		if err := pl.checkHanded(is.Env); err != nil {
			return host.Usagef("the variables that commands of the job had: %w; to pass others instead, name them with --env", err)
		}
		kept = append(kept, is.Env...)
	}
	if len(kept) > 0 {
		pl.say("the job is resumed with %s, as before", wording.And(kept))
	}
	return nil
}

// tellLevel says if the sandboxes of a continued job are not what a flag asks for, or not what
// they were.
func (pl *plan) tellLevel() {
	had := pl.target.recorded
	was, is := had.Isolation.Sandbox, pl.spec.Isolation.Sandbox
	switch {
	case had.Expert == "" || had.Runtime != job.Local:
	case was.Restricts() && !is.Restricts():
		pl.say("the job is resumed without the sandbox that it had (level %s): nothing isolates its skills and commands any more", was)
	case was.Restricts() && is.Compare(was) < 0:
		pl.say("the job is resumed in a sandbox of level %s; it had level %s", is, was)
	case is.Restricts() && was == expert.SandboxOff && pl.resolved.From("sandbox") != job.Flag:
		pl.say("the job is resumed in a sandbox of level %s; it ran without one, which only --sandbox=off repeats", is)
	}
}

// tellProviders says which conversations of the recorded job continue with another provider.
func (pl *plan) tellProviders() {
	for _, e := range pl.spec.Experts {
		before, ok := pl.target.recorded.Lookup(e.Key)
		if !ok {
			before = &expert.Expert{}
		}
		had, now := pl.target.recorded.ModelOf(before).Provider, pl.spec.ModelOf(e).Provider
		if had != "" && had != now {
			pl.say("the conversation continues with the provider %s; before, it used %s", now, had)
		}
	}
}

// checkWorkspace refuses a workspace that does not exist, and another one than the job had, unless
// the flags name it.
func (pl *plan) checkWorkspace() error {
	if _, err := os.Stat(pl.spec.Workspace.Dir); errors.Is(err, fs.ErrNotExist) {
		return host.Usagef("the workspace %s does not exist; create it, or name another with --workspace", terminal.CleanLine(pl.spec.Workspace.Dir))
	}
	moved := (*job.MovedError)(nil)
	if !errors.As(pl.spec.CheckWorkspace(pl.target.recorded), &moved) || pl.opts.MoveWorkspace && pl.opts.Workspace != "" {
		return nil
	}
	return host.Usagef("%w; run it there, or name this one with --workspace %s --move-workspace", moved, terminal.ShellJoin(moved.Now))
}
