package server

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/crypto/ssh"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/definition"
	"github.com/perstack-go/perstack/internal/registry/signature"
	"github.com/perstack-go/perstack/internal/registry/tlog"
)

// org makes an organization, and returns somebody of it who may do everything.
func (s *site) org(name, kind string) Actor {
	s.t.Helper()
	id, err := s.CreateOrganization(s.t.Context(), Operator(), name, kind)
	if err != nil {
		s.t.Fatal(err)
	}
	return Actor{OrgID: id, OrgName: name, OrgType: kind, KeyID: "key", Scopes: []Scope{Read, Publish, Tag, Status, Unpublish}}
}

func content(name, version string, delegates ...string) []byte {
	d := definition.Definition{
		Schema: definition.Schema, Name: name, Version: version, MinRuntimeVersion: "v1.0", Description: "About " + name, Instruction: "Work.", Delegates: delegates,
		Skills: map[string]definition.Skill{expert.BaseSkill: {Type: expert.StdioSkill, Command: "npx", PackageName: expert.BaseSkill}},
	}
	return d.Encode()
}

func (s *site) publish(by Actor, content []byte, tags ...string) (api.Published, error) {
	return s.Publish(s.t.Context(), by, api.Publish{Content: content, Tags: tags}, PublishOptions{})
}

func (s *site) mustPublish(by Actor, content []byte, tags ...string) api.Published {
	s.t.Helper()
	done, err := s.publish(by, content, tags...)
	if err != nil {
		s.t.Fatal(err)
	}
	return done
}

// proved checks an answer as a client does.
func (s *site) proved(checkpoint string, e api.Entry) (tlog.Checkpoint, *tlog.Leaf) {
	s.t.Helper()
	c, _, err := tlog.OpenCheckpoint([]byte(checkpoint), origin, s.verifier)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := tlog.CheckLeaf(e.Proof, c, e.Index, []byte(e.Leaf)); err != nil {
		s.t.Fatal(err)
	}
	leaf, err := tlog.ParseLeaf([]byte(e.Leaf))
	if err != nil {
		s.t.Fatal(err)
	}
	return c, leaf
}

func reason(err error) string {
	if answer, ok := errors.AsType[*Error](err); ok {
		return fmt.Sprintf("%d %s", answer.Status, answer.Reason)
	}
	return fmt.Sprint(err)
}

func testPublishAndResolve(t *testing.T, s *site) {
	acme := s.org("acme", Team)
	reader := s.mustPublish(acme, content("@acme/reader", "1.0.0"))
	older, _ := s.proved(reader.Checkpoint, reader.Expert.Entry)
	text := content("@acme/lead", "1.2.0", "@acme/reader")
	lead := s.mustPublish(acme, text, "stable", "latest")
	_, leaf := s.proved(lead.Checkpoint, lead.Expert.Entry)
	want := &tlog.Leaf{
		Kind: tlog.Published, Name: "@acme/lead", Version: "1.2.0", Digest: definition.Digest(text), Actor: acme.logName(), Time: s.time,
		Delegates: []tlog.Delegate{{Key: "@acme/reader", Exact: "@acme/reader@1.0.0", Digest: reader.Expert.Digest}},
	}
	if diff := cmp.Diff(want, leaf); diff != "" {
		t.Error(diff)
	}
	// What a delegate means was decided when the version was published.
	s.mustPublish(acme, content("@acme/reader", "1.1.0"))
	got, err := s.Resolve(t.Context(), Actor{}, api.Resolve{Keys: []string{"@acme/lead@stable"}, Closure: true, From: older.Size})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"@acme/lead@stable": "@acme/lead@1.2.0"}, got.Keys); diff != "" {
		t.Error(diff)
	}
	if len(got.Experts) != 2 || got.Experts[0].Key() != "@acme/lead@1.2.0" || got.Experts[1].Key() != "@acme/reader@1.0.0" || !bytes.Equal(got.Experts[0].Content, text) {
		t.Fatalf("%+v", got.Experts)
	}
	if diff := cmp.Diff([]string{"latest", "stable"}, got.Experts[0].Tags); diff != "" {
		t.Error(diff)
	}
	for _, e := range got.Experts {
		newer, leaf := s.proved(got.Checkpoint, e.Entry)
		if leaf.Name != e.Name || leaf.Digest != definition.Digest(e.Content) {
			t.Errorf("%+v", leaf)
		}
		if err := tlog.CheckGrowth(got.Growth, older, newer); err != nil {
			t.Error(err)
		}
	}
	if _, leaf := s.proved(got.Checkpoint, got.Tags["@acme/lead@stable"]); leaf.Kind != tlog.Tagged || leaf.Tag != "stable" || leaf.New != "1.2.0" {
		t.Errorf("%+v", leaf)
	}
}

func testPublishRefuses(t *testing.T, s *site) {
	acme, other, person := s.org("acme", Team), s.org("other", Team), s.org("ana", Personal)
	s.mustPublish(acme, content("@acme/lead", "1.0.0"))
	s.mustPublish(person, content("researcher", "1.0.0"))
	limited := acme
	limited.Patterns = []string{"@acme/other", "@acme/tool-*"}
	reads, untagged := acme, acme
	reads.Scopes, untagged.Scopes = []Scope{Read}, []Scope{Read, Publish}
	second := s.org("ben", Personal)
	for name, c := range map[string]struct {
		by      Actor
		content []byte
		tags    []string
		want    string
	}{
		"no key":            {Actor{}, content("@acme/a", "1.0.0"), nil, "401 Failed to authenticate"},
		"scope of the key":  {reads, content("@acme/a", "1.0.0"), nil, "401 Failed to authenticate"},
		"name of the key":   {limited, content("@acme/a", "1.0.0"), nil, "401 Failed to authenticate"},
		"again":             {acme, content("@acme/lead", "1.0.0"), nil, "400 Version 1.0.0 is already published"},
		"foreign name":      {second, content("researcher", "2.0.0"), nil, "400 Expert researcher already exists"},
		"foreign scope":     {other, content("@acme/a", "1.0.0"), nil, "400 Expert name must be scoped with @other"},
		"scoped":            {person, content("@ana/a", "1.0.0"), nil, "400 Expert name cannot be scoped"},
		"not scoped":        {acme, content("a", "1.0.0"), nil, "400 Expert name must be scoped"},
		"delegate":          {acme, content("@acme/a", "1.0.0", "@acme/none"), nil, "400 Delegate expert not found: @acme/none"},
		"similar":           {second, content("reseacher", "1.0.0"), nil, "400 The name reseacher is too similar to researcher, which belongs to another organization"},
		"same to the eye":   {second, content("re-search3r", "1.0.0"), nil, "400 The name re-search3r is too similar to researcher, which belongs to another organization"},
		"reserved":          {second, content("official", "1.0.0"), nil, "400 The name official is reserved"},
		"version":           {acme, content("@acme/a", "1.0.0+b"), nil, "422 "},
		"not canonical":     {acme, append([]byte(" "), content("@acme/a", "1.0.0")...), nil, "422 the definition cannot be read: it is not in the canonical form"},
		"no description":    {acme, bytes.Replace(content("@acme/a", "1.0.0"), []byte("About @acme/a"), nil, 1), nil, "422 "},
		"hidden characters": {acme, bytes.Replace(content("@acme/a", "1.0.0"), []byte("Work."), []byte("Work\u200b."), 1), nil, "422 has the character U+200B"},
		"tag":               {acme, content("@acme/a", "1.0.0"), []string{"1.0.0"}, "422 "},
		"tags of the key":   {untagged, content("@acme/a", "1.0.0"), []string{"stable"}, "401 Failed to authenticate"},
		"many tags":         {acme, content("@acme/a", "1.0.0"), strings.Split("a b c d e f g h i", " "), "422 a version can have 8 tags"},
	} {
		if _, err := s.publish(c.by, c.content, c.tags...); !strings.HasPrefix(reason(err), c.want) {
			t.Errorf("%s: %s", name, reason(err))
		}
	}
	asked := api.Publish{Content: content("@acme/lead", "1.1.0"), Visibility: api.Private}
	if _, err := s.Publish(t.Context(), acme, asked, PublishOptions{}); reason(err) != "400 Expert @acme/lead is public, which cannot be changed" {
		t.Errorf("private version of a public Expert: %s", reason(err))
	}
	before, err := s.Resolve(t.Context(), Actor{}, api.Resolve{Keys: []string{"@acme/lead"}})
	if err != nil {
		t.Fatal(err)
	}
	c, _, err := tlog.OpenCheckpoint([]byte(before.Checkpoint), origin, s.verifier)
	if err != nil || c.Size != 6 { // four organizations and two versions
		t.Errorf("%d leaves: a refused publication left something: %v", c.Size, err)
	}
}

// A dry run finds what a publication would, and leaves nothing.
func testValidate(t *testing.T, s *site) {
	acme := s.org("acme", Team)
	asked := api.Publish{Content: content("@acme/lead", "1.0.0")}
	if _, err := s.Validate(t.Context(), acme, asked, PublishOptions{}); err != nil {
		t.Fatal(err)
	}
	s.mustPublish(acme, asked.Content)
	if _, err := s.Validate(t.Context(), acme, asked, PublishOptions{}); reason(err) != "400 Version 1.0.0 is already published" {
		t.Error(err)
	}
}

func testRepeatedPublication(t *testing.T, s *site) {
	acme := s.org("acme", Team)
	asked := api.Publish{Content: content("@acme/lead", "1.0.0")}
	first, err := s.Publish(t.Context(), acme, asked, PublishOptions{RepeatKey: "k"})
	if err != nil {
		t.Fatal(err)
	}
	again, err := s.Publish(t.Context(), acme, asked, PublishOptions{RepeatKey: "k"})
	if err != nil || cmp.Diff(first, again) != "" {
		t.Errorf("%v %s", err, cmp.Diff(first, again))
	}
	if _, err := s.Publish(t.Context(), acme, api.Publish{Content: content("@acme/lead", "2.0.0")}, PublishOptions{RepeatKey: "k"}); reason(err) != "400 The idempotency key was used for another version" {
		t.Error(err)
	}
}

// signed signs a definition with a new key.
func signed(t *testing.T, text []byte) api.Publish {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	armored, err := signature.Sign(signer, text)
	if err != nil {
		t.Fatal(err)
	}
	return api.Publish{Content: text, Signature: armored}
}

func testSignedPublication(t *testing.T, s *site) {
	acme := s.org("acme", Team)
	asked := signed(t, content("@acme/lead", "1.0.0"))
	if _, err := s.Publish(t.Context(), acme, api.Publish{Content: content("@acme/lead", "1.0.1"), Signature: asked.Signature}, PublishOptions{}); !strings.HasPrefix(reason(err), "422 the signature is not valid") {
		t.Error(reason(err))
	}
	done, err := s.Publish(t.Context(), acme, asked, PublishOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, leaf := s.proved(done.Checkpoint, done.Expert.Entry); leaf.Signature == "" || !strings.HasPrefix(done.Expert.Signer, "SHA256:") || done.Expert.Signature != asked.Signature {
		t.Errorf("%+v %+v", leaf, done.Expert)
	}
}

func TestLatest(t *testing.T) {
	row := func(number, status string) version { return version{version: number, status: status} }
	for _, c := range []struct {
		all  []version
		want string
	}{
		{nil, ""},
		{[]version{row("2.0.0", api.Available), row("1.0.1", api.Available)}, "2.0.0"},
		{[]version{row("3.0.0-rc.1", api.Available), row("2.0.0", api.Available)}, "2.0.0"},
		{[]version{row("2.0.0", api.Disabled), row("1.0.0", api.Available)}, "1.0.0"},
		{[]version{row("2.0.0", api.Deprecated), row("1.0.0", api.Available)}, "1.0.0"},
		{[]version{row("2.0.0-a", api.Available), row("1.0.0", api.Deprecated)}, "1.0.0"},
		{[]version{row("2.0.0-b", api.Available), row("2.0.0-a", api.Available)}, "2.0.0-b"},
		{[]version{row("1.0.0", api.Disabled), row("0.9.0", api.Unpublished)}, ""},
	} {
		if got := (&Registry{}).latestOf(c.all); got != c.want {
			t.Errorf("%v: %q", c.all, got)
		}
	}
}

// One of many publishers of a version wins, and the log has no gap.
func testPublishersAtOnce(t *testing.T, s *site) {
	acme := s.org("acme", Team)
	var wg sync.WaitGroup
	var mu sync.Mutex
	var won []string
	for i := range 16 {
		for _, version := range []string{"1.0.0", fmt.Sprintf("1.%d.1", i)} {
			wg.Go(func() {
				text := bytes.Replace(content("@acme/lead", version), []byte("Work."), fmt.Appendf(nil, "Work as %d.", i), 1)
				_, err := s.Publish(context.WithoutCancel(t.Context()), acme, api.Publish{Content: text}, PublishOptions{})
				switch {
				case err == nil:
					mu.Lock()
					defer mu.Unlock()
					won = append(won, version)
				case version != "1.0.0" || reason(err) != "400 Version 1.0.0 is already published":
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	slices.Sort(won)
	if len(won) != 17 || len(slices.Compact(won)) != 17 {
		t.Errorf("%d versions: %v", len(won), won)
	}
	got, err := s.Resolve(t.Context(), Actor{}, api.Resolve{Keys: []string{"@acme/lead@1.0.0", "@acme/lead@1.15.1", "@acme/lead"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range got.Experts {
		if c, _ := s.proved(got.Checkpoint, e.Entry); c.Size != 18 {
			t.Errorf("%d leaves", c.Size)
		}
	}
}

func testResolveRefuses(t *testing.T, s *site) {
	acme, other := s.org("acme", Team), s.org("other", Team)
	if _, err := s.Publish(t.Context(), acme, api.Publish{Content: content("@acme/secret", "1.0.0"), Visibility: api.Private}, PublishOptions{}); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		by   Actor
		ask  api.Resolve
		want string
	}{
		"no key":      {acme, api.Resolve{}, "400 Ask for 1 to 255 keys"},
		"bad key":     {acme, api.Resolve{Keys: []string{"A"}}, "422 "},
		"unknown":     {acme, api.Resolve{Keys: []string{"@acme/none"}}, "404 Expert not found: @acme/none"},
		"version":     {acme, api.Resolve{Keys: []string{"@acme/secret@2.0.0"}}, "404 Expert not found: @acme/secret@2.0.0"},
		"tag":         {acme, api.Resolve{Keys: []string{"@acme/secret@stable"}}, "404 Expert not found: @acme/secret@stable"},
		"private":     {other, api.Resolve{Keys: []string{"@acme/secret"}}, "404 Expert not found: @acme/secret"},
		"anybody":     {Actor{}, api.Resolve{Keys: []string{"@acme/secret"}}, "404 Expert not found: @acme/secret"},
		"future size": {acme, api.Resolve{Keys: []string{"@acme/secret"}, From: 99}, "400 The log has 3 leaves and never had 99"},
	} {
		if _, err := s.Resolve(t.Context(), c.by, c.ask); !strings.HasPrefix(reason(err), c.want) {
			t.Errorf("%s: %s", name, reason(err))
		}
	}
	if _, err := s.Resolve(t.Context(), acme, api.Resolve{Keys: []string{"@acme/secret"}}); err != nil {
		t.Error(err)
	}
}
