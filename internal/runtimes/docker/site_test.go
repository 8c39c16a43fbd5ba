package docker

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/egress"
	"github.com/perstack-go/perstack/internal/testkit/jail"
)

func TestSiteComesAndGoes(t *testing.T) {
	t.Parallel()
	d := realDaemon(t)
	s, notes := buildSite(t, d, testPlan(t))
	_, c := enter(t, s, jail.Task{})
	if end := <-c.Exited; end != (Exit{}) {
		t.Errorf("it ended with %+v", end)
	}
	if list := left(t, d, s.start); len(list) != 4 {
		t.Errorf("the site is %q", list)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if list := left(t, d, s.start); len(list) != 0 {
		t.Errorf("left after Close: %q", list)
	}
	if err := s.Close(); err != nil {
		t.Errorf("the second Close: %v", err)
	}
	if got := notes.statuses(roleProxy); !slices.Equal(got, []string{"starting", "running", "healthy", "stopped"}) {
		t.Errorf("the proxy was %q", got)
	}
	if got := notes.statuses(roleRuntime); !slices.Equal(got, []string{"starting", "running", "stopped"}) {
		t.Errorf("the container was %q", got)
	}
}

// Whatever the moment that it is cancelled at, nothing is left.
func TestBuildIsCancelled(t *testing.T) {
	t.Parallel()
	d := realDaemon(t)
	plan := testPlan(t)
	stop := errors.New("stop")
	for _, moment := range []string{"starting", "running", "healthy"} {
		t.Run(moment, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			s, err := d.build(ctx, plan, func(b event.Body) {
				if status, ok := b.(event.DockerContainerStatus); ok && status.Service == string(roleProxy) && status.Status == moment {
					cancel(stop)
				}
			})
			if moment == "healthy" && err == nil { // it had come to its end
				err = s.Close()
			} else if !errors.Is(err, stop) {
				t.Errorf("Build = %v, %v", s, err)
			}
			if list := ofJob(t, d, plan.spec.JobID); len(list) != 0 {
				t.Errorf("left: %q, %v", list, err)
			}
		})
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stop)
	if _, err := d.build(ctx, plan, func(event.Body) {}); !errors.Is(err, stop) {
		t.Errorf("Build with a context that is done: %v", err)
	}
	if list := ofJob(t, d, plan.spec.JobID); len(list) != 0 {
		t.Errorf("left: %q", list)
	}
}

// A site is closed when the context of Build is done already.
func TestCloseAfterTheContext(t *testing.T) {
	t.Parallel()
	d := realDaemon(t)
	plan := testPlan(t)
	ctx, cancel := context.WithCancel(t.Context())
	s, err := d.build(ctx, plan, func(event.Body) {})
	if err != nil {
		t.Fatal(err)
	}
	_, c := enter(t, s, jail.Task{Hold: true})
	cancel()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if end := <-c.Exited; end.Err == nil && end.Code != 137 && end.Code != 0 {
		t.Errorf("the container ended with %+v", end)
	}
	if _, err := io.ReadAll(c.Stdout); err != nil {
		t.Errorf("its output ended with %v", err)
	}
	if list := left(t, d, s.start); len(list) != 0 {
		t.Errorf("left: %q", list)
	}
}

// What cannot be built leaves nothing.
func TestBuildFails(t *testing.T) {
	t.Parallel()
	d := realDaemon(t)
	good := testPlan(t)
	for name, c := range map[string]struct {
		change func(*sitePlan)
		want   string
	}{
		"no such image":      {func(p *sitePlan) { p.image = "perstack-no-such-image:1" }, "o such image"},
		"no such network":    {func(p *sitePlan) { p.container().Network = "perstack-no-such-network" }, "does not exist"},
		"two listeners":      {func(p *sitePlan) { p.listeners = append(p.listeners, p.listeners[0]) }, "two listeners are called"},
		"root":               {func(p *sitePlan) { p.cover.UID = 0 }, "it must not run as root"},
		"root's group":       {func(p *sitePlan) { p.cover.GID = 0 }, "it must not run as root"},
		"a relative path":    {func(p *sitePlan) { p.cover.Dir = "x" }, "is not an absolute path"},
		"no UTF-8":           {func(p *sitePlan) { p.cover.Dir = "/\xff" }, "is not an absolute path in UTF-8"},
		"a mask elsewhere":   {func(p *sitePlan) { p.cover.Masked = []string{"/perstack"} }, "is not a path in the workspace"},
		"a mask of all":      {func(p *sitePlan) { p.cover.Masked = []string{"/workspace"} }, "is not a path in the workspace"},
		"a mask that leads":  {func(p *sitePlan) { p.cover.Frozen = []string{"/workspace/../etc"} }, "is not a path in the workspace"},
		"no memory limit":    {func(p *sitePlan) { p.container().Memory = 0 }, "a limit of the container is missing"},
		"no process limit":   {func(p *sitePlan) { p.container().PIDs = 0 }, "a limit of the container is missing"},
		"a name as DNS":      {func(p *sitePlan) { p.container().DNS = []string{"dns.example"} }, "is not an address"},
		"too many listeners": {func(p *sitePlan) { p.listeners = make([]egress.Listener, maxListeners+1) }, "need a listener"},
	} {
		plan := good
		c.change(&plan)
		s, err := d.build(t.Context(), plan, func(event.Body) {})
		if s != nil || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, %v", name, s, err)
		}
	}
	if list := ofJob(t, d, good.spec.JobID); len(list) != 0 {
		t.Errorf("left: %q", list)
	}
}

// A workspace that is gone is an error of Start, and the site can still be closed.
func TestStartFails(t *testing.T) {
	t.Parallel()
	d := realDaemon(t)
	plan := testPlan(t)
	plan.cover.Dir += "/none"
	s, _ := buildSite(t, d, plan)
	if c, err := s.Start(t.Context()); err == nil {
		t.Errorf("it started: %+v", c)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Errorf("Stop: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}
