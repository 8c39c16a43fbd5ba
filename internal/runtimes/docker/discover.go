package docker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/runtimes"
	"github.com/perstack-go/perstack/internal/runtimes/docker/hostlink"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/rawjson"
)

// A Discovery is what is told while skills are asked for their tools in a container.
type Discovery struct {
	Progress func(event.Body)              // of image and container; from several goroutines
	Note     func(key, skill, line string) // what the server of a skill wrote
	// Found is told the definitions of the tools of a skill, or why there are none. They come
	// from an untrusted program.
	Found func(key, skill string, tools []rawjson.Value, err error)
}

// Discover starts the skills of a Spec in a container, as a job of it would, lists their tools and
// removes the container. The lockfile of the Spec has their packages and images.
func Discover(ctx context.Context, spec job.Spec, parts engine.Parts, tell Discovery) error {
	lock, err := runtimes.Lock(spec)
	if err != nil {
		return err
	}
	parts.DataDir = "" // what servers write meanwhile is no data of the project
	r := &runner{spec: spec, parts: parts, lock: lock}
	plan, err := r.plan(ctx)
	if err != nil {
		return err
	}
	footing, err := r.footing()
	if err == nil {
		plan.proxyImage = footing.squid // until it is made
		err = plan.checkProxy()
	}
	if err != nil {
		return err
	}
	on, err := r.build(ctx, plan, footing, tell.Progress)
	if err != nil {
		return cause(ctx, err)
	}
	defer func() {
		defer on.daemon.Close()
		if err := on.Close(); err != nil {
			parts.Log.Warn("something of the container may be left on the Docker daemon; the next run removes it", "error", err)
		}
	}()
	document, err := r.document(on)
	if err != nil {
		return err
	}
	document.Discover = true
	opening, err := hostlink.Encode(hostlink.Down{Document: document})
	if err != nil {
		return err
	}
	c, err := on.Start(ctx)
	if err != nil {
		return cause(ctx, err)
	}
	s := &survey{runner: r, tell: tell, expected: expectedSkills(spec)}
	t := newTalk(c, [][]byte{opening})
	defer t.hangUp()
	return cause(ctx, s.attend(ctx, t, on.Failed))
}

// A survey takes what a container says that is asked for tools. It believes nothing: a skill that
// was not asked has no tools, and each answers once.
type survey struct {
	runner   *runner
	tell     Discovery
	greeted  bool
	checked  int
	failed   []string // checks of the isolation
	notes    int
	expected map[[2]string]bool
}

func expectedSkills(spec job.Spec) map[[2]string]bool {
	all := make(map[[2]string]bool)
	for _, e := range spec.Experts {
		for _, k := range e.Servers() {
			all[[2]string{e.Key, k.Name}] = true
		}
	}
	return all
}

// maxNotes bounds the lines of servers that are shown.
const maxNotes = 10_000

func (s *survey) attend(ctx context.Context, t *talk, failed <-chan error) error {
	limits := s.runner.container()
	idle := time.NewTimer(limits.IdleTimeout)
	for {
		select {
		case up, ok := <-t.ups:
			if !ok {
				return s.gone(t)
			}
			if up.End != nil {
				return s.end(up.End)
			}
			if err := s.take(up); err != nil {
				return err
			}
			idle.Reset(limits.IdleTimeout)
		case err := <-failed:
			return err
		case <-idle.C:
			return fmt.Errorf("the container sent nothing for %s (idleTimeout in [docker])", limits.IdleTimeout)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (s *survey) take(up hostlink.Up) error {
	if !s.greeted && up.Hello == nil {
		return errors.New("the first line of the container is not its version")
	}
	switch {
	case up.Hello != nil:
		s.greeted = true
		if up.Hello.Protocol != hostlink.Protocol {
			return fmt.Errorf("the perstack in the container is another version (protocol %d; here %d); use the same version", up.Hello.Protocol, hostlink.Protocol)
		}
	case up.Check != nil:
		if s.checked++; s.checked > maxChecks {
			return errors.New("the container reported more checks than there are")
		}
		if !up.Check.OK {
			s.failed = append(s.failed, s.clean(up.Check.Name+": "+up.Check.Detail))
		}
	case up.Note != nil:
		if s.notes++; s.notes <= maxNotes && s.isAsked(up.Note.Expert, up.Note.Skill) {
			s.tell.Note(up.Note.Expert, up.Note.Skill, s.clean(up.Note.Text))
		}
	case up.Found != nil:
		return s.found(*up.Found)
	case up.Append != nil, up.Commit != 0, len(up.Show) > 0:
		return errors.New("the container reports a job, and none was started")
	}
	return nil
}

func (s *survey) isAsked(key, skill string) bool { return s.expected[[2]string{key, skill}] }

func (s *survey) found(f hostlink.Found) error {
	switch {
	case s.checked == 0 || len(s.failed) > 0:
		return errors.New("the container started skills without a check of its isolation that passed")
	case !s.isAsked(f.Expert, f.Skill):
		return errors.New("the container reports a skill that it was not asked for")
	}
	delete(s.expected, [2]string{f.Expert, f.Skill})
	var err error
	if f.Error != "" {
		err = errors.New(s.clean(f.Error))
	}
	s.tell.Found(f.Expert, f.Skill, f.Tools, err)
	return nil
}

func (s *survey) end(end *hostlink.End) error {
	switch {
	case len(s.failed) > 0:
		return fmt.Errorf("the container is not isolated, so no skill was started: %s; please report it with the version of your Docker daemon (docker version)", s.failed[0])
	case end.Error != "":
		return errors.New(s.clean(end.Error))
	case len(s.expected) > 0:
		return errors.New("the container ended before all skills had listed their tools")
	}
	return nil
}

// gone says why nothing comes from the container any more.
func (s *survey) gone(t *talk) error {
	if t.err != nil {
		return fmt.Errorf("what the container says cannot be trusted: %w", t.err)
	}
	if tail := s.clean(t.stderr.text()); tail != "" {
		return errors.New("the container ended early: " + tail)
	}
	return errors.New("the container ended early")
}

func (s *survey) clean(text string) string { return s.runner.clean(text) }
