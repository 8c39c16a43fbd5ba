package client

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/crypto/ssh"

	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/signature"
	"github.com/perstack-go/perstack/internal/registry/tlog"
	"github.com/perstack-go/perstack/internal/registry/trust"
	"github.com/perstack-go/perstack/internal/testkit/registrytest"
)

// options are those of a client of a registry for tests.
func options(t testing.TB, r *registrytest.Registry) Options {
	return Options{
		BaseURL: r.URL, Insecure: true, HTTP: r.Client(), Trust: trust.Open(filepath.Join(t.TempDir(), "registry")),
		UserAgent: "perstack/test", Clock: func() time.Time { return time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC) },
		Wait: func(context.Context, time.Duration) error { return nil },
	}
}

func open(t testing.TB, o Options) *Client {
	t.Helper()
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// published is a registry with a coordinator, which has two delegates and a tag.
func published(t testing.TB) *registrytest.Registry {
	r := registrytest.New(t, httptest.NewServer)
	r.Publish(registrytest.Minimal("@acme/reader@1.0.0"), "")
	r.Publish(registrytest.Minimal("helper@2.0.0"), "")
	r.Publish(registrytest.Minimal("@acme/lead@1.0.0", "@acme/reader", "helper@2.0.0"), "")
	r.Tag("@acme/lead", "stable", "1.0.0")
	return r
}

// sign signs a definition with a new key, which it returns as the line of a .pub file.
func sign(t *testing.T, text []byte) (armored, line string) {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	if armored, err = signature.Sign(signer, text); err != nil {
		t.Fatal(err)
	}
	return armored, signature.FormatKey(signer.PublicKey())
}

// stored is what a store has, but for evidence and locks.
func stored(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || d.IsDir() || strings.Contains(path, "evidence") || d.Name() == "lock" {
			return err
		}
		data, err := os.ReadFile(path)
		files[path] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// wantError checks the kind of an error, and what it says.
func wantError(t *testing.T, err error, kind Kind, says ...string) {
	t.Helper()
	if KindOf(err) != kind {
		t.Errorf("kind %q, want %q: %v", KindOf(err), kind, err)
		return
	}
	for _, text := range says {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("the error does not say %q: %v", text, err)
		}
	}
}

// K20 to K26: what is resolved is made of bytes that the log proves, over the whole closure, and can be read
// again without a request.
func TestResolve(t *testing.T) {
	r := published(t)
	o := options(t, r)
	c := open(t, o)
	found, err := c.Resolve(t.Context(), "@acme/lead@stable", "helper")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"@acme/lead@stable": "@acme/lead@1.0.0", "helper": "helper@2.0.0"}, found.Keys); diff != "" {
		t.Error(diff)
	}
	lead := found.Experts["@acme/lead@1.0.0"]
	if lead == nil || len(found.Experts) != 3 || lead.Index != 2 || lead.Expert.Key != lead.Key || lead.Unverified || lead.Status != api.Available {
		t.Fatalf("%+v", found)
	}
	if d := lead.Delegates; len(d) != 2 || d[0].Exact != "@acme/reader@1.0.0" || d[0].Digest != found.Experts["@acme/reader@1.0.0"].Digest {
		t.Errorf("%v", d)
	}
	before := len(r.Paths())
	r.Close()
	again, err := c.Offline(t.Context(), Pin{lead.Key, lead.Digest})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(slices.Sorted(maps.Keys(again.Experts)), slices.Sorted(maps.Keys(found.Experts))) || len(r.Paths()) != before {
		t.Errorf("%v", again.Experts)
	}
	for key, e := range again.Experts {
		if diff := cmp.Diff(found.Experts[key].Expert.Digest(), e.Expert.Digest()); diff != "" || !e.PublishedAt.Equal(found.Experts[key].PublishedAt) {
			t.Error(key, diff)
		}
	}
}

// A cold resolve is one request if the key of the log is configured, and two otherwise. A warm one is one.
func TestRequests(t *testing.T) {
	r := published(t)
	o := options(t, r)
	configured := o
	configured.Trust, configured.LogKey = trust.Open(t.TempDir()), r.LogKey
	for _, step := range []struct {
		name    string
		options Options
		want    int
	}{{"cold", o, 2}, {"warm", o, 1}, {"configured", configured, 1}} {
		before := len(r.Paths())
		if _, err := open(t, step.options).Resolve(t.Context(), "@acme/lead"); err != nil {
			t.Fatal(err)
		}
		if got := len(r.Paths()) - before; got != step.want {
			t.Errorf("%s: %d requests, want %d: %v", step.name, got, step.want, r.Paths())
		}
	}
}

// A pin is believed only if its digest was verified on this machine, and what is stored is checked again.
func TestOfflineRefuses(t *testing.T) {
	r := published(t)
	dir := t.TempDir()
	o := options(t, r)
	o.Trust = trust.Open(dir)
	c := open(t, o)
	digest := "sha256:" + strings.Repeat("0", 64)
	_, err := c.Offline(t.Context(), Pin{"@acme/lead@1.0.0", digest})
	wantError(t, err, NotVerified, digest, "never verified on this machine")
	found, err := c.Resolve(t.Context(), "helper")
	if err != nil {
		t.Fatal(err)
	}
	helper := found.Experts["helper@2.0.0"]
	_, err = c.Offline(t.Context(), Pin{"other@2.0.0", helper.Digest})
	wantError(t, err, Unverified, "is that of helper@2.0.0, not of other@2.0.0")
	path := filepath.Join(dir, "definitions", strings.TrimPrefix(helper.Digest, "sha256:"))
	if err := os.WriteFile(path, []byte(strings.Replace(string(helper.Content), "You are", "You were", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = c.Offline(t.Context(), Pin{helper.Key, helper.Digest})
	wantError(t, err, Unverified, "was changed")
	if _, err := c.Resolve(t.Context(), "helper"); err != nil { // which stores it again
		t.Fatal(err)
	}
	if _, err = c.Offline(t.Context(), Pin{helper.Key, helper.Digest}); err != nil {
		t.Error(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	_, err = c.Offline(t.Context(), Pin{helper.Key, helper.Digest})
	wantError(t, err, NotVerified, "no longer stored")
}

// Two processes at once both end up with the newest state, and neither skips the proof between them.
func TestResolveRace(t *testing.T) {
	r := published(t)
	o := options(t, r)
	if _, err := open(t, o).Resolve(t.Context(), "helper"); err != nil {
		t.Fatal(err)
	}
	raced := false
	r.Handle = func(_ http.ResponseWriter, q *http.Request) bool {
		if !raced {
			raced = true
			r.Publish(registrytest.Minimal("other@1.0.0"), "")
			if _, err := open(t, o).Resolve(q.Context(), "other"); err != nil {
				t.Error(err)
			}
		}
		return false
	}
	found, err := open(t, o).Resolve(t.Context(), "helper")
	if err != nil || found.Size != r.Size() {
		t.Errorf("%v, %v", found, err)
	}
}

func TestPublish(t *testing.T) {
	r := published(t)
	o := options(t, r)
	o.Key = "psk_1"
	c := open(t, o)
	for range 2 { // the second time, the log is known, and the answer has no proof of growth from it
		d := registrytest.Minimal("@acme/new@1." + string(rune('0'+r.Size())) + ".0")
		text := d.Encode()
		armored, _ := sign(t, text)
		if said, err := c.ValidateOnly(t.Context(), api.Publish{Content: text}); err != nil || len(said) != 1 {
			t.Errorf("%v, %v", said, err)
		}
		e, err := c.Publish(t.Context(), api.Publish{Content: text, Signature: armored})
		if err != nil || e.Key != d.Key() || e.Signer == "" {
			t.Fatalf("%+v, %v", e, err)
		}
		if _, err := c.Offline(t.Context(), Pin{e.Key, e.Digest}); err != nil {
			t.Error(err)
		}
		_, err = c.Publish(t.Context(), api.Publish{Content: text})
		wantError(t, err, Refused, "Bad Request: Version "+d.Version+" is already published", "request r1")
	}
	if _, err := c.Publish(t.Context(), api.Publish{Content: []byte("{}")}); KindOf(err) != Configuration {
		t.Error(err)
	}
}

// What the user requires of a scope is checked online and offline, and a signature cannot be dropped later.
func TestPolicy(t *testing.T) {
	r := registrytest.New(t, httptest.NewServer)
	unsigned, signed := registrytest.Minimal("@acme/a@1.0.0"), registrytest.Minimal("@acme/a@1.1.0")
	armored, line := sign(t, signed.Encode())
	_, otherLine := sign(t, signed.Encode())
	r.Publish(unsigned, "")
	r.Publish(signed, armored)
	r.Publish(registrytest.Minimal("@acme/a@1.2.0"), "")
	for _, test := range []struct {
		name    string
		require Require
		keys    []string
		want    string
	}{
		{"none", Require{}, []string{"@acme/a@1.0.0", "@acme/a@1.1.0"}, ""},
		{"logged", Require{Level: Logged}, []string{"@acme/a@1.0.0"}, ""},
		{"signed", Require{Level: Signed}, []string{"@acme/a@1.1.0"}, ""},
		{"not signed", Require{Level: Signed}, []string{"@acme/a@1.0.0"}, "has no signature, and one is required"},
		{"key", Require{Keys: []string{otherLine, line}}, []string{"@acme/a@1.1.0"}, ""},
		{"another key", Require{Keys: []string{otherLine}}, []string{"@acme/a@1.1.0"}, "which is none of the keys"},
		{"dropped", Require{}, []string{"@acme/a@1.1.0", "@acme/a@1.2.0"}, "has no signature, although the older version 1.1.0 has one"},
		{"dropped and accepted", Require{AllowUnsigned: true}, []string{"@acme/a@1.1.0", "@acme/a@1.2.0"}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := options(t, r)
			o.Policies = map[string]Require{"@acme": test.require}
			found, err := open(t, o).Resolve(t.Context(), test.keys...)
			if test.want != "" {
				wantError(t, err, Policy, test.want)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			o.Policies = map[string]Require{"@acme": {Keys: []string{otherLine}}}
			for key, e := range found.Experts {
				_, err = open(t, o).Offline(t.Context(), Pin{key, e.Digest})
				wantError(t, err, Policy)
			}
		})
	}
	o := options(t, r)
	if _, err := open(t, o).Resolve(t.Context(), "@acme/a@1.1.0"); err != nil {
		t.Fatal(err)
	}
	_, err := open(t, o).Resolve(t.Context(), "@acme/a") // of another process, later
	wantError(t, err, Policy, "@acme/a@1.2.0 has no signature")
	// A signature of a later version does not excuse the ones between it and the first signed one.
	later := registrytest.Minimal("@acme/a@1.3.0")
	armored, _ = sign(t, later.Encode())
	r.Publish(later, armored)
	o = options(t, r)
	for _, key := range []string{"@acme/a@1.1.0", "@acme/a@1.3.0"} {
		if _, err := open(t, o).Resolve(t.Context(), key); err != nil {
			t.Fatal(err)
		}
	}
	_, err = open(t, o).Resolve(t.Context(), "@acme/a@1.2.0")
	wantError(t, err, Policy, "has no signature, although the older version 1.1.0 has one")
	o.Policies = map[string]Require{"@acme": {Level: "none"}}
	_, err = New(o)
	wantError(t, err, Configuration, `"none" cannot be required`)
}

// An audit reads the whole log, and says what is wrong in it.
func TestAudit(t *testing.T) {
	r := published(t)
	o := options(t, r)
	if _, err := open(t, o).Resolve(t.Context(), "helper"); err != nil { // so that an older state is known
		t.Fatal(err)
	}
	for range 300 {
		r.Tag("helper", "t"+string(rune('a'+r.Size()%26))+strings.Repeat("x", int(r.Size()/26)), "2.0.0")
	}
	report, err := open(t, o).Audit(t.Context(), "@acme", nil)
	if err != nil || report.Size != 304 || len(report.Problems) != 0 || len(report.Touching) != 3 || report.Touching[2].Index != 3 {
		t.Fatalf("%+v, %v", report, err)
	}
	r.Publish(registrytest.Minimal("@acme/reader@1.0.0", "helper"), "")
	report, err = open(t, o).Audit(t.Context(), "", nil)
	if err != nil || len(report.Problems) != 1 || report.Problems[0].Index != 304 || !strings.Contains(report.Problems[0].Message, `"@acme/reader@1.0.0" is published again`) {
		t.Errorf("%+v, %v", report, err)
	}
	fork := r.Fork(httptest.NewServer)
	r.Tag("helper", "one", "2.0.0")
	if _, err = open(t, o).Audit(t.Context(), "", nil); err != nil {
		t.Fatal(err)
	}
	fork.Tag("helper", "two", "2.0.0")
	fork.Tag("helper", "three", "2.0.0")
	r.Handle = func(w http.ResponseWriter, q *http.Request) bool { fork.ServeHTTP(w, q); return true }
	_, err = open(t, o).Audit(t.Context(), "", nil)
	wantError(t, err, Unverified, "the first 306 leaves of the log are not those that were there before", "evidence")
	r.Handle = func(w http.ResponseWriter, q *http.Request) bool {
		if !strings.Contains(q.URL.Path, "/tile/") {
			return false
		}
		recorder := httptest.NewRecorder()
		r.Handle = nil
		r.ServeHTTP(recorder, q)
		_, _ = w.Write(bytes.Replace(recorder.Body.Bytes(), []byte("helper"), []byte("hElper"), 1))
		return true
	}
	fresh := options(t, r) // which knows no older state
	_, err = open(t, fresh).Audit(t.Context(), "", nil)
	wantError(t, err, Unverified, "the 306 leaves that the registry shows do not have the hash that it has signed")
	if _, err = open(t, fresh).Audit(t.Context(), "", nil); err != nil {
		t.Error(err)
	}
}

// An audit finds leaves that contradict those before them.
func TestAuditProblems(t *testing.T) {
	r := published(t)
	leaf := func(l tlog.Leaf) { l.Actor = "admin"; r.Append(&l) }
	leaf(tlog.Leaf{Kind: tlog.Removed, Name: "helper", Version: "2.0.0", Reason: "owner"})
	leaf(tlog.Leaf{Kind: tlog.Tagged, Name: "helper", Tag: "x", New: "2.0.0"})
	leaf(tlog.Leaf{Kind: tlog.Tagged, Name: "helper", Tag: "x", Old: "1.0.0"})
	leaf(tlog.Leaf{Kind: tlog.StatusChanged, Name: "helper", Version: "9.0.0", Old: "available", New: "disabled"})
	leaf(tlog.Leaf{
		Kind: tlog.Published, Name: "helper", Version: "3.0.0", Digest: "sha256:" + strings.Repeat("1", 64),
		Delegates: []tlog.Delegate{{Key: "none", Exact: "none@1.0.0", Digest: "sha256:" + strings.Repeat("2", 64)}},
	})
	report, err := open(t, options(t, r)).Audit(t.Context(), "helper", nil)
	if err != nil || len(report.Touching) != 6 {
		t.Fatalf("%+v, %v", report, err)
	}
	var got []string
	for _, p := range report.Problems {
		got = append(got, fmt.Sprint(p.Index, " ", p.Message))
	}
	want := []string{
		`5 the tag "helper@x" is set to "2.0.0", which does not exist`,
		`6 the tag "helper@x" is moved from "1.0.0", and was "2.0.0"`,
		`7 "helper@9.0.0" is changed, and was never published`,
		`8 "helper@3.0.0" delegates to "none@1.0.0" with the digest sha256:` + strings.Repeat("2", 64) + `, which the log does not have`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// K23: the key of the log is the one that is configured, else the one that was seen first.
func TestLogKey(t *testing.T) {
	r := published(t)
	wrong := options(t, r)
	wrong.LogKey = published(t).LogKey
	_, err := open(t, wrong).Resolve(t.Context(), "helper")
	wantError(t, err, Unverified, "no key that is known has signed it", "the known key is "+wrong.LogKey)
	o := options(t, r)
	if _, err := open(t, o).Resolve(t.Context(), "helper"); err != nil {
		t.Fatal(err)
	}
	r.NewLogKey()
	_, err = open(t, o).Resolve(t.Context(), "helper")
	wantError(t, err, Unverified, "no key that is known has signed it")
	configured := o
	configured.LogKey = r.LogKey
	_, err = open(t, configured).Resolve(t.Context(), "helper")
	wantError(t, err, Configuration, "the key of the log should be", "and was")
	configured.NewLogKey = true                  // the user's word
	for _, o := range []Options{configured, o} { // the user has replaced it, and it stays
		if _, err := open(t, o).Resolve(t.Context(), "helper"); err != nil {
			t.Error(err)
		}
	}
	o.LogKey = "key"
	_, err = New(o)
	wantError(t, err, Configuration, "is not the key of a log")
}

// The digests of a closure do not rule out a circle, because definitions name delegates without them.
func TestClosure(t *testing.T) {
	c := open(t, options(t, published(t)))
	chain := func(n int, circle bool) *Resolution {
		found := &Resolution{Keys: map[string]string{"e0": "e0@1.0.0"}, Experts: map[string]*Expert{}}
		for i := range n {
			e := &Expert{Key: fmt.Sprintf("e%d@1.0.0", i), Digest: "d"}
			if i+1 < n || circle {
				e.Delegates = []tlog.Delegate{{Exact: fmt.Sprintf("e%d@1.0.0", (i+1)%n), Digest: "d"}}
			}
			found.Experts[e.Key] = e
		}
		return found
	}
	p := &verification{client: c, operation: "resolve"}
	if err := p.closure(chain(api.MaxDepth, false)); err != nil {
		t.Error(err)
	}
	wantError(t, p.closure(chain(api.MaxDepth+1, false)), Unverified, "more than 16 deep")
	wantError(t, p.closure(chain(3, true)), Unverified, "e0@1.0.0 delegates to itself")
}

// A registry without a log is said to be one, once; and a version that it changes later is refused.
func TestOriginal(t *testing.T) {
	r := registrytest.New(t, httptest.NewServer)
	r.Original = true
	instruction, skill := "You help.", `{"type":"mcpStdioSkill","description":"Base","command":"npx","packageName":"@perstack/base","pick":[],"omit":[],"requiredEnv":[]}`
	r.Handle = func(w http.ResponseWriter, q *http.Request) bool {
		name, ok := strings.CutPrefix(q.URL.Path, api.V1+"/experts/")
		if !ok {
			return false
		}
		name, _, _ = strings.Cut(name, "@")
		delegates := "[]"
		if name == "lead" {
			delegates = `["helper"]`
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"data":{"expert":{"type":"registryExpert","id":"x","key":"` + name + `@1.0.0","name":"` + name + `","version":"1.0.0",
			"minRuntimeVersion":"v1.0","status":"available","description":"d","instruction":"` + instruction + `","delegates":` + delegates + `,"tags":["latest"],
			"skills":{"@perstack/base":` + skill + `},"owner":{"organizationId":"o"}}}}`))
		return true
	}
	var said bytes.Buffer
	o := options(t, r)
	o.Log = slog.New(slog.NewTextHandler(&said, nil))
	c := open(t, o)
	var lead *Expert
	for range 2 {
		found, err := c.Resolve(t.Context(), "lead")
		if err != nil {
			t.Fatal(err)
		}
		lead = found.Experts["lead@1.0.0"]
		if lead == nil || !lead.Unverified || len(found.Experts) != 2 || lead.Delegates[0].Exact != "helper@1.0.0" {
			t.Fatalf("%+v", found)
		}
	}
	if n := strings.Count(said.String(), "no transparency log"); n != 1 {
		t.Errorf("said %d times:\n%s", n, said.String())
	}
	if again, err := c.Offline(t.Context(), Pin{lead.Key, lead.Digest}); err != nil || !again.Experts["helper@1.0.0"].Unverified {
		t.Errorf("%v, %v", again, err)
	}
	strict := o
	strict.Policies = map[string]Require{"": {Level: Logged}}
	_, err := open(t, strict).Resolve(t.Context(), "lead")
	wantError(t, err, Policy, "registry without a log")
	strict = o
	strict.LogKey = published(t).LogKey
	_, err = open(t, strict).Resolve(t.Context(), "lead")
	wantError(t, err, NotFound)
	instruction = "You do something else."
	_, err = c.Resolve(t.Context(), "lead")
	wantError(t, err, Unverified, "when this machine saw it first")
	skill = `{"type":"mcpStdioSkill","command":"npx","packageName":"x","args":["--evil"]}`
	_, err = c.Resolve(t.Context(), "lead")
	wantError(t, err, Unverified, "args")
	skill = `{"type":"mcpStdioSkill","command":"bash","packageName":"x"}`
	_, err = c.Resolve(t.Context(), "lead")
	wantError(t, err, Unverified, `"bash" cannot be published`)
}
