package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/moby/moby/client"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/egress"
	"github.com/perstack-go/perstack/job"
)

// A SiteSpec says what a run needs on the engine.
type SiteSpec struct {
	JobID string
	Image string // id

	Workspace string   // directory of the host
	ReadOnly  bool     // it cannot be changed
	Masked    []string // paths in the container that show nothing
	Frozen    []string // paths in the container that cannot be changed
	Pinned    []string // directories in the container that cannot be moved away
	Absent    []string // files of the workspace that the next run would use, and that are not there
	UID, GID  int      // who the container runs as

	Limits job.Container // complete
	// Gates of the proxy, without addresses, and the proxy that it goes through itself. A
	// gate without a token gets one, unless the proxy is Squid, which asks for none.
	Gates    []egress.Gate
	Upstream string

	Proxy      string // job.ProxyBuiltin or job.ProxySquid; empty means the first
	ProxyImage string // id, of the image that has Squid beside our program
	SharedCell bool   // skills are not kept apart from each other

	// Ahead starts the container while the proxy starts. It has to wait for its input then.
	Ahead bool

	Logger *slog.Logger // what the proxy tells beside its decisions; nil for nobody
}

// A Site is what a run has on the engine: two networks, the proxy, the container.
type Site struct {
	Gates   map[string]string // address of each gate, http://[perstack:token@]address:port
	Gateway string            // address that the host would have on the inner network
	// Failed has one value when the proxy has ended, or says what it should not. Nothing
	// goes out any more then, and the run should end.
	Failed <-chan error

	engine *Engine
	spec   SiteSpec
	start  string // id of this start
	labels map[string]string
	report func(event.Body)

	inner, outer link
	gates        []egress.Gate // with their addresses
	failed       chan error
	ahead        chan started // the container, if it is started ahead

	ctx     context.Context // of what goes on until Close
	cancel  context.CancelFunc
	making  sync.RWMutex // held by whoever makes something; Close waits for them
	working sync.WaitGroup
	closing sync.Once
	closed  error
}

// Build makes the networks and starts the proxy. What the engine and the proxy tell is
// reported as it happens, from other goroutines, until the site is closed. On an error
// nothing is left.
func (e *Engine) Build(ctx context.Context, spec SiteSpec, report func(event.Body)) (*Site, error) {
	if err := spec.check(); err != nil {
		return nil, err
	}
	if err := e.refuseSocket(spec.Workspace); err != nil {
		return nil, err
	}
	s := &Site{engine: e, spec: spec, start: newStart(), failed: make(chan error, 1), report: oneAtATime(report)}
	s.Failed = s.failed
	s.labels = ownLabels(spec.JobID, s.start)
	s.ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	if spec.Logger == nil {
		s.spec.Logger = slog.New(slog.DiscardHandler)
	}
	if err := s.build(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Site) build(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.spec.Limits.StartTimeout, fmt.Errorf("the proxy did not start within %s", s.spec.Limits.StartTimeout))
	defer cancel()
	if err := s.connectNetworks(ctx); err != nil {
		return err
	}
	s.Gateway = s.inner.gateway.String()
	if s.spec.Ahead {
		s.ahead = make(chan started, 1)
		s.working.Go(func() {
			c, err := s.launch(s.ctx, roleRuntime)
			s.ahead <- started{c, err}
		})
	}
	if err := s.startProxy(ctx); err != nil {
		return fmt.Errorf("start the proxy: %w", err)
	}
	return nil
}

// check refuses what would be no wall.
func (spec SiteSpec) check() error {
	if spec.UID <= 0 || spec.GID <= 0 {
		return fmt.Errorf("the container would run as %s, and nothing in it runs as root", userOf(spec.UID, spec.GID))
	}
	// What is not UTF-8 would reach the engine as another name.
	if !filepath.IsAbs(spec.Workspace) || !utf8.ValidString(spec.Workspace) {
		return fmt.Errorf("the workspace %q is not an absolute path in UTF-8", spec.Workspace)
	}
	for _, p := range slices.Concat(spec.Masked, spec.Frozen, spec.Pinned) {
		if !utf8.ValidString(p) || path.Clean(p) != p || !strings.HasPrefix(p, workDir+"/") {
			return fmt.Errorf("%q is not a path in the workspace that the engine can be told", p)
		}
	}
	l := spec.Limits
	if l.Memory <= 0 || l.CPUs <= 0 || l.PIDs <= 0 || l.TmpSize <= 0 || l.CacheSize <= 0 || l.StartTimeout <= 0 {
		return errors.New("a limit of the container is missing: memory, processors, processes, sizes and times have to be above 0")
	}
	for _, server := range l.DNS {
		if _, err := netip.ParseAddr(server); err != nil {
			return fmt.Errorf("DNS server %q is not an address: %w", server, err)
		}
	}
	if len(spec.Gates) > maxGates {
		return fmt.Errorf("%d skills need a way out, and %d can have one", len(spec.Gates), maxGates)
	}
	return spec.checkProxy()
}

// checkProxy refuses what Squid cannot do, before anything is made.
func (spec SiteSpec) checkProxy() error {
	switch spec.Proxy {
	case "", job.ProxyBuiltin:
		return nil
	case job.ProxySquid:
	default:
		return fmt.Errorf("there is no proxy %q; write %s or %s", spec.Proxy, job.ProxyBuiltin, job.ProxySquid)
	}
	switch {
	case spec.ProxyImage == "":
		return errors.New("proxy = \"squid\" needs an image that has Squid; name one: squidImage in [docker]")
	case spec.SharedCell:
		// Without tokens and without cells, every skill could use the gates of all.
		return errors.New("squid asks for no token, so only cells keep the gates of skills apart; leave --shared-cell out, or use proxy = \"builtin\"")
	case spec.Upstream != "":
		return errors.New("squid does not go through another proxy here; use proxy = \"builtin\" with an upstream proxy")
	}
	return nil
}

// Tokenless reports whether the gates ask for no token. Only cells keep them apart then.
func (spec SiteSpec) Tokenless() bool { return spec.Proxy == job.ProxySquid }

func (s *Site) connectNetworks(ctx context.Context) (err error) {
	var ways sync.WaitGroup
	var innerErr, outerErr error
	ways.Go(func() {
		s.inner, innerErr = s.makeNetwork(ctx, "inner", innerOptions(s.engine.Version, s.labels))
	})
	ways.Go(func() {
		if s.spec.Limits.Network != "" {
			s.outer, outerErr = s.engine.outerNetwork(ctx, s.spec.Limits.Network)
			return
		}
		s.outer, outerErr = s.makeNetwork(ctx, "outer", outerOptions(s.labels))
	})
	ways.Wait()
	return errors.Join(innerErr, outerErr)
}

func (s *Site) makeNetwork(ctx context.Context, name string, options client.NetworkCreateOptions) (made link, err error) {
	err = s.make(ctx, func(ctx context.Context) error {
		made, err = s.engine.makeNetwork(ctx, s.name(name), options)
		return err
	})
	return made, err
}

// name returns a name for an object of this start.
func (s *Site) name(what string) string { return "perstack-" + s.start + "-" + what }

// makeLimit bounds one request that makes something.
const makeLimit = time.Minute

// make calls do, which makes or starts something on the engine, to its end even if ctx is
// done in between: an engine goes on with a request whose client has left, and we would
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
	case s.failed <- err:
	default: // it was said already
	}
}

func (s *Site) status(r role, status, message string) {
	s.report(event.DockerContainerStatus{Service: string(r), Status: status, Message: message})
}

func oneAtATime(report func(event.Body)) func(event.Body) {
	var turn sync.Mutex
	return func(b event.Body) {
		turn.Lock()
		defer turn.Unlock()
		report(b)
	}
}

// gateURL is how a client is told of a gate.
func gateURL(g egress.Gate) string {
	u := url.URL{Scheme: "http", Host: g.Address}
	if g.Token != "" {
		u.User = url.UserPassword("perstack", g.Token)
	}
	return u.String()
}

// firstPort is that of the first gate. They have the container's network for themselves.
const firstPort = 3128

// maxGates bounds the listeners of the proxy.
const maxGates = 1000

func gateAddress(inner netip.Addr, i int) string {
	return inner.String() + ":" + strconv.Itoa(firstPort+i)
}

// A Container is the one that the Expert runs in, attached. Both outputs have to be read:
// one that nobody reads keeps the other from coming.
type Container struct {
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
	Err         error // the engine could not tell
}
