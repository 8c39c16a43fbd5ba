// Package local is the built-in runtime: engine and tools run in this process, commands and
// the servers of skills beside it, all as this user. The program in a container of the
// Docker runtime uses it as well.
//
// It puts the parts together that the engine works with and does nothing else. Start
// reading at [Run].
package local

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/approval/calls"
	"github.com/perstack-go/perstack/internal/packages"
	"github.com/perstack-go/perstack/internal/runtimes"
	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/internal/skills"
	"github.com/perstack-go/perstack/internal/skills/quota"
	"github.com/perstack-go/perstack/internal/workspace"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/skill"
)

// Run runs a job. The parts are complete, with a model.
func Run(ctx context.Context, spec job.Spec, parts engine.Parts) (engine.Result, error) {
	return run(ctx, spec, parts, offeredTo(parts))
}

// run is Run with a function that says which sandboxes this machine offers.
func run(ctx context.Context, spec job.Spec, parts engine.Parts, available func(context.Context) Offer) (engine.Result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	at, err := prepare(ctx, &spec, parts, available)
	if err != nil {
		return engine.Result{}, &engine.Error{Kind: engine.KindInput, Err: err} // nothing was started
	}
	defer at.close()
	site, files := at.site, at.site.Workspace
	if parts.Container == nil { // else the host stores files
		if stored := runtimes.NewSnapshots(spec, parts, spec.Isolation.Sandbox != expert.SandboxFull); stored != nil {
			parts.Snapshots = stored
			defer runtimes.CloseSnapshots(stored, parts.Log)
		}
	}
	open := announce(site.Open, at.lacks)
	limitPrograms(spec, parts, site.Commands, cancel)
	if size := limitSize(spec, files, cancel); size != nil {
		size.Measure = site.Commands.WithUnlinked(files.Path(), size.Measure)
		site.Wrap = size.Watch
		var measured sync.Once
		announced := open
		open = func(ctx context.Context, req engine.SkillRequest) (*skill.Toolbox, error) {
			// A workspace that is too large already stops the job before a model is asked.
			// From then on the calls of all Experts are watched.
			measured.Do(func() { size.Check(ctx) })
			return announced(ctx, req)
		}
	}
	if parts.Container == nil { // else the host decides
		parts.Approvals = &calls.Decider{Spec: spec, Workspace: files, Environ: parts.Environ, Lock: site.Lock, Granted: parts.Granted}
	}
	return engine.Execute(ctx, spec, parts, open)
}

// A place is what the skills of a job run in, and what has to be closed afterwards.
type place struct {
	site  *skills.Site
	lacks string // what the sandboxes of this machine do not protect
	close func()
}

// announce records what the sandboxes of the job do not protect, when its first Run starts.
func announce(open openFunc, lacks string) openFunc {
	if lacks == "" {
		return open
	}
	var once sync.Once
	return func(ctx context.Context, req engine.SkillRequest) (*skill.Toolbox, error) {
		once.Do(func() { req.Report(event.SandboxCheck{Check: "level", OK: true, Message: lacks}) })
		return open(ctx, req)
	}
}

type openFunc = func(context.Context, engine.SkillRequest) (*skill.Toolbox, error)

// prepare opens the workspace and makes the directories of skills. It completes the Spec.
func prepare(ctx context.Context, spec *job.Spec, parts engine.Parts, available func(context.Context) Offer) (_ *place, err error) {
	var opened []func()
	end := func() {
		for _, close := range slices.Backward(opened) {
			close()
		}
	}
	defer func() {
		if err != nil {
			end()
		}
	}()
	lock, err := runtimes.Lock(*spec)
	if err != nil {
		return nil, err
	}
	reachable, _ := expert.Closure(spec.Experts, spec.Coordinator())
	files, frozen, err := openWorkspace(*spec, parts, reachable)
	if err != nil {
		return nil, err
	}
	opened = append(opened, func() { files.Close() })
	if parts.Container == nil {
		spec.Workspace.Dir = files.Path() // without links: the model is told the real path
		// In a container the host has recorded them.
		if err := skills.RecordPrograms(spec, lock); err != nil {
			return nil, err
		}
	}
	held, err := skills.HoldPrograms(reachable, files.Path(), parts.Environ)
	if err != nil {
		return nil, err
	}
	sandboxes, lacks, remove, err := prepareSandboxes(ctx, spec, parts, reachable, files.Path(), frozen, available)
	if err != nil {
		return nil, err
	}
	opened = append(opened, remove)
	data, removeData, err := dataDir(parts, reachable)
	if err != nil {
		return nil, err
	}
	opened = append(opened, removeData)
	supervisor := sandbox.NewSupervisor()
	opened = append(opened, func() {
		if err := supervisor.Close(); err != nil {
			parts.Log.Error("commands may be running still", "error", err)
		}
	})
	site := &skills.Site{
		Parts:     parts,
		Lock:      lock,
		Workspace: files,
		Commands:  supervisor,
		Packages:  &packages.Store{Dir: parts.CacheDir, Commands: supervisor, Environ: parts.Environ, Hosts: parts.PackageHosts},
		Data:      data,
		Programs:  spec.Programs,
		Held:      held,
		Sandboxes: sandboxes,
	}
	if c := parts.Container; c != nil && c.Packages != "" {
		site.Packages.Dir, site.Packages.Sealed = c.Packages, true
	}
	return &place{site, lacks, end}, nil
}

// openWorkspace opens the workspace. Packages can lie in it, if it is the user's home; a
// tool that could write there would change what skills run.
//
// Nor can tools change what the skills of the job are started from, which is returned too.
func openWorkspace(spec job.Spec, parts engine.Parts, experts []*expert.Expert) (files *workspace.Workspace, frozen []string, err error) {
	dir, hidden, readOnly := spec.Workspace.Dir, spec.Workspace.Hidden, spec.Workspace.ReadOnly
	if c := parts.Container; c != nil {
		dir, hidden, readOnly = c.Workspace, c.Hidden, c.ReadOnly
	}
	if parts.CacheDir != "" {
		hidden = append(slices.Clip(hidden), parts.CacheDir)
	}
	for _, path := range spec.Isolation.Reach.Hide {
		hidden = append(slices.Clip(hidden), filepath.Join(dir, path))
	}
	for _, path := range spec.Isolation.Reach.Protect {
		readOnly = append(slices.Clip(readOnly), filepath.Join(dir, path))
	}
	programs, links, err := skills.FrozenPrograms(experts, dir, job.Local, parts.Environ)
	if err != nil {
		return nil, nil, fmt.Errorf("open workspace: %w; choose an existing directory", err)
	}
	frozen = slices.Concat(programs, links)
	files, err = workspace.Open(dir, workspace.Options{Protected: hidden, ReadOnly: slices.Concat(readOnly, frozen)})
	return files, frozen, err
}

// dataDir returns where skills have directories for their data. Without a place for it, it is
// removed when the job ends.
func dataDir(parts engine.Parts, experts []*expert.Expert) (dir string, remove func(), err error) {
	dir, temporary := parts.DataDir, ""
	if c := parts.Container; c != nil {
		dir, temporary = c.Data, c.Tmp
	}
	if dir != "" || !skills.NeedData(experts) {
		return dir, func() {}, nil
	}
	dir, clear, err := skills.MakeData(temporary)
	return dir, func() {
		if err := clear(); err != nil {
			parts.Log.Warn("the directory for data of skills is still there", "error", err)
		}
	}, err
}

// limitSize returns the watch that cancels a run when the workspace takes more bytes than
// it may; nil when there is no limit, so that nothing is measured.
func limitSize(spec job.Spec, files *workspace.Workspace, cancel context.CancelCauseFunc) *quota.Quota {
	most := spec.Limits.MaxWorkspaceBytes
	if most <= 0 {
		return nil
	}
	return &quota.Quota{
		Max:     most,
		Measure: files.Usage,
		Exceeded: func(used int64) {
			cancel(&engine.LimitError{Limit: event.LimitWorkspace, Used: float64(used), Max: float64(most)})
		},
		Failed: func(err error) { cancel(err) },
	}
}

// prepareSandboxes returns the sandboxes for the programs of a job, with their directories, and
// a function that removes these; nil if no program needs one. lacks is what they do not protect. A
// job that needs a sandbox is refused as a whole if this machine has none. The Spec gets the level
// that is used.
func prepareSandboxes(ctx context.Context, spec *job.Spec, parts engine.Parts, reachable []*expert.Expert, workspace string, frozen []string, available func(context.Context) Offer) (_ *skills.Sandboxes, lacks string, remove func(), err error) {
	none := func() {}
	if spec.Isolation.SharedSandbox && parts.Container != nil { // the container is what they share
		return nil, "", none, nil
	}
	if spec.Isolation.Sandbox == "" && parts.Container == nil { // only a word turns it off, not a missing one
		spec.Isolation.Sandbox = job.DefaultSandbox
	}
	limits := spec.Isolation.SandboxLimits.Or(job.DefaultSandboxLimits())
	wanted := skills.OnHost(spec.Isolation.Sandbox.Restricts())
	wanted.Reach = spec.Isolation.Reach
	wanted.Limit(limits)
	needed := Needed(reachable, spec.Isolation.Sandbox)
	if c := parts.Container; c != nil {
		wanted = &skills.Sandboxes{All: true, System: c.System, Tmp: c.Tmp, Home: c.Home, MaxTasks: c.MaxTasks, MaxFileSize: limits.DiskGrowth}
		needed = Needed(reachable, expert.SandboxLandlock)
		if needed != "" {
			needed = expert.SandboxLandlock // the container adds what a higher level does
		}
	}
	if needed == "" {
		return nil, "", none, nil
	}
	offer := available(ctx)
	level, err := offer.Choose(needed)
	if err != nil {
		locked := slices.IndexFunc(reachable, wanted.ContainAny)
		return nil, "", none, fmt.Errorf("expert %q has a skill that must run in a sandbox: %w; "+
			"without a sandbox it can do everything that you can do; runtime docker puts a container around it", reachable[locked].Key, err)
	}
	if parts.Container == nil {
		lacks = offer.Lacks()
		if spec.Isolation.Sandbox.Restricts() {
			spec.Isolation.Sandbox = level
		}
		if level != expert.SandboxFull && spec.Isolation.Reach.Network == job.NetworkHost {
			return nil, "", none, fmt.Errorf("the network of the machine cannot be opened for a sandbox of level %s; list the hosts instead", level)
		}
	}
	sandboxes, clear, err := wanted.Prepare(ctx, level, workspace, skills.Machine{
		Environ: parts.Environ, Dir: parts.Dir, State: parts.StateDir, Caches: parts.ToolCacheDir, Now: parts.Source.Now,
		Hide: spec.Workspace.Hidden, Frozen: slices.Concat(spec.Workspace.ReadOnly, frozen), Log: parts.Log,
		Private: []string{parts.CacheDir, parts.DataDir, parts.SnapshotDir},
	})
	if err != nil {
		return nil, "", none, err
	}
	return sandboxes, lacks, func() {
		if err := clear(); err != nil {
			parts.Log.Warn("the directory of sandboxes is still there", "error", err)
		}
	}, nil
}
