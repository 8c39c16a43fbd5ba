// Package local is the built-in runtime: engine and tools run in this process, commands
// and the servers of skills beside it, all as this user. It fences in the file tools, and
// programs only where a skill asks for a cell, or all of them are told to have one.
//
// It puts the parts together that the engine works with and does nothing else. Start
// reading at [Runtime.Run].
package local

import (
	"cmp"
	"context"
	"log/slog"
	"net/url"
	"slices"
	"sync"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/internal/lockfile"
	"github.com/perstack-go/perstack/internal/packages"
	"github.com/perstack-go/perstack/internal/runtimes"
	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/internal/skills"
	"github.com/perstack-go/perstack/internal/skills/quota"
	"github.com/perstack-go/perstack/internal/workspace"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/skill"
	"github.com/perstack-go/perstack/store"
)

// A Runtime runs jobs in this process.
type Runtime struct {
	Model  model.Model
	Store  store.Store
	Source engine.Source
	Log    *slog.Logger

	Workspace string   // directory that the file tools work in
	Protected []string // paths that no file tool may reach, beside the usual ones
	ReadOnly  []string // files that no file tool may change
	Environ   []string // of this process; commands and skills get the harmless part of it

	Lock     *lockfile.Lock           // what was installed, and must be found again; nil when there is no lockfile
	Env      func(name string) string // what skills may ask for by requiredEnv; nil for nothing
	CacheDir string                   // where packages are kept, for all projects

	// Gates is the address of the proxy by which a skill of an Expert gets out, with what
	// it has to show there; nil for no proxy. Commands use that of the base skill.
	Gates   func(expertKey, skill string) string
	Through *url.URL          // proxy by which remote skills are reached; nil for none
	Handed  map[string]string // variables that the user hands to commands
	Roots   string            // file with the authorities that programs must trust; empty leaves it to them
	// Cells says how programs are kept apart. Nil locks in those of skills that ask for it,
	// as with [skills.Machine]. Without Tmp and Home, directories are made for the job and
	// removed behind it.
	Cells *skills.Cells
	// SharedCell locks nobody in, whatever skills ask for.
	SharedCell bool
	// Sealed is the directory of packages of an image, to which nothing is added; empty for CacheDir.
	Sealed string

	// Redact takes secrets out of what tools, skills and providers say; nil leaves it.
	Redact func(string) string
	// Hide is told of secrets that are made while it runs, for Redact; nil for nobody.
	Hide func(name, value string)

	// MaxWorkspaceBytes is how many bytes the workspace may take; 0 means no limit. A run
	// that reaches it is stopped with [event.StopRunByLimit].
	MaxWorkspaceBytes int64

	// OneCallAtATime makes the calls of a turn run in order, for reproducible journals.
	OneCallAtATime bool

	cellsHere func() error // says why there are no cells here; nil means [cell.Available]
}

var _ runtimes.Runtime = (*Runtime)(nil)

// Name returns "local".
func (r *Runtime) Name() string { return "local" }

// Check reports a workspace that cannot be used.
func (r *Runtime) Check(context.Context) error {
	w, err := r.open()
	if err != nil {
		return err
	}
	return w.Close()
}

// open opens the workspace. Packages may lie in it, if it is the user's home; a tool that
// could write there would change what skills run.
func (r *Runtime) open() (*workspace.Workspace, error) {
	protected := r.Protected
	if r.CacheDir != "" {
		protected = append(slices.Clip(protected), r.CacheDir)
	}
	return workspace.Open(r.Workspace, workspace.Options{Protected: protected, ReadOnly: r.ReadOnly})
}

// Run runs a job.
func (r *Runtime) Run(ctx context.Context, job engine.Job, listener engine.Listener) (engine.Result, error) {
	files, err := r.open()
	if err != nil {
		return engine.Result{}, &engine.Error{Kind: engine.KindInput, Err: err}
	}
	defer files.Close()
	cells, remove, err := r.cells(job, files.Path())
	if err != nil {
		return engine.Result{}, &engine.Error{Kind: engine.KindInput, Err: err} // nothing was started
	}
	defer remove()
	supervisor := sandbox.NewSupervisor()
	defer func() {
		if err := supervisor.Close(); err != nil {
			r.Log.Error("commands may be running still", "error", err)
		}
	}()

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	where := &place{
		Runtime: r, files: files, commands: supervisor, size: r.limitSize(files, cancel),
		packages: &packages.Store{Dir: r.CacheDir, Commands: supervisor, Environ: r.Environ},
		cells:    cells,
	}
	if r.Sealed != "" {
		where.packages.Dir, where.packages.Sealed = r.Sealed, true
	}
	job.Runtime, job.Workspace = cmp.Or(job.Runtime, r.Name()), files.Path() // another runtime may have this one work in its walls
	parts := engine.Parts{
		Model:    r.Model,
		Store:    r.Store,
		Source:   r.Source,
		Log:      r.Log,
		Listener: listener,
		Redact:   r.Redact,
		Skills:   where.skills,
	}
	if r.OneCallAtATime {
		parts.Parallel = 1
	}
	return engine.Execute(ctx, job, parts)
}

// A place is where all Experts of one job work.
type place struct {
	*Runtime
	files    *workspace.Workspace
	commands *sandbox.Supervisor
	packages *packages.Store
	cells    *skills.Cells // nil when nobody is locked in
	size     *quota.Quota  // nil when there is no limit
	measured sync.Once
}

// skills starts what the Expert of a request declares. Each server is watched by a
// process of its own, the commands of all Experts by one together. All of these processes
// belong to commands: when it is closed, nothing of the job is left.
//
// It is called once for each Run, and a thousand may begin at once: what does not belong
// to one Run is made in [Runtime.Run].
func (p *place) skills(ctx context.Context, req engine.SkillRequest) (*skill.Toolbox, error) {
	around := skills.Surroundings{
		Lock:      p.Lock,
		Workspace: p.files,
		Commands:  p.commands,
		Packages:  p.packages,
		Environ:   p.Environ,
		Env:       p.Env,
		Through:   p.Through,
		Handed:    p.Handed,
		Roots:     p.Roots,
		Cells:     p.cells,
		Report:    req.Report,
		Stop:      req.Stop,
		Redact:    p.Redact,
		Hide:      p.Hide,
		Now:       p.Source.Now,
		Log:       p.Log,
		Delegates: req.Delegates,
		Delegated: req.Delegated,
	}
	if p.Gates != nil {
		around.Gate = func(skill string) string { return p.Gates(req.Expert.Key, skill) }
	}
	if p.size != nil {
		// A workspace that is too large already stops the job before a model is asked.
		// From then on the calls of all Experts are watched.
		p.measured.Do(func() { p.size.Check(ctx) })
		around.Wrap = p.size.Watch
	}
	return skills.Open(ctx, req.Expert, around)
}
