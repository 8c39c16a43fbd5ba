package resolve_test

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/client"
	"github.com/perstack-go/perstack/internal/registry/definition"
	"github.com/perstack-go/perstack/internal/registry/oci"
	"github.com/perstack-go/perstack/internal/registry/resolve"
	"github.com/perstack-go/perstack/internal/registry/scopes"
	"github.com/perstack-go/perstack/internal/registry/trust"
	"github.com/perstack-go/perstack/internal/testkit/containers"
	"github.com/perstack-go/perstack/internal/testkit/postgres"
	"github.com/perstack-go/perstack/internal/testkit/realregistry"
	"github.com/perstack-go/perstack/internal/testkit/registrytest"
)

// A place is where Experts are published and read. Nothing else differs between the sources.
type place struct {
	t        *testing.T
	prefix   string // of a reference, before the name of an Expert
	mark     string // between the name and a version or a tag
	requests *atomic.Int64
	most     func(experts int) int // requests of a cold resolve
	// publish publishes a version; a tag, unless it is empty, means that version then.
	publish func(d *definition.Definition, tag string) error
	// machine is a user elsewhere, who has verified nothing yet.
	machine func() resolve.Source
}

// Every source keeps the same promises: a registry with either database, and a container registry.
func TestSources(t *testing.T) {
	for name, start := range map[string]func(*testing.T) *place{
		"SQLite":     func(t *testing.T) *place { return registryPlace(t, "") },
		"PostgreSQL": func(t *testing.T) *place { return registryPlace(t, postgres.Start(t).Database(t)) },
		"containers": containerPlace,
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t)
			for _, test := range []struct {
				name string
				run  func(*testing.T, *place)
			}{
				{"versions and tags", sourceVersions}, {"not found", sourceNotFound}, {"write-once", sourceWriteOnce},
				{"closure", sourceClosure}, {"pins", sourcePins}, {"wrong digest", sourceWrongDigest},
			} {
				t.Run(test.name, func(t *testing.T) {
					p.t = t
					test.run(t, p)
				})
			}
		})
	}
}

type countedTransport struct{ n *atomic.Int64 }

func (c countedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	c.n.Add(1)
	return http.DefaultTransport.RoundTrip(r)
}

func noWait(context.Context, time.Duration) error { return nil }

func registryPlace(t *testing.T, database string) *place {
	r := realregistry.Start(t, realregistry.Options{Database: database})
	p := &place{t: t, prefix: "@acme/", mark: "@", requests: &atomic.Int64{}}
	p.most = func(int) int { return 2 } // what the registry is, and everything
	connect := func(key string) *client.Client {
		c, err := client.New(client.Options{
			BaseURL: r.URL, Insecure: true, Key: key, HTTP: &http.Client{Transport: countedTransport{p.requests}}, Trust: trust.Open(p.t.TempDir()), Clock: time.Now, Wait: noWait,
		})
		if err != nil {
			p.t.Fatal(err)
		}
		return c
	}
	publisher := connect(r.Key("acme", "team"))
	p.publish = func(d *definition.Definition, tag string) error {
		asked := api.Publish{Content: d.Encode()}
		if tag != "" {
			asked.Tags = []string{tag}
		}
		_, err := publisher.Publish(t.Context(), asked)
		return err
	}
	p.machine = func() resolve.Source { return connect("") }
	return p
}

func containerPlace(t *testing.T) *place {
	p := &place{t: t, prefix: "oci://" + containers.Start(t).Host + "/acme/", mark: ":", requests: &atomic.Int64{}}
	p.most = func(experts int) int { return 4 * experts } // manifest, definition, and two places of signatures
	published := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	connect := func() *oci.Source {
		s, err := oci.New(oci.Options{
			HTTP: &http.Client{Transport: countedTransport{p.requests}}, Trust: trust.Open(p.t.TempDir()), UserAgent: "perstack/test", Wait: noWait,
			Clock: func() time.Time { return published }, // a manifest has the time, and two tags the same one
		})
		if err != nil {
			p.t.Fatal(err)
		}
		return s
	}
	p.machine = func() resolve.Source { return connect() }
	p.publish = func(d *definition.Definition, tag string) error {
		s, to := connect(), p.prefix+d.Name[len("@acme/"):]
		pinned, err := s.Pin(t.Context(), to, d)
		if err == nil {
			_, err = s.Push(t.Context(), to, pinned, "")
		}
		if err == nil && tag != "" {
			_, err = s.Push(t.Context(), to+":"+tag, pinned, "")
		}
		return err
	}
	return p
}

// ref is a reference to a version or a tag.
func (p *place) ref(name, version string) string { return p.prefix + name + p.mark + version }

// minimal is an Expert with delegates, which are references.
func (p *place) minimal(name, version string, delegates ...string) *definition.Definition {
	d := registrytest.Minimal("@acme/" + name + "@" + version)
	d.Delegates = delegates
	return d
}

func (p *place) mustPublish(d *definition.Definition, tag string) {
	p.t.Helper()
	if err := p.publish(d, tag); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) mustResolve(s resolve.Source, key string) (*client.Resolution, *client.Expert) {
	p.t.Helper()
	found, err := s.Resolve(p.t.Context(), key)
	if err != nil {
		p.t.Fatalf("%s: %v", key, err)
	}
	e := found.Experts[found.Keys[key]]
	if e == nil || e.Digest != definition.Digest(e.Content) || e.Expert.Instruction != e.Definition.Instruction {
		p.t.Fatalf("%s: %+v", key, e)
	}
	return found, e
}

// A version and a tag lead to the definition that was published, and a tag that moved to the newer one.
func sourceVersions(t *testing.T, p *place) {
	first, second := p.minimal("reader", "1.0.0"), p.minimal("reader", "1.1.0")
	second.Instruction = "Read more."
	p.mustPublish(first, "stable")
	before := p.machine()
	_, old := p.mustResolve(before, p.ref("reader", "stable"))
	if _, byVersion := p.mustResolve(p.machine(), p.ref("reader", "1.0.0")); byVersion.Digest != old.Digest || old.Digest != definition.Digest(first.Encode()) {
		t.Errorf("%s and %s", byVersion.Digest, old.Digest)
	}
	p.mustPublish(second, "stable")
	_, moved := p.mustResolve(before, p.ref("reader", "stable"))
	if moved.Key == old.Key || moved.Digest != definition.Digest(second.Encode()) || moved.Expert.Instruction != "Read more." {
		t.Errorf("the tag leads to %s", moved.Key)
	}
	if _, exact := p.mustResolve(p.machine(), old.Key); exact.Digest != old.Digest {
		t.Errorf("%s has changed to %s", old.Key, exact.Digest)
	}
}

func sourceNotFound(t *testing.T, p *place) {
	p.mustPublish(p.minimal("only", "1.0.0"), "")
	for _, key := range []string{p.ref("missing", "1.0.0"), p.ref("only", "9.9.9"), p.ref("only", "stable")} {
		if _, err := p.machine().Resolve(t.Context(), key); client.KindOf(err) != client.NotFound {
			t.Errorf("%s: %v", key, err)
		}
	}
}

// A version that exists is not replaced.
func sourceWriteOnce(t *testing.T, p *place) {
	first := p.minimal("once", "1.0.0")
	p.mustPublish(first, "")
	second := p.minimal("once", "1.0.0")
	second.Instruction = "Do something else."
	if err := p.publish(second, ""); client.KindOf(err) != client.Refused {
		t.Errorf("published again: %v", err)
	}
	if _, e := p.mustResolve(p.machine(), p.ref("once", "1.0.0")); e.Digest != definition.Digest(first.Encode()) {
		t.Errorf("changed to %s", e.Digest)
	}
}

// An Expert keeps the delegates, and theirs, that it was published with.
func sourceClosure(t *testing.T, p *place) {
	p.mustPublish(p.minimal("leaf", "1.0.0"), "edge")
	p.mustPublish(p.minimal("middle", "1.0.0", p.ref("leaf", "edge")), "")
	p.mustPublish(p.minimal("lead", "1.0.0", p.ref("middle", "1.0.0"), p.ref("leaf", "1.0.0")), "")
	changed := p.minimal("leaf", "1.0.1")
	changed.Instruction = "Do something else."
	p.mustPublish(changed, "edge")
	s := p.machine()
	p.requests.Store(0)
	found, lead := p.mustResolve(s, p.ref("lead", "1.0.0"))
	if len(found.Experts) != 3 || len(lead.Delegates) != 2 {
		t.Fatalf("%v", found.Experts)
	}
	for _, e := range found.Experts {
		for _, d := range e.Delegates {
			if target := found.Experts[d.Exact]; target == nil || target.Digest != d.Digest || target.Definition.Version != "1.0.0" {
				t.Errorf("%s delegates to %+v", e.Key, d)
			}
		}
	}
	if n, most := int(p.requests.Load()), p.most(len(found.Experts)); n > most {
		t.Errorf("%d requests, more than %d", n, most)
	}
}

// What this machine has verified needs no request. What it has not is not believed without one.
func sourcePins(t *testing.T, p *place) {
	p.mustPublish(p.minimal("helper", "1.0.0"), "")
	p.mustPublish(p.minimal("pinned", "1.0.0", p.ref("helper", "1.0.0")), "")
	s := p.machine()
	_, e := p.mustResolve(s, p.ref("pinned", "1.0.0"))
	p.requests.Store(0)
	pin := client.Pin{Key: e.Key, Digest: e.Digest}
	if offline, err := s.Offline(t.Context(), pin); err != nil || len(offline.Experts) != 2 {
		t.Errorf("%v, %v", offline, err)
	}
	if _, err := p.machine().Offline(t.Context(), pin); client.KindOf(err) != client.NotVerified {
		t.Errorf("on another machine: %v", err)
	}
	if n := p.requests.Load(); n != 0 {
		t.Errorf("%d requests", n)
	}
}

// A pin with another digest is refused, on the machine that knows the version and on one that does not.
func sourceWrongDigest(t *testing.T, p *place) {
	p.mustPublish(p.minimal("digest", "1.0.0"), "")
	known, key := p.machine(), p.ref("digest", "1.0.0")
	_, e := p.mustResolve(known, key)
	wrong := resolve.Pin{Exact: e.Key, Digest: definition.Digest([]byte("other")), Registry: "place"}
	for name, s := range map[string]resolve.Source{"known": known, "other": p.machine()} {
		r := resolve.Resolver{
			Decide: func(string) (scopes.Decision, error) {
				return scopes.Decision{Registry: scopes.Registry{URL: "place"}}, nil
			},
			Stored:  func(scopes.Decision) (resolve.Source, error) { return s, nil },
			Connect: func(context.Context, scopes.Decision) (resolve.Source, error) { return s, nil },
			Now:     time.Now,
		}
		asked := key
		if p.mark == ":" {
			asked = e.Key // a pin of a tag has the digest of the manifest
		}
		_, err := r.Resolve(t.Context(), []string{asked}, map[string]resolve.Pin{asked: wrong})
		if client.KindOf(err) != client.Unverified {
			t.Errorf("%s: %v", name, err)
		}
		right := wrong
		right.Digest = e.Digest
		if found, err := r.Resolve(t.Context(), []string{asked}, map[string]resolve.Pin{asked: right}); err != nil || found.Roots[0].Pin.Digest != e.Digest {
			t.Errorf("%s: %v", name, err)
		}
	}
}
