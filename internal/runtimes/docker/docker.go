// Package docker runs jobs in containers: the whole Expert (engine, tools, commands) runs in
// a hardened container whose only way out is our egress proxy, which runs in a second one.
// The history is written on the host, as for any other run.
//
// It uses the API of the Docker daemon and nothing else: no docker command, no compose file,
// no shell. Nothing that a file or a model supplied becomes part of a command line, and
// secrets go in by standard input only (package hostlink).
//
// [Run] plans the job, makes the image (image.go) and the site (site.go: two networks, the
// proxy, the container), writes down what the engine in the container reports until it ends
// (session.go), and removes everything again. The next run removes what a killed run left
// behind (cleanup.go).
package docker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/lockfile"
	"github.com/perstack-go/perstack/internal/providers"
	"github.com/perstack-go/perstack/internal/runtimes"
	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/internal/skills"
	"github.com/perstack-go/perstack/job"
)

// Run runs a job in a container. Everything that can be wrong with it is found before the
// daemon is asked for anything.
//
// A job that plans runs in a container that can change nothing. When its plan is accepted, it resumes
// in another one.
func Run(ctx context.Context, spec job.Spec, parts engine.Parts) (engine.Result, error) {
	for {
		r, err := prepare(spec, parts)
		if err != nil {
			return engine.Result{}, &engine.Error{Kind: engine.KindInput, Err: err}
		}
		result, accepted, err := r.run(ctx)
		if err != nil || ctx.Err() != nil || !planEnded(result, accepted) {
			return result, err
		}
		spec.Input, parts.Attachments, parts.History = job.Input{Continue: true}, nil, nil
	}
}

// planEnded reports whether the engine in the container stopped because its plan was accepted. Any other
// end is that of the job.
func planEnded(result engine.Result, accepted bool) bool {
	return accepted && result.Status == event.StatusStoppedByInterrupt
}

// A runner is one job on its way into a container.
type runner struct {
	spec  job.Spec
	parts engine.Parts
	lock  *lockfile.Lock   // nil when there is none
	model providers.Bundle // of all models of the job
}

// prepare looks at everything that needs no daemon.
func prepare(spec job.Spec, parts engine.Parts) (*runner, error) {
	switch {
	case parts.Model != nil:
		return nil, errors.New("a model of the embedding program cannot be used in a container; name a provider in the Spec instead")
	case len(parts.Skills) > 0:
		return nil, errors.New("skills of the embedding program cannot be used in a container; use the runtime local, or skills that are MCP servers")
	}
	lock, err := runtimes.Lock(spec)
	if err != nil {
		return nil, err
	}
	if err := skills.RecordPrograms(&spec, lock); err != nil {
		return nil, err
	}
	r := &runner{spec: spec, parts: parts, lock: lock}
	for _, use := range spec.ModelUses() {
		model, err := providers.Pack(runtimes.ModelConfig(spec, parts, use.ModelChoice), use.Experts)
		if err == nil {
			err = providers.CheckReachable(use.Provider, model.URLs)
		}
		if err != nil {
			return nil, runtimes.NameExpert(use, err)
		}
		r.model.Add(model)
	}
	if err := r.checkAttachments(); err != nil {
		return nil, err
	}
	if err := r.checkUpstream(); err != nil {
		return nil, err
	}
	// The container must not see the history, and a missing directory cannot be hidden.
	if s, ok := parts.Store.(interface{ Prepare() error }); ok {
		if err := s.Prepare(); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// run runs the job in one container. accepted says that a plan was accepted meanwhile.
func (r *runner) run(ctx context.Context) (result engine.Result, accepted bool, err error) {
	if stored := runtimes.NewSnapshots(r.spec, r.parts, false); stored != nil { // no program of a container sees env files
		r.parts.Snapshots = stored
		defer runtimes.CloseSnapshots(stored, r.parts.Log)
	}
	decider, closeFiles, err := r.decider()
	if err != nil {
		return engine.Result{}, false, &engine.Error{Kind: engine.KindInput, Err: err}
	}
	defer func() {
		if closeErr := closeFiles(); err == nil {
			err = closeErr
		}
	}()
	r.parts.Approvals = decider
	follower, err := engine.Follow(ctx, r.spec, r.parts)
	if err != nil {
		return engine.Result{}, false, err
	}
	defer func() {
		if closeErr := follower.Close(); err == nil {
			err = closeErr
		}
	}()
	r.spec.RunID = follower.RunID()
	plan, err := r.plan(ctx)
	if err != nil {
		return engine.Result{}, false, &engine.Error{Kind: engine.KindInput, Err: err}
	}
	if follower.Plans() {
		plan.withoutEffects(providers.Hosts(r.model.URLs))
	}
	footing, err := r.footing()
	if err == nil {
		plan.proxyImage = footing.squid // until it is made
		err = plan.checkProxy()
	}
	if err != nil {
		return engine.Result{}, false, &engine.Error{Kind: engine.KindInput, Err: err}
	}
	s := newSession(r, follower)
	defer r.parts.Inbox.Attach(s.takeAnswer)()
	defer s.close()
	defer func() { // the container is gone
		if storeErr := follower.StoreLastFiles(); err == nil {
			err = storeErr
		}
	}()

	var on *Site
	if err := s.while(func() (err error) {
		on, err = r.build(ctx, plan, footing, s.report)
		return err
	}); err != nil {
		return engine.Result{}, false, cause(ctx, err)
	}
	defer func() {
		defer on.daemon.Close()
		if closeErr := s.while(on.Close); closeErr != nil {
			r.parts.Log.Warn("something of the run may be left on the Docker daemon; the next run removes it", "error", closeErr)
		}
	}()
	document, err := r.document(on)
	if err == nil {
		err = follower.StoreFiles()
	}
	if err != nil {
		return engine.Result{}, false, err
	}
	result, err = s.live(ctx, on, on.Failed, document)
	return result, follower.PlanAccepted(), err
}

func (r *runner) container() *job.Container { return &r.spec.Isolation.Container }

// getenv returns a variable of the environment, never of an env file.
func (r *runner) getenv(name string) string {
	return sandbox.Variable(r.parts.Environ, name)
}

// build makes everything that the run needs on the daemon but its container.
func (r *runner) build(ctx context.Context, plan sitePlan, on footing, report func(event.Body)) (*Site, error) {
	limits := r.container()
	building, cancel := context.WithTimeoutCause(ctx, limits.BuildTimeout,
		fmt.Errorf("the image was not made within %s (buildTimeout in [docker])", limits.BuildTimeout))
	defer cancel()
	d, err := Connect(building, r.getenv, cmp.Or(r.getenv("HOME"), r.getenv("USERPROFILE")))
	if err != nil {
		return nil, cause(building, err)
	}
	for _, note := range d.Notes {
		r.parts.Log.Warn(note)
	}
	var image ImageSpec
	executable, err := os.Executable()
	if err == nil {
		image, err = Parts(executable, r.getenv, d.Arch)
	}
	if err == nil {
		// What a dead run left behind may hold the last free network.
		_, _, err = d.Sweep(building)
	}
	if err == nil {
		plan.image, err = r.image(building, d, image, on, report)
	}
	if err == nil && on.squid != "" {
		plan.proxyImage, err = r.squid(building, d, image, on, report)
	}
	if err != nil {
		d.Close()
		return nil, cause(building, err)
	}
	site, err := d.build(ctx, plan, report)
	if err != nil {
		d.Close()
	}
	return site, err
}

// cause is why something failed: if ctx is done, what ended it.
func cause(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
