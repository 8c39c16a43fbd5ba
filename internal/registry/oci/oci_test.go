package oci

import (
	"context"
	"crypto/ed25519"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/registry/client"
	"github.com/perstack-go/perstack/internal/registry/definition"
	"github.com/perstack-go/perstack/internal/registry/signature"
	"github.com/perstack-go/perstack/internal/registry/trust"
	"github.com/perstack-go/perstack/internal/testkit/containers"
	"github.com/perstack-go/perstack/internal/testkit/registrytest"
)

// counting counts requests.
type counting struct {
	base http.RoundTripper
	n    *atomic.Int64
}

func (c counting) RoundTrip(r *http.Request) (*http.Response, error) {
	c.n.Add(1)
	return c.base.RoundTrip(r)
}

// newSource returns a source with a store of its own, and the number of its requests.
func newSource(t *testing.T, change func(*Options)) (*Source, *atomic.Int64) {
	t.Helper()
	n := &atomic.Int64{}
	o := Options{
		HTTP: &http.Client{Transport: counting{&http.Transport{DisableKeepAlives: true}, n}}, Trust: trust.Open(t.TempDir()), UserAgent: "perstack/test",
		Clock: func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) },
		Wait:  func(context.Context, time.Duration) error { return nil },
	}
	if change != nil {
		change(&o)
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s, n
}

// signer is a key that is the same in every test.
func signer(t *testing.T, seed byte) ssh.Signer {
	t.Helper()
	s, err := ssh.NewSignerFromKey(ed25519.NewKeyFromSeed([]byte(strings.Repeat(string(rune(seed)), ed25519.SeedSize))))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func sign(t *testing.T, by ssh.Signer, d *definition.Definition) string {
	t.Helper()
	armored, err := signature.Sign(by, d.Encode())
	if err != nil {
		t.Fatal(err)
	}
	return armored
}

func pushed(t *testing.T, s *Source, ref string, d *definition.Definition, armored string) *Pushed {
	t.Helper()
	p, err := s.Push(t.Context(), ref, d, armored)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// servers are those that the suite runs against.
var servers = []struct {
	name  string
	start func(t *testing.T) string
}{
	{"docker-registry", func(t *testing.T) string { return containers.Start(t).Host }},
	{"referrers", func(t *testing.T) string { return newFake(t, true).host }},
	{"no referrers", func(t *testing.T) string { return newFake(t, false).host }},
}

// What a registry of any kind must do for us: the same suite for all of them.
func TestSuite(t *testing.T) {
	for _, server := range servers {
		t.Run(server.name, func(t *testing.T) {
			host := server.start(t)
			t.Run("push and resolve", func(t *testing.T) { pushAndResolve(t, host) })
			t.Run("delegates", func(t *testing.T) { delegates(t, host) })
			t.Run("signatures", func(t *testing.T) { signatures(t, host) })
			t.Run("tags", func(t *testing.T) { tags(t, host) })
		})
	}
}

func pushAndResolve(t *testing.T, host string) {
	name := "oci://" + host + "/suite/reader"
	d := registrytest.Minimal("@acme/reader@1.0.0")
	d.Extensions.License, d.Extensions.Repository = "MIT", "https://git.example/acme/reader"
	s, n := newSource(t, nil)
	if _, err := s.Resolve(t.Context(), name+":1.0.0"); client.KindOf(err) != client.NotFound {
		t.Fatal(err)
	}
	checked, err := s.Check(t.Context(), name, d, "")
	if err != nil || checked.Existed || checked.Ref.Tag != "1.0.0" || checked.Ref.Digest != "" {
		t.Fatalf("%+v, %v", checked, err)
	}
	if _, err := s.Resolve(t.Context(), name+":1.0.0"); client.KindOf(err) != client.NotFound {
		t.Fatalf("a check has written something: %v", err)
	}
	p := pushed(t, s, name, d, "")
	if p.Existed || p.Ref.Tag != "1.0.0" || p.Digest != definition.Digest(d.Encode()) {
		t.Errorf("%+v", p)
	}
	if again := pushed(t, s, name, d, ""); !again.Existed || again.Ref != p.Ref {
		t.Errorf("%+v", again)
	}

	other, asked := newSource(t, nil)
	found, err := other.Resolve(t.Context(), name+":1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	exact := p.Ref.Exact()
	e := found.Experts[exact]
	if found.Keys[name+":1.0.0"] != exact || e == nil || e.Digest != p.Digest || !e.Unverified || e.Signer != "" {
		t.Fatalf("%v, %+v", found.Keys, e)
	}
	if x := e.Expert; x.Key != exact || x.Name != name || x.Version != p.Ref.Digest || x.Instruction != d.Instruction {
		t.Errorf("%+v", x)
	}
	// What has a digest is not asked for again, with a tag or without.
	asked.Store(0)
	for _, ref := range []string{exact, p.Ref.String(), name + ":other@" + p.Ref.Digest} {
		found, err := other.Resolve(t.Context(), ref)
		if err != nil || found.Keys[ref] != exact || found.Experts[exact].Unverified {
			t.Errorf("%s: %v, %v", ref, found, err)
		}
	}
	if offline, err := other.Offline(t.Context(), client.Pin{Key: exact, Digest: p.Digest}); err != nil || offline.Experts[exact].Unverified {
		t.Error(err)
	}
	if asked.Load() != 0 {
		t.Errorf("%d requests for what is stored", asked.Load())
	}
	// A machine that has never seen it has to ask.
	fresh, asked := newSource(t, nil)
	if _, err := fresh.Offline(t.Context(), client.Pin{Key: exact, Digest: p.Digest}); client.KindOf(err) != client.NotVerified {
		t.Error(err)
	}
	if _, err := fresh.Resolve(t.Context(), exact); err != nil || asked.Load() > 5 {
		t.Errorf("%d requests, %v", asked.Load(), err)
	}
	if _, err := other.Offline(t.Context(), client.Pin{Key: exact, Digest: "sha256:" + strings.Repeat("0", 64)}); client.KindOf(err) != client.Unverified {
		t.Error(err)
	}
	if n.Load() == 0 {
		t.Error("nothing was counted")
	}
}

func delegates(t *testing.T, host string) {
	name := func(s string) string { return "oci://" + host + "/suite/delegates/" + s }
	s, _ := newSource(t, nil)
	leaf := pushed(t, s, name("leaf"), registrytest.Minimal("leaf@1.0.0"), "")
	middle := registrytest.Minimal("middle@1.0.0")
	middle.Delegates = []string{name("leaf") + ":1.0.0"}
	if _, err := s.Push(t.Context(), name("middle"), middle, ""); client.KindOf(err) != client.Configuration {
		t.Errorf("a floating delegate was pushed: %v", err)
	}
	middle, err := s.Pin(t.Context(), name("middle"), middle)
	if err != nil || middle.Delegates[0] != leaf.Ref.String() {
		t.Fatalf("%v, %v", middle, err)
	}
	pushed(t, s, name("middle"), middle, "")
	top := registrytest.Minimal("top@1.0.0")
	top.Delegates = []string{name("middle") + ":1.0.0", leaf.Ref.Exact()}
	pinned, err := s.Pin(t.Context(), name("top"), top)
	if err != nil || pinned.Delegates[1] != leaf.Ref.Exact() || top.Delegates[0] == pinned.Delegates[0] {
		t.Fatalf("%v, %v", pinned, err)
	}
	p := pushed(t, s, name("top")+":edge", pinned, "")

	// The delegate has a newer version now. What was pushed keeps the one that it was pushed with.
	pushed(t, s, name("leaf"), registrytest.Minimal("leaf@1.0.1"), "")
	other, asked := newSource(t, nil)
	found, err := other.Resolve(t.Context(), name("top")+":edge")
	if err != nil || len(found.Experts) != 3 {
		t.Fatalf("%v, %v", found, err)
	}
	e := found.Experts[p.Ref.Exact()]
	if len(e.Delegates) != 2 || e.Delegates[1].Exact != leaf.Ref.Exact() || e.Delegates[1].Digest != leaf.Digest {
		t.Errorf("%+v", e.Delegates)
	}
	for i, key := range e.Expert.Delegates {
		d, ok := expert.Lookup([]*expert.Expert{found.Experts[e.Delegates[0].Exact].Expert, found.Experts[e.Delegates[1].Exact].Expert}, key)
		if !ok || key != e.Delegates[i].Exact || found.Experts[key].Expert != d || found.Experts[key].Unverified {
			t.Errorf("%s: %+v", key, d)
		}
	}
	asked.Store(0)
	offline, err := other.Offline(t.Context(), client.Pin{Key: e.Key, Digest: e.Digest})
	if err != nil || len(offline.Experts) != 3 || asked.Load() != 0 {
		t.Errorf("%v, %v, %d requests", offline, err, asked.Load())
	}
	for _, key := range []string{"@acme/reader@1.0.0", "reader", "oci://other.example/reader:1.0.0"} {
		top.Delegates = []string{key}
		if _, err := s.Pin(t.Context(), name("top"), top); client.KindOf(err) != client.Configuration || !strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v", key, err)
		}
	}
}

func signatures(t *testing.T, host string) {
	name := "oci://" + host + "/suite/signed"
	good, bad := signer(t, 'g'), signer(t, 'b')
	line := func(s ssh.Signer) string { return signature.FormatKey(s.PublicKey()) }
	d := registrytest.Minimal("@acme/signed@1.0.0")
	publisher, _ := newSource(t, nil)
	if _, err := publisher.Push(t.Context(), name, d, sign(t, good, registrytest.Minimal("@acme/signed@2.0.0"))); client.KindOf(err) != client.Configuration {
		t.Errorf("a signature of another text was pushed: %v", err)
	}
	p := pushed(t, publisher, name, d, sign(t, good, d))
	if p.Signer != signature.Fingerprint(good.PublicKey()) {
		t.Errorf("%+v", p)
	}
	again := pushed(t, publisher, name, d, sign(t, bad, d)) // a second signature
	if !again.Existed {
		t.Errorf("%+v", again)
	}
	if plain := registrytest.Minimal("@acme/signed@1.1.0"); true {
		pushed(t, publisher, name, plain, "")
	}
	require := func(key string, r client.Require) func(*Options) {
		return func(o *Options) { o.Policies = map[string]client.Require{key: r} }
	}
	for _, test := range []struct {
		what       string
		ref        string
		options    func(*Options)
		unverified bool
		kind       client.Kind
		want       string
	}{
		{what: "no policy", ref: name + ":1.0.0", unverified: true},
		{what: "no policy, pinned", ref: p.Ref.Exact()},
		{what: "any signature", ref: name + ":1.0.0", options: require("@acme", client.Require{Level: client.Signed}), unverified: true},
		{what: "key of scope", ref: name + ":1.0.0", options: require("@acme", client.Require{Keys: []string{line(good)}})},
		{what: "key of repository", ref: name + ":1.0.0", options: require("oci://"+host+"/suite", client.Require{Keys: []string{line(bad), line(good)}})},
		{what: "key of another repository", ref: name + ":1.0.0", options: require("oci://"+host+"/suit", client.Require{Keys: []string{line(signer(t, 'x'))}}), unverified: true},
		{what: "other key", ref: name + ":1.0.0", options: require("@acme", client.Require{Keys: []string{line(signer(t, 'x'))}}), kind: client.Policy, want: "none of the keys"},
		{what: "other key, pinned", ref: p.Ref.Exact(), options: require("oci://"+host, client.Require{Keys: []string{line(signer(t, 'x'))}}), kind: client.Policy, want: "none of the keys"},
		{what: "no signature", ref: name + ":1.1.0", options: require("@acme", client.Require{Level: client.Signed}), kind: client.Policy, want: "no signature"},
		{what: "no log", ref: name + ":1.0.0", options: require("@acme", client.Require{Level: client.Logged}), kind: client.Policy, want: "no log"},
	} {
		s, _ := newSource(t, test.options)
		found, err := s.Resolve(t.Context(), test.ref)
		if client.KindOf(err) != test.kind || test.want != "" && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", test.what, err)
		}
		if err == nil && (found.Experts[p.Ref.Exact()].Unverified != test.unverified || found.Experts[p.Ref.Exact()].Signer == "") {
			t.Errorf("%s: %+v", test.what, found.Experts[p.Ref.Exact()])
		}
	}

	// After a signed version, an unsigned one is refused if only the tag says that it is meant.
	s, asked := newSource(t, nil)
	if _, err := s.Resolve(t.Context(), name+":1.0.0"); err != nil {
		t.Fatal(err)
	}
	_, err := s.Resolve(t.Context(), name+":1.1.0")
	if client.KindOf(err) != client.Policy || !strings.Contains(err.Error(), "1.0.0") {
		t.Error(err)
	}
	// A stored signature is not asked for again, whatever is required now.
	asked.Store(0)
	strict, err := New(Options{HTTP: s.options.HTTP, Trust: s.options.Trust, Clock: s.options.Clock, Policies: map[string]client.Require{"@acme": {Level: client.Signed}}})
	if err != nil {
		t.Fatal(err)
	}
	if found, err := strict.Resolve(t.Context(), p.Ref.Exact()); err != nil || found.Experts[p.Ref.Exact()].Signer == "" || asked.Load() != 0 {
		t.Errorf("%v, %v, %d requests", found, err, asked.Load())
	}
}

func tags(t *testing.T, host string) {
	name := "oci://" + host + "/suite/tags"
	s, _ := newSource(t, nil)
	first := pushed(t, s, name+":latest", registrytest.Minimal("tags@1.0.0"), "")
	if first.Ref.Tag != "latest" {
		t.Errorf("%+v", first)
	}
	second := pushed(t, s, name+":latest", registrytest.Minimal("tags@1.1.0"), "")
	if second.Existed || second.Ref.Digest == first.Ref.Digest {
		t.Errorf("%+v", second)
	}
	found, err := s.Resolve(t.Context(), name) // the tag is latest
	if err != nil || found.Keys[name] != second.Ref.Exact() {
		t.Errorf("%v, %v", found, err)
	}
	pushed(t, s, name, registrytest.Minimal("tags@2.0.0"), "")
	changed := registrytest.Minimal("tags@2.0.0")
	changed.Instruction = "Do something else."
	for _, do := range []func(context.Context, string, *definition.Definition, string) (*Pushed, error){s.Check, s.Push} {
		if _, err := do(t.Context(), name, changed, ""); client.KindOf(err) != client.Refused || !strings.Contains(err.Error(), "versions do not change") {
			t.Error(err)
		}
	}
	if _, err := s.Push(t.Context(), first.Ref.String(), changed, ""); client.KindOf(err) != client.Configuration {
		t.Error(err)
	}
}
