package docker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/lockfile"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/runtimes"
	"github.com/perstack-go/perstack/internal/runtimes/docker/hatch"
	"github.com/perstack-go/perstack/internal/workspace"
	"github.com/perstack-go/perstack/store"
)

// A Runtime runs jobs in containers.
type Runtime struct {
	Store  store.Store
	Source engine.Source
	Log    *slog.Logger

	// Getenv and Home say where the engine is, and what the image is made of. Getenv must not
	// answer from env files.
	Getenv     func(name string) string
	Home       string
	Executable string // this program

	Limits expert.Docker // complete: see [expert.DefaultDocker]

	Workspace string   // directory of the host
	Protected []string // paths that show nothing in the container, if they lie in the workspace
	ReadOnly  []string // files that cannot be changed there

	Config *manifest.Config
	Lock   *lockfile.Lock // nil when there is none

	Thinker  hatch.Thinker
	Origins  []string // that the model is reached at
	Upstream string   // proxy that the egress proxy goes through; empty for none

	Env    func(name string) string // values of requiredEnv
	Handed map[string]string        // variables that commands get
	// Secrets returns those among the secrets of the run that occur in the texts.
	Secrets func(texts ...string) map[string]string
	// Redact takes secrets out of what comes out of the container; nil leaves it.
	Redact func(string) string

	CacheDir   string   // where packages of skills are fetched to, for all projects
	Environ    []string // of this process, for npm and uv on the host
	SharedCell bool     // skills are not kept apart from each other

	MaxWorkspaceBytes int64
	OneCallAtATime    bool
	Verbose           bool
}

var _ runtimes.Runtime = (*Runtime)(nil)

// Name returns "docker".
func (r *Runtime) Name() string { return "docker" }

// Check reports an engine that cannot be used, or a workspace that cannot be worked in.
func (r *Runtime) Check(ctx context.Context) error {
	if _, err := r.siteSpec(ctx, engine.Job{}); err != nil {
		return err
	}
	e, err := Connect(ctx, r.Getenv, r.Home)
	if err != nil {
		return err
	}
	return e.Close()
}

// Run runs a job. Everything that can be wrong with it is found before the engine is
// asked for anything.
func (r *Runtime) Run(ctx context.Context, job engine.Job, listener engine.Listener) (result engine.Result, err error) {
	job.Runtime, job.Workspace = r.Name(), workDir
	follower, err := engine.Follow(ctx, job, engine.Parts{Store: r.Store, Source: r.Source, Listener: listener})
	if err != nil {
		return engine.Result{}, err
	}
	defer func() {
		if closeErr := follower.Close(); err == nil {
			err = closeErr
		}
	}()
	job.RunID = follower.RunID()
	spec, err := r.siteSpec(ctx, job)
	if err != nil {
		return engine.Result{}, &engine.Error{Kind: engine.KindInput, Err: err}
	}
	footing, err := r.footing(job)
	if err == nil {
		spec.ProxyImage = footing.squid // until it is made
		err = spec.checkProxy()
	}
	if err != nil {
		return engine.Result{}, &engine.Error{Kind: engine.KindInput, Err: err}
	}
	s := newSession(r, follower)
	defer s.close()

	var site *Site
	if err := s.while(func() (err error) {
		site, err = r.build(ctx, spec, footing, s.report)
		return err
	}); err != nil {
		return engine.Result{}, s.early(ctx, err)
	}
	defer func() {
		if closeErr := s.while(func() error { return errors.Join(site.Close(), site.engine.Close()) }); closeErr != nil {
			r.Log.Warn("something of the run may be left on the container engine; the next run removes it", "error", closeErr)
		}
		r.setAside(spec, job.ID)
	}()
	return s.live(ctx, site, site.Failed, r.document(job, site, spec))
}

// setAside moves away what a run has made under a name that the next run would read: its
// configuration, its lockfile, its env files. The file tools cannot make those, but commands
// can. Whoever is in the container could else have the next run do something outside of it.
func (r *Runtime) setAside(spec SiteSpec, jobID string) {
	moved, err := workspace.SetAside(spec.Workspace, spec.Absent, ".from-"+jobID)
	for from, to := range moved {
		r.Log.Warn("the run has made a file that the next run would use; it was moved away, so look at it first", "file", from, "now", to)
	}
	if err != nil {
		r.Log.Warn("it is not known whether the run has made files that the next run would use; look at the workspace first", "error", err)
	}
}

// build makes everything that the run needs on the engine but its container.
func (r *Runtime) build(ctx context.Context, spec SiteSpec, on footing, report func(event.Body)) (*Site, error) {
	building, cancel := context.WithTimeoutCause(ctx, r.Limits.BuildTimeout,
		fmt.Errorf("the image was not made within %s (buildTimeout in [docker])", r.Limits.BuildTimeout))
	defer cancel()
	e, err := Connect(building, r.Getenv, r.Home)
	if err != nil {
		return nil, cause(building, err)
	}
	for _, note := range e.Notes {
		r.Log.Warn(note)
	}
	image, err := Parts(r.Executable, r.Getenv, e.Arch)
	if err == nil {
		// What a dead run left behind may hold the last free network.
		_, err = e.Sweep(building)
	}
	if err == nil {
		spec.Image, err = r.image(building, e, image, on, report)
	}
	if err == nil && on.squid != "" {
		spec.ProxyImage, err = r.squid(building, e, image, on, report)
	}
	if err != nil {
		return nil, errors.Join(cause(building, err), e.Close())
	}
	starting, cancel := context.WithTimeoutCause(ctx, r.Limits.StartTimeout,
		fmt.Errorf("the networks and the proxy were not there within %s (startTimeout in [docker])", r.Limits.StartTimeout))
	defer cancel()
	site, err := e.Build(starting, spec, report)
	if err != nil {
		return nil, errors.Join(cause(starting, err), e.Close())
	}
	return site, nil
}

// cause is why something failed, if that was because its time was over.
func cause(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
