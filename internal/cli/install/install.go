// Package install is the command that writes perstack.lock: it lists the tools of the skills of
// all Experts of a file, so that a run can check that they have not changed.
//
// It starts the servers of skills that are new or changed, lists their tools and stops them; it
// calls no tool, needs no provider and writes one file, completely or not at all.
// With --check it starts nothing and writes nothing. Start reading at [Options], then run.
package install

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/lockfile"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/programs"
	"github.com/perstack-go/perstack/internal/runtimes/docker"
	"github.com/perstack-go/perstack/internal/skills"
	"github.com/perstack-go/perstack/internal/state"
	"github.com/perstack-go/perstack/internal/userfile"
	"github.com/perstack-go/perstack/internal/wording"
	"github.com/perstack-go/perstack/job"
)

// Options are what the command works with.
type Options struct {
	Host *host.Host
	// Discover lists the tools of a skill; nil means [skills.Site.Discover].
	Discover func(ctx context.Context, site *skills.Site, s *expert.Skill, pinned *lockfile.Package, report func(event.Body)) (*lockfile.Skill, error)
	// Pin returns the digest of an image; nil asks the Docker daemon.
	Pin func(ctx context.Context, name string, from docker.Sources) (string, error)

	Config    string // path of the file; empty means to look for it
	EnvPath   []string
	Runtime   string // empty means that of the file
	BaseImage string // empty means that of the file
	Update    bool
	Experts   bool     // update published Experts, and nothing else
	Keys      []string // with Experts: only these; all if it is empty
	JSON      bool     // with Experts: print the result for programs
	Check     bool
	Sandbox   expert.SandboxLevel // least level of the sandboxes of skills; empty means that of the file
	Reach     job.Reach           // what sandboxes open, besides what the file says
}

// New returns the command. Tests hand in a runF to see the options.
func New(h *host.Host, runF func(context.Context, *Options) error) *cobra.Command {
	opts := &Options{Host: h}
	if runF == nil {
		runF = run
	}
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Write perstack.lock, which pins published Experts, packages and tools",
		Long: `Write perstack.lock next to perstack.toml. It lists all Experts of the file, the
packages of their skills with version and integrity, and the tools that the skills
offer. Commit it. A run then starts a skill only when it is used, uses exactly these
packages, and stops if the tools of a skill have changed. The lockfile of b.toml is
b.lock.

New and changed skills are started, asked for their tools and stopped. For the other
skills, the entries are kept. Skills are programs that the file names: if you did not
write the file, look at it with perstack inspect first.

Skills are started in the isolation that a job has: with runtime = "docker" or
--runtime docker in a container, with --sandbox=off as you, and otherwise in a sandbox.
Programs of skills that lie in the workspace are pinned by their digests.

--sandbox=auto starts each skill in its own sandbox, as perstack run does with this flag.
It can read the system, its package and the working directory, write to the working
directory and its own directories, and reach its allowedDomains. full and landlock ask
for a level at least, and off for no sandboxes. Skills with the key sandbox always have
one. perstack doctor says which level this machine offers. --sandbox-read,
--sandbox-write and --sandbox-network are those of perstack run.

Published Experts that the file delegates to are resolved, verified and pinned, with all
that they delegate to (docs/registry.md).

--update asks all skills again, uses newer packages and published Experts where
perstack.toml allows them, and prints what has changed. Read it before you commit.

With runtime = "docker" or --runtime docker, the images for packages of skills are
pinned, too. This needs the Docker daemon. --update looks for newer images.
--base-image starts skills in another image, as it does for perstack run. Give both
commands the same one. It must be on this machine, and is not pinned.

--check starts nothing and writes nothing. If perstack.lock does not match
perstack.toml, it lists the differences and exits with 1.

If the file asks for more than the defaults, such as variables for a skill, you are
asked before anything is fetched or started, as perstack run does. The answer is kept
for the code that was pinned: perstack run does not ask again until it changes.

--yes allows, for this command, what the list shows: variables, addresses of models,
limits, images and networks. It does not cover env files outside of the project, which
--env-path names, nor a remote --config that has changed, which needs #sha256=HEX. It
does not turn off a sandbox.

The variables that skills require must be set. The key of the provider is not needed.
Exit codes: 0 written or up to date, 1 a skill failed or --check found differences,
2 wrong usage or configuration, 129, 130 and 143 stopped by a signal. perstack.lock
is changed only if the code is 0.`,
		Example: `  perstack install
  perstack install --sandbox=auto
  perstack install --runtime docker --base-image node:24
  perstack install --update
  perstack install --check
  perstack install --config experts/perstack.toml --env-path .env.ci`,
		Args:              host.NoArgs("it installs all Experts of the file that --config names"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if opts.Update && opts.Check {
				return host.Usagef("--update and --check exclude each other; give one")
			}
			if err := opts.checkFlags(cmd); err != nil {
				return err
			}
			return runF(cmd.Context(), opts)
		},
	}
	opts.addFlags(cmd)
	cmd.Flags().BoolVar(&opts.Update, "update", false, "ask all skills again and use newer packages and published Experts")
	cmd.Flags().BoolVar(&opts.Check, "check", false, "only compare perstack.lock with perstack.toml")
	return cmd
}

// checkFlags says what is wrong with the flags.
func (o *Options) checkFlags(cmd *cobra.Command) error {
	if err := host.CheckSandbox(cmd.Flags(), o.Sandbox); err != nil {
		return err
	}
	if err := host.RefuseEmpty(cmd.Flags()); err != nil {
		return err
	}
	if r := o.Runtime; r != "" && r != job.Local && r != job.Docker {
		return host.Usagef("--runtime is %s or %s, not %q", job.Local, job.Docker, r)
	}
	if o.BaseImage != "" {
		if message, hint := manifest.ImageReference(o.BaseImage); message != "" {
			return host.Usagef("--base-image: %s; %s", message, hint)
		}
	}
	if o.Sandbox != "" && o.Check {
		return host.Usagef("--sandbox is for skills that are started, and --check starts none; give one")
	}
	if given := host.ReachFlags(o.Reach); len(given) > 0 && o.Check {
		return host.Usagef("%s is for skills that are started, and --check starts none; give one", given[0])
	}
	return o.Host.CheckReach(&o.Reach)
}

// addFlags adds the flags about skills that are started.
func (o *Options) addFlags(cmd *cobra.Command) {
	opts, h, flags := o, o.Host, cmd.Flags()
	host.AddConfigFlag(cmd, &opts.Config)
	h.AddYesFlag(cmd)
	flags.StringArrayVar(&opts.EnvPath, "env-path", nil, "env file to read; can be repeated (default: .env, .env.local)")
	flags.StringVar(&opts.Runtime, "runtime", "", "runtime that the lockfile is for: local or docker (default: from perstack.toml)")
	flags.StringVar(&opts.BaseImage, "base-image", "", "image with programs for skills, with --runtime docker (default: from perstack.toml, else none)")
	host.AddSandboxFlag(cmd, &opts.Sandbox, "least level of the sandboxes that skills are started in")
	host.AddReachFlags(cmd, &opts.Reach)
	for flag, values := range map[string][]string{
		"runtime":    {job.Local, job.Docker},
		"base-image": nil, // nothing to offer, and files least of all
	} {
		if err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
			panic(err) // the flag is defined above
		}
	}
}

func run(ctx context.Context, opts *Options) (err error) {
	if err := opts.Host.FetchConfig(ctx, &opts.Config); err != nil {
		return err
	}
	p, err := load(ctx, opts)
	if err != nil {
		return err
	}
	if opts.Check {
		return p.check()
	}
	p.say("Resolving experts...")
	old := p.old
	p.say("Found %s", wording.Count(len(p.config.All()), "Expert"))
	p.showPublished(old)
	p.noteMissing()
	plan := newPlan(p.config, old, opts.Update, opts.Host.Dir)
	if err := plan.missingEnv(p.env.Get).Err(); err != nil {
		return &host.ExitError{Code: host.ExitUsage, Err: err}
	}
	// What can fail is tried before anything is fetched or started.
	if err := lockfile.CheckWritable(p.config.LockFile()); err != nil {
		return &host.ExitError{Code: host.ExitUsage, Err: err}
	}
	pins, err := p.pinner(ctx, plan, old)
	if err != nil {
		return p.stopped(ctx, err)
	}
	defer pins.close()
	p.warnKeys(plan)
	images, err := p.pinImages(ctx, pins, old)
	if err != nil {
		return p.stopped(ctx, err)
	}
	p.say("Collecting tool definitions...")
	if err := p.watched(ctx, old, func() error { return p.collect(ctx, plan, images) }); err != nil {
		return p.stopped(ctx, err)
	}
	lock := plan.lock(p.config, p.published.Locked())
	lock.Images = images
	p.warnCollisions(lock)
	if err := p.write(ctx, lock, old); err != nil {
		return p.stopped(ctx, err)
	}
	p.asked.Keep(lock)
	if opts.JSON {
		return p.printUpdate(lock, old)
	}
	return nil
}

// check compares without starting anything. Problems of perstack.toml were reported before.
func (p *project) check() error {
	lock, err := lockfile.Read(p.config)
	var found error
	switch {
	case err != nil:
		found = err
	case lock == nil:
		found = fmt.Errorf("%s does not exist; run: perstack install", p.config.LockFile())
	default:
		found = errors.Join(lock.Differences(p.config).Err(), p.changedPrograms(lock))
	}
	if found != nil {
		return host.AddConfigToError(&host.ExitError{Code: host.ExitFailure, Err: found}, p.opts.Config, p.docker)
	}
	p.say("%s is up to date", p.config.LockFile())
	return nil
}

// changedPrograms says which skills are started from other files than those that were pinned.
func (p *project) changedPrograms(lock *lockfile.Lock) (found error) {
	for _, e := range p.config.Experts {
		locked, _ := lock.Expert(e.Key)
		for _, k := range e.Servers() {
			now, err := skills.PinProgram(k, p.opts.Host.Dir, p.config.Settings.Runtime)
			entry, ok := locked.Skill(k.Name)
			if err == nil && ok {
				if change := programs.Compare(entry.Program, now); change != "" {
					err = fmt.Errorf("%s: the program of skill %q (expert %q) has changed: %s; %s", lock.Path, k.Name, e.Key, change, lockfile.InstallAgain)
				}
			}
			found = errors.Join(found, err)
		}
	}
	return found
}

// stopped adds to an error what became of the lockfile. After a signal the error is the signal,
// not its effect on servers that were starting.
func (p *project) stopped(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	outcome := "is as it was"
	if _, stat := os.Lstat(p.config.LockFile()); errors.Is(stat, os.ErrNotExist) {
		outcome = "was not written"
	}
	return fmt.Errorf("%w\n%s %s", err, p.config.LockFile(), outcome)
}

// write writes the lockfile. One with the same content as before keeps its time, so that
// installing twice changes nothing.
func (p *project) write(ctx context.Context, lock, old *lockfile.Lock) error {
	if old != nil {
		lock.GeneratedAt = old.GeneratedAt
		if bytes.Equal(lock.Encode(), old.Encode()) {
			p.say("Generated %s (nothing changed)", lock.Path)
			return nil
		}
	}
	lock.GeneratedAt = p.opts.Host.Source.Now().UnixMilli()
	if err := lock.Write(lock.Path); err != nil {
		return err
	}
	p.say("Generated %s", lock.Path)
	// A job that runs did not write it. It can have begun since this command did: another install,
	// for instance.
	marks, err := p.opts.Host.TrustMarks(ctx)
	if err != nil {
		return err
	}
	c, unchanged, err := marks.CheckRead(lock.Path, userfile.Digest(lock.Encode()))
	if err != nil || !unchanged {
		return p.opts.Host.TrustProblem(err) // what another program wrote meanwhile is not accepted
	}
	return marks.Accept(c)
}

// watched calls a function that starts skills, and tells the user which trusted files they have
// changed.
func (p *project) watched(ctx context.Context, old *lockfile.Lock, start func() error) error {
	h := p.opts.Host
	history, err := h.History("", p.opts.Config, h.Dir)
	if err != nil && !errors.Is(err, state.ErrUnknown) {
		return err
	}
	read := old.Digests(p.config)
	if old == nil {
		delete(read, p.config.LockFile()) // a broken one is not used
	}
	maps.Copy(read, p.env.Digests())
	end, err := h.Protect(ctx, history, "install", h.Dir, p.trusted, read)
	if err != nil {
		return err
	}
	return end(start())
}
