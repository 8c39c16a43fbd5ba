package resolve_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/client"
	"github.com/perstack-go/perstack/internal/registry/definition"
	"github.com/perstack-go/perstack/internal/registry/resolve"
	"github.com/perstack-go/perstack/internal/registry/scopes"
	"github.com/perstack-go/perstack/internal/registry/trust"
	"github.com/perstack-go/perstack/internal/testkit/registrytest"
)

// A world is a user with registries, by the scopes that they have.
type world struct {
	t     *testing.T
	rules *scopes.Rules
	trust *trust.Store
	now   time.Time
	asked [][]string // keys, of each call of Before
}

func newWorld(t *testing.T, minAge time.Duration, registries map[string]*registrytest.Registry) *world {
	t.Helper()
	user := &manifest.UserConfig{MinReleaseAge: minAge}
	for scope, r := range registries {
		user.Registries = append(user.Registries, manifest.Registry{Name: scope[1:], URL: r.URL, Scopes: []string{scope}})
	}
	rules, err := scopes.New(user, nil, scopes.Bindings{})
	if err != nil {
		t.Fatal(err)
	}
	return &world{t: t, rules: rules, trust: trust.Open(t.TempDir()), now: time.Date(2026, 1, 3, 3, 4, 0, 0, time.UTC)}
}

func (w *world) resolve(pins map[string]resolve.Pin, keys ...string) (*resolve.Found, error) {
	connect := func(d scopes.Decision) (resolve.Source, error) {
		return client.New(client.Options{
			BaseURL: d.Registry.URL, Insecure: true, HTTP: &http.Client{}, Trust: w.trust, Clock: func() time.Time { return w.now },
			Wait: func(context.Context, time.Duration) error { return nil },
		})
	}
	r := resolve.Resolver{
		Decide: w.rules.For, Stored: connect, Now: func() time.Time { return w.now },
		Connect: func(_ context.Context, d scopes.Decision) (resolve.Source, error) { return connect(d) },
		Before: func(_ context.Context, keys []string) error {
			w.asked = append(w.asked, keys)
			return nil
		},
	}
	return r.Resolve(w.t.Context(), keys, pins)
}

func (w *world) must(pins map[string]resolve.Pin, keys ...string) *resolve.Found {
	w.t.Helper()
	found, err := w.resolve(pins, keys...)
	if err != nil {
		w.t.Fatal(err)
	}
	return found
}

func pinsOf(found *resolve.Found) map[string]resolve.Pin {
	all := map[string]resolve.Pin{}
	for _, r := range found.Roots {
		all[r.Key] = r.Pin
	}
	return all
}

// Two Experts float to different versions of a third. What is pinned is resolved without a request, to the
// same Experts, although there are newer ones.
func TestResolve(t *testing.T) {
	reg := registrytest.New(t, httptest.NewServer)
	reg.Publish(registrytest.Minimal("@acme/c@1.0.0"), "")
	reg.Publish(registrytest.Minimal("@acme/a@1.0.0", "@acme/c"), "")
	reg.Publish(registrytest.Minimal("@acme/c@2.0.0"), "")
	reg.Publish(registrytest.Minimal("@acme/b@1.0.0", "@acme/c@latest"), "")
	reg.Tag("@acme/b", "beta", "1.0.0")
	w := newWorld(t, 0, map[string]*registrytest.Registry{"@acme": reg})
	found := w.must(nil, "@acme/a", "@acme/b@beta")
	if n := reg.TakeRequests(); n != 2 { // what the registry is, and everything
		t.Errorf("%d requests", n)
	}
	delegates := map[string]string{}
	for _, e := range found.Experts() {
		delegates[e.Key] = strings.Join(e.Delegates, " ")
	}
	if len(delegates) != 4 || delegates["@acme/a@1.0.0"] != "@acme/c@1.0.0" || delegates["@acme/b@1.0.0"] != "@acme/c@2.0.0" {
		t.Errorf("delegates: %v", delegates)
	}
	if len(found.Decisions) != 4 || !found.Roots[0].Fresh || found.Roots[0].Pinned {
		t.Errorf("%+v", found)
	}
	reg.Publish(registrytest.Minimal("@acme/a@3.0.0"), "")
	again := w.must(pinsOf(found), "@acme/a", "@acme/b@beta")
	if n := reg.TakeRequests(); n > 0 {
		t.Errorf("%d requests for what is pinned", n)
	}
	if again.Roots[0].Pin != found.Roots[0].Pin || again.Roots[0].Fresh || len(again.Decisions) > 0 || len(again.All()) != 4 {
		t.Errorf("%+v", again)
	}
	if len(w.asked) != 1 || !slices.Equal(w.asked[0], []string{"@acme/a", "@acme/b@beta"}) {
		t.Errorf("asked %q", w.asked)
	}
}

// A pin of another machine counts once it was verified here.
func TestUnknownPin(t *testing.T) {
	reg := registrytest.New(t, httptest.NewServer)
	reg.Publish(registrytest.Minimal("@acme/a@1.0.0"), "")
	registries := map[string]*registrytest.Registry{"@acme": reg}
	pins := pinsOf(newWorld(t, 0, registries).must(nil, "@acme/a"))
	reg.Publish(registrytest.Minimal("@acme/a@2.0.0"), "")

	w := newWorld(t, 0, registries)
	found := w.must(pins, "@acme/a")
	if r := found.Roots[0]; r.Pin.Exact != "@acme/a@1.0.0" || !r.Fresh || !r.Pinned {
		t.Errorf("%+v", r)
	}
	wrong := pins["@acme/a"]
	wrong.Digest = definition.Digest([]byte("other"))
	_, err := newWorld(t, 0, registries).resolve(map[string]resolve.Pin{"@acme/a": wrong}, "@acme/a")
	if client.KindOf(err) != client.Unverified || !strings.Contains(err.Error(), "is pinned with the digest "+wrong.Digest+", and the registry shows "+pins["@acme/a"].Digest) {
		t.Error(err)
	}
	moved := pins["@acme/a"]
	moved.Registry = "https://elsewhere.example"
	if _, err = w.resolve(map[string]resolve.Pin{"@acme/a": moved}, "@acme/a"); client.KindOf(err) != client.Policy {
		t.Error(err)
	}
	other := pins["@acme/a"]
	other.Exact = "@acme/b@1.0.0"
	if _, err = w.resolve(map[string]resolve.Pin{"@acme/a": other}, "@acme/a"); client.KindOf(err) != client.Configuration {
		t.Error(err)
	}
	reg.Close()
	if _, err = newWorld(t, 0, registries).resolve(pins, "@acme/a"); !resolve.IsUnknownPin(err) || client.KindOf(err) != client.Network {
		t.Error(err)
	}
	if _, err = w.resolve(pins, "@acme/a"); err != nil {
		t.Error(err)
	}
}

// What a registry says is true, and must not run.
func TestRefused(t *testing.T) {
	acme, other := registrytest.New(t, httptest.NewServer), registrytest.New(t, httptest.NewServer)
	other.Publish(registrytest.Minimal("@other/x@1.0.0"), "")
	acme.Publish(registrytest.Minimal("@other/x@1.0.0"), "") // anybody could
	acme.Publish(registrytest.Minimal("@acme/confused@1.0.0", "@other/x"), "")
	acme.Publish(registrytest.Minimal("@acme/off@1.0.0"), "").Status = api.Disabled
	acme.Publish(registrytest.Minimal("@acme/uses@1.0.0", "@acme/off@1.0.0"), "")
	acme.Publish(registrytest.Minimal("@acme/ok@1.0.0"), "")
	registries := map[string]*registrytest.Registry{"@acme": acme, "@other": other}
	for _, c := range []struct {
		key, want string
		age       time.Duration
	}{
		{"@acme/confused", "the answer has @other/x@1.0.0, which comes from " + other.URL, 0},
		{"@acme/off@1.0.0", "@acme/off@1.0.0 is disabled", 0},
		{"@acme/uses", "@acme/off@1.0.0, to which @acme/uses@1.0.0 delegates, is disabled", 0},
		{"@acme/ok", "@acme/ok@1.0.0 was published 23 hours ago, and minReleaseAge is 7 days", 7 * 24 * time.Hour},
		{"@acme/ok@1.0.0", "", 7 * 24 * time.Hour}, // the user names it
		{"@acme/ok", "", time.Hour},
	} {
		_, err := newWorld(t, c.age, registries).resolve(nil, c.key)
		if c.want == "" && err == nil {
			continue
		}
		if client.KindOf(err) != client.Policy || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.key, err)
		}
	}
}

// A pin of a lockfile does not get around minReleaseAge until this machine has verified it. A pinned version
// runs although it is disabled, and that is said.
func TestPinsOfOthers(t *testing.T) {
	acme := registrytest.New(t, httptest.NewServer)
	acme.Publish(registrytest.Minimal("@acme/ok@1.0.0"), "")
	registries := map[string]*registrytest.Registry{"@acme": acme}
	w := newWorld(t, 0, registries)
	pins := pinsOf(w.must(nil, "@acme/ok"))
	if _, err := newWorld(t, 7*24*time.Hour, registries).resolve(pins, "@acme/ok"); client.KindOf(err) != client.Policy || !strings.Contains(err.Error(), "was published 24 hours ago, and minReleaseAge is 7 days") {
		t.Errorf("a version that is too young: %v", err)
	}
	acme.Change(func() { acme.PublishedExpert("@acme/ok@1.0.0").Status = api.Disabled })
	if found := newWorld(t, 0, registries).must(pins, "@acme/ok"); len(found.Discouraged()) != 1 {
		t.Error("it is not said that the version is disabled")
	}
	if found := w.must(pins, "@acme/ok"); len(found.Discouraged()) > 0 {
		t.Error("the registry was asked")
	}
	if _, err := w.resolve(nil, "@acme/ok@1.0.0"); client.KindOf(err) != client.Policy {
		t.Error(err)
	}
	if found := w.must(pins, "@acme/ok"); len(found.Discouraged()) != 1 {
		t.Error("what the registry has said is forgotten")
	}
}

// A scope that the user has moved to another registry counts for what was verified before as well.
func TestStoredScopes(t *testing.T) {
	acme, other := registrytest.New(t, httptest.NewServer), registrytest.New(t, httptest.NewServer)
	acme.Publish(registrytest.Minimal("@other/x@1.0.0"), "")
	acme.Publish(registrytest.Minimal("@acme/lead@1.0.0", "@other/x"), "")
	before := newWorld(t, 0, map[string]*registrytest.Registry{"@acme": acme, "@other": acme})
	pins := pinsOf(before.must(nil, "@acme/lead"))
	after := newWorld(t, 0, map[string]*registrytest.Registry{"@acme": acme, "@other": other})
	after.trust = before.trust
	acme.TakeRequests()
	_, err := after.resolve(pins, "@acme/lead")
	if client.KindOf(err) != client.Policy || !strings.Contains(err.Error(), "the answer has @other/x@1.0.0, which comes from "+other.URL) || acme.TakeRequests() != 0 {
		t.Error(err)
	}
	before.must(pins, "@acme/lead")
}

// A registry without a log does not prove when something was published.
func TestAgeWithoutLog(t *testing.T) {
	reg := registrytest.New(t, httptest.NewServer)
	reg.Original = true
	reg.Handle = func(w http.ResponseWriter, q *http.Request) bool {
		if !strings.HasPrefix(q.URL.Path, api.V1+"/experts/") {
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"data":{"expert":{"type":"registryExpert","key":"@acme/x@1.0.0","name":"@acme/x","version":"1.0.0","minRuntimeVersion":"v1.0",
			"status":"available","description":"d","instruction":"i","skills":{"@perstack/base":{"type":"mcpStdioSkill","description":"b","command":"npx","packageName":"@perstack/base"}}}}}`))
		return true
	}
	registries := map[string]*registrytest.Registry{"@acme": reg}
	_, err := newWorld(t, time.Hour, registries).resolve(nil, "@acme/x")
	if client.KindOf(err) != client.Policy || !strings.Contains(err.Error(), "minReleaseAge is 60 minutes, and a registry without a log does not prove when @acme/x@1.0.0 was published") {
		t.Error(err)
	}
	newWorld(t, time.Hour, registries).must(nil, "@acme/x@1.0.0") // the user names it
	newWorld(t, 0, registries).must(nil, "@acme/x")
}

// The newest version cannot become an older one without a word.
func TestOlderThanBefore(t *testing.T) {
	reg := registrytest.New(t, httptest.NewServer)
	reg.Publish(registrytest.Minimal("@acme/x@1.0.0"), "")
	reg.Publish(registrytest.Minimal("@acme/x@1.1.0"), "")
	reg.Publish(registrytest.Minimal("@acme/x@2.0.0-beta.1"), "")
	w := newWorld(t, 0, map[string]*registrytest.Registry{"@acme": reg})
	says := func(version string) {
		exact := "@acme/x@" + version
		text := reg.PublishedExpert(exact)
		reg.Change(func() {
			reg.Lie = func(a *api.Resolved) {
				for key := range a.Keys {
					a.Keys[key] = exact
				}
				a.Experts = []api.Expert{*text}
				a.Experts[0].Entry = reg.Entry(reg.Size(), text.Index)
			}
		})
	}
	for _, c := range []struct{ version, key, newer string }{
		{"2.0.0-beta.1", "@acme/x", ""},
		{"1.0.0", "@acme/x", ""}, // a release comes after all of them
		{"1.1.0", "@acme/x@latest", ""},
		{"1.0.0", "@acme/x", "1.1.0"},
		{"1.0.0", "@acme/x@latest", "1.1.0"},
		{"2.0.0-beta.1", "@acme/x", "1.1.0"},
		{"1.0.0", "@acme/x@1.0.0", ""}, // the user names it
		{"1.1.0", "@acme/x", ""},
	} {
		says(c.version)
		found := w.must(nil, c.key)
		if r := found.Roots[0]; r.Newer != c.newer || r.Pin.Exact != "@acme/x@"+c.version {
			t.Errorf("%s: %s, newer %q instead of %q", c.key, r.Pin.Exact, r.Newer, c.newer)
		}
	}
}

// The pinned closure of ten Experts is read from this machine.
func TestPinnedClosureOfTen(t *testing.T) {
	reg := registrytest.New(t, httptest.NewServer)
	var keys []string
	for _, name := range strings.Fields("a b c d e f g h i") {
		reg.Publish(registrytest.Minimal("@acme/"+name+"@1.0.0"), "")
		keys = append(keys, "@acme/"+name)
	}
	reg.Publish(registrytest.Minimal("@acme/lead@1.0.0", keys...), "")
	w := newWorld(t, 0, map[string]*registrytest.Registry{"@acme": reg})
	pins := pinsOf(w.must(nil, "@acme/lead"))
	reg.TakeRequests()
	if found := w.must(pins, "@acme/lead"); len(found.All()) != 10 || reg.TakeRequests() != 0 {
		t.Errorf("%d Experts", len(found.All()))
	}
}

func TestFile(t *testing.T) {
	f := resolve.File{Path: filepath.Join(t.TempDir(), "p", resolve.FileName)}
	if pins, err := f.Load(); err != nil || pins != nil {
		t.Error(pins, err)
	}
	pin := resolve.Pin{Exact: "@acme/a@1.0.0", Digest: definition.Digest(nil), Registry: "https://r.example", Card: "c"}
	if err := f.Add(t.Context(), map[string]resolve.Pin{"@acme/a": pin}); err != nil {
		t.Fatal(err)
	}
	other := pin
	other.Exact = "@acme/b@2.0.0"
	if err := f.Add(t.Context(), map[string]resolve.Pin{"@acme/b@latest": other}); err != nil {
		t.Fatal(err)
	}
	pins, err := f.Load()
	if err != nil || len(pins) != 2 || pins["@acme/a"] != pin || pins["@acme/b@latest"] != other {
		t.Error(pins, err)
	}
	if err := f.Add(t.Context(), map[string]resolve.Pin{"@acme/c": pin}); err == nil {
		t.Error("a pin of another name was stored")
	}
	if err := (resolve.File{}).Add(t.Context(), pins); err != nil { // there is no place for it
		t.Error(err)
	}
}
