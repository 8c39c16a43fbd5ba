package docker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/perstack-go/perstack/internal/egress"
	"github.com/perstack-go/perstack/internal/netaddr"
	"github.com/perstack-go/perstack/internal/skills"
	"github.com/perstack-go/perstack/job"
)

// A sitePlan is what a job needs on the daemon: its Spec, and what was found out for it.
type sitePlan struct {
	spec  job.Spec // complete
	cover Cover    // of its workspace
	data  []string // directories of the host for data of skills, each named as in the container

	// listeners of the proxy, without addresses. A listener without a token gets one, unless the
	// proxy is Squid, which asks for none.
	listeners []egress.Listener
	upstream  string // proxy that the proxy itself goes through; empty for none

	args       []string // of the program in the container; nil means the engine
	image      string   // id
	proxyImage string   // id, of the image that has Squid beside our program

	log *slog.Logger // what the proxy tells beside its decisions
}

// plan finds out what a job needs. What is wrong with the workspace shows here, before the
// daemon is asked for anything.
func (r *runner) plan(ctx context.Context) (sitePlan, error) {
	w := r.spec.Workspace
	// The links that lead to programs cannot be mounted read-only: they are compared before a start.
	frozen, _, err := skills.FrozenPrograms(r.spec.Experts, w.Dir, job.Docker, nil)
	if err != nil {
		return sitePlan{}, unfit("workspace: %w", err)
	}
	cover, err := CoverWorkspace(ctx, w.Dir, w.Hidden, slices.Concat(w.ReadOnly, frozen))
	if err != nil {
		return sitePlan{}, err
	}
	data, err := r.dataDirs(cover)
	if err != nil {
		return sitePlan{}, err
	}
	return sitePlan{
		spec: r.spec, cover: cover, data: data,
		listeners: r.listeners(), upstream: r.model.Upstream,
		log: r.parts.Log,
	}, nil
}

// withoutEffects keeps the container from changing the workspace, and from all hosts but those of the
// models: remote skills are not connected either.
func (p *sitePlan) withoutEffects(models []string) {
	p.container().ReadOnlyWorkspace = true
	for i, l := range p.listeners {
		p.listeners[i].Allow = nil
		if l.Name == engineListener {
			p.listeners[i].Allow = models
		}
	}
}

func (p *sitePlan) container() *job.Container { return &p.spec.Isolation.Container }

// check refuses a plan that would not isolate the container.
func (p *sitePlan) check() error {
	if p.cover.UID <= 0 || p.cover.GID <= 0 {
		return fmt.Errorf("the container would run as %s, but it must not run as root", userOf(p.cover.UID, p.cover.GID))
	}
	// What is not UTF-8 would reach the daemon as another name.
	if dir := p.cover.Dir; !filepath.IsAbs(dir) || !utf8.ValidString(dir) {
		return fmt.Errorf("the workspace %q is not an absolute path in UTF-8", dir)
	}
	for _, dir := range p.data {
		if !filepath.IsAbs(dir) || !utf8.ValidString(dir) {
			return fmt.Errorf("the directory %q for data of a skill is not an absolute path in UTF-8", dir)
		}
	}
	for _, covered := range slices.Concat(p.cover.Masked, p.cover.Frozen, p.cover.Pinned) {
		if !utf8.ValidString(covered) || path.Clean(covered) != covered || !strings.HasPrefix(covered, workDir+"/") {
			return fmt.Errorf("%q is not a path in the workspace that can be sent to the daemon", covered)
		}
	}
	c := p.container()
	if c.Memory <= 0 || c.CPUs <= 0 || c.PIDs <= 0 || c.TmpSize <= 0 || c.CacheSize <= 0 || c.StartTimeout <= 0 {
		return errors.New("a limit of the container is missing: memory, processors, processes, sizes and times must be above 0")
	}
	for _, server := range c.DNS {
		if _, err := netip.ParseAddr(server); err != nil {
			return fmt.Errorf("DNS server %q is not an address: %w", server, err)
		}
	}
	if len(p.listeners) > maxListeners {
		return fmt.Errorf("%d skills need a listener of the proxy, and it can have %d", len(p.listeners), maxListeners)
	}
	return p.checkProxy()
}

// checkProxy refuses what Squid cannot do, before anything is made.
func (p *sitePlan) checkProxy() error {
	switch proxy := p.container().Proxy; proxy {
	case "", job.ProxyBuiltin:
		return nil
	case job.ProxySquid:
	default:
		return fmt.Errorf("the proxy %q is unknown; write %s or %s", proxy, job.ProxyBuiltin, job.ProxySquid)
	}
	switch {
	case p.proxyImage == "":
		return errors.New("proxy = \"squid\" needs an image that has Squid; name one: squidImage in [docker]")
	case p.spec.Isolation.SharedSandbox:
		// Without tokens and without sandboxes, every skill could use the listeners of all.
		return errors.New("squid does not check tokens, so skills in a shared sandbox could use the listeners of one another; use separate sandboxes or proxy = \"builtin\"")
	case p.upstream != "":
		return errors.New("squid cannot use an upstream proxy; use proxy = \"builtin\" for an upstream proxy")
	}
	return nil
}

// tokenless reports whether the listeners ask for no token. Only sandboxes keep them apart then.
func (p *sitePlan) tokenless() bool { return p.container().Proxy == job.ProxySquid }

// checkUpstream judges the proxy that the proxy of a container goes through itself: what
// PERSTACK_PROXY_URL says in the user's environment. HTTPS_PROXY alone does not say it:
// that proxy then looks names up and checks addresses.
func (r *runner) checkUpstream() error {
	address := r.model.Upstream
	if address == "" {
		for _, name := range []string{"HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"} {
			if r.getenv(name) != "" {
				r.parts.Log.Warn("the proxy of " + name + " is not used by the runtime docker; if there is no other way out, set PERSTACK_PROXY_URL to it")
				break
			}
		}
		return nil
	}
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Hostname() == "": // it may hold a password
		return errors.New("PERSTACK_PROXY_URL is not a URL; write it like http://proxy:3128")
	case u.Scheme != "http":
		return fmt.Errorf("PERSTACK_PROXY_URL is a proxy of the kind %s, and the runtime docker goes through those of the kind http only; write it like http://proxy:3128", u.Scheme)
	case netaddr.HostReach(u.Hostname()) == netaddr.Loopback:
		return fmt.Errorf("PERSTACK_PROXY_URL is on this machine (%s), and nothing in a container reaches this machine by that address; name an address of the machine that others can reach", u.Hostname())
	}
	if err := egress.CheckUpstream(address); err != nil {
		return fmt.Errorf("PERSTACK_PROXY_URL: %w", err)
	}
	r.parts.Log.Warn("everything goes through the proxy " + u.Host + ", which looks names up itself: the addresses behind them are not checked")
	return nil
}
