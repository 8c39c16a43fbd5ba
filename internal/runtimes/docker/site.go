package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/egress"
)

// A Site is what a run has on the daemon: two networks, the proxy, the container.
type Site struct {
	Listeners map[string]string // address of each listener, http://[perstack:token@]address:port
	// Failed has one value when the proxy has ended, or says what it should not. Nothing
	// goes out any more then, and the run should end.
	Failed chan error

	daemon *Daemon
	plan   sitePlan
	start  string // id of this start
	labels map[string]string
	report func(event.Body)

	inner, outer link
	listeners    []egress.Listener // with their addresses
	container    *Container
	launched     chan error // has a value when the container is started, or could not be

	ctx     context.Context // of what runs until Close
	cancel  context.CancelFunc
	making  sync.RWMutex // read-locked while something is made; Close waits for it
	working sync.WaitGroup
	closing sync.Once
	closed  error
}

// build makes the networks and starts the proxy and the container. report is called from several goroutines
// until the site is closed. On an error nothing is left.
func (d *Daemon) build(ctx context.Context, plan sitePlan, report func(event.Body)) (*Site, error) {
	if err := plan.check(); err != nil {
		return nil, err
	}
	if err := d.refuseSocket(plan.cover.Dir); err != nil {
		return nil, err
	}
	s := &Site{daemon: d, plan: plan, start: newStart(), Failed: make(chan error, 1), launched: make(chan error, 1), report: report}
	s.labels = ownLabels(plan.spec.JobID, s.start)
	s.ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	if err := s.build(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Site) build(ctx context.Context) (err error) {
	limit := s.plan.container().StartTimeout
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("the networks and the proxy did not start within %s (startTimeout in [docker])", limit))
	defer cancel()
	defer func() { err = cause(ctx, err) }()
	if err := s.connectNetworks(ctx); err != nil {
		return err
	}
	// It starts while the proxy does, and waits for its input.
	s.working.Go(func() {
		var err error
		s.container, err = s.launch(s.ctx, roleRuntime)
		s.launched <- err
	})
	if err := s.startProxy(ctx); err != nil {
		return fmt.Errorf("start the proxy: %w", err)
	}
	return nil
}

func (s *Site) connectNetworks(ctx context.Context) error {
	var ways sync.WaitGroup
	var innerErr, outerErr error
	ways.Go(func() {
		s.inner, innerErr = s.makeNetwork(ctx, "inner", innerOptions(s.daemon.Version, s.labels))
	})
	ways.Go(func() {
		if name := s.plan.container().Network; name != "" {
			s.outer, outerErr = s.daemon.outerNetwork(ctx, name)
			return
		}
		s.outer, outerErr = s.makeNetwork(ctx, "outer", outerOptions(s.labels))
	})
	ways.Wait()
	return errors.Join(innerErr, outerErr)
}

func (s *Site) name(what string) string { return nameOf(s.start, what) }

// makeLimit bounds one request that makes something.
const makeLimit = time.Minute

// make calls do, which makes or starts something on the daemon, to its end even if ctx is
// done in between: a daemon continues a request whose client has left, and we would
// remove everything but what it makes then.
func (s *Site) make(ctx context.Context, do func(context.Context) error) error {
	s.making.RLock()
	defer s.making.RUnlock()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case s.ctx.Err() != nil:
		return errClosed
	}
	whole, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), makeLimit)
	defer cancel()
	if err := do(whole); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// fail says that the run should end.
func (s *Site) fail(err error) {
	select {
	case s.Failed <- err:
	default: // it was said already
	}
}

func (s *Site) status(r role, status, message string) {
	s.report(event.DockerContainerStatus{Service: string(r), Status: status, Message: message})
}

// listenerURL is how a client is told of a listener.
func listenerURL(l egress.Listener) string {
	u := url.URL{Scheme: "http", Host: l.Address}
	if l.Token != "" {
		u.User = url.UserPassword("perstack", l.Token)
	}
	return u.String()
}

// firstPort is that of the first listener. They have the container's network for themselves.
const firstPort = 3128

const maxListeners = 1000

func listenerAddress(inner netip.Addr, i int) string {
	return inner.String() + ":" + strconv.Itoa(firstPort+i)
}

// A Container runs, and we hold its streams. Both outputs have to be read: one that is not
// read blocks the other.
type Container struct {
	id     string
	Stdin  io.WriteCloser
	Stdout io.Reader
	Stderr io.Reader
	// Exited has one value when the container has ended.
	Exited <-chan Exit
}

// An Exit is how a container ended.
type Exit struct {
	Code        int
	OutOfMemory bool
	Err         error // why it is not known
}
