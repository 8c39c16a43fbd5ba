package manifest

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/job"
)

// A simple name can be a slip, and is not looked for elsewhere.
func TestNamesPublished(t *testing.T) {
	for key, want := range map[string]bool{
		"@acme/x": true, "@acme/x@1.0.0": true, "@acme/x@beta": true, "x@1.0.0": true, "x@latest": true,
		"x": false, "": false, "X": false, "@acme": false, "x@": false, "a.b@1.0.0": false, "@a.b/x": false,
	} {
		if got := NamesPublished(key); got != want {
			t.Errorf("%q: %v", key, got)
		}
	}
}

const mixed = `
[experts.lead]
instruction = 'x'
delegates = ['@acme/a', '@acme/b@latest', 'helper']
[experts.helper]
instruction = 'x'
delegates = ['@acme/a@2.0.0', 'far@1.0.0', 'gone']
[experts.alone]
instruction = 'x'
delegates = ['@acme/c', 'lead@9.0.0', '@acme/own@9.0.0']
[experts."@acme/own"]
instruction = 'x'
`

func TestMissing(t *testing.T) {
	c := check(t, mixed)
	for _, test := range []struct{ keys, want []string }{
		{nil, []string{"@acme/a", "@acme/b@latest", "@acme/a@2.0.0", "far@1.0.0", "@acme/c", "@acme/own@9.0.0"}},
		{[]string{"lead"}, []string{"@acme/a", "@acme/b@latest", "@acme/a@2.0.0", "far@1.0.0"}},
		{[]string{"@acme/z"}, []string{"@acme/z"}},
		{[]string{"helper@2.0.0"}, nil}, // the file has another version
		{[]string{"nothing"}, nil},
		{[]string{"@acme/own"}, nil},
		{[]string{"@acme/own@1.0.0"}, nil},
	} {
		if d := cmp.Diff(test.want, c.Missing(test.keys...)); d != "" {
			t.Errorf("%q (-want +got)\n%s", test.keys, d)
		}
	}
}

// published is an Expert as a registry has it.
func published(key string, delegates ...string) *expert.Expert {
	k, err := expert.ParseKey(key)
	if err != nil {
		panic(err)
	}
	return &expert.Expert{Key: key, Name: k.Name, Version: k.Version, Instruction: key, Delegates: delegates}
}

// A job names published delegates by their exact keys, so that two versions of one are told apart.
func TestAdd(t *testing.T) {
	c := check(t, mixed)
	err := c.Add(map[string]string{"@acme/a": "@acme/a@1.5.0", "@acme/b@latest": "@acme/b@3.0.0", "@acme/a@2.0.0": "@acme/a@2.0.0", "far@1.0.0": "far@1.0.0", "lead": "far@1.0.0"},
		published("@acme/a@1.5.0"), published("@acme/a@2.0.0"), published("@acme/b@3.0.0", "@acme/a@1.5.0"), published("far@1.0.0"))
	if err != nil {
		t.Fatal(err)
	}
	if missing := c.Missing("lead"); len(missing) > 0 {
		t.Errorf("still missing: %q", missing)
	}
	lead, _ := c.Lookup("lead")
	if lead != c.Experts[0] {
		t.Fatal("a published Expert took the place of one of the file")
	}
	spec := c.Spec(lead)
	got := map[string][]string{}
	for _, e := range spec.Experts {
		got[e.Key] = e.Delegates
	}
	want := map[string][]string{
		"lead":          {"@acme/a@1.5.0", "@acme/b@3.0.0", "helper"},
		"helper":        {"@acme/a@2.0.0", "far@1.0.0", "gone"},
		"@acme/a@1.5.0": nil, "@acme/a@2.0.0": nil, "far@1.0.0": nil,
		"@acme/b@3.0.0": {"@acme/a@1.5.0"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	for _, key := range []string{"@acme/a@1.5.0", "@acme/a@2.0.0"} {
		if e, ok := spec.Lookup(key); !ok || e.Instruction != key {
			t.Errorf("the job finds %v for %s", e, key)
		}
	}
	if !slices.Equal(lead.Delegates, []string{"@acme/a", "@acme/b@latest", "helper"}) {
		t.Errorf("the file was changed: %q", lead.Delegates)
	}
	if ps := c.Unsupported(published("@acme/z@1.0.0", "@acme/a@1.5.0"), job.Settings{}); ps.Err() != nil {
		t.Error(ps)
	}
}

// A file cannot put another Expert in the place of one that was verified, neither of the one that is asked for
// nor of a delegate.
func TestAddCollides(t *testing.T) {
	c := check(t, mixed)
	err := c.Add(map[string]string{"@acme/own@latest": "@acme/own@1.0.0"}, published("@acme/own@1.0.0"))
	if err == nil || !strings.Contains(err.Error(), `experts."@acme/own": @acme/own@1.0.0 is a published Expert, too`) {
		t.Error(err)
	}
}

// What is said about a published Expert does not name a file that does not have it.
func TestProblemOfPublished(t *testing.T) {
	c := Empty(t.TempDir())
	if err := c.Add(map[string]string{"@acme/a": "@acme/a@1.0.0"}, published("@acme/a@1.0.0")); err != nil {
		t.Fatal(err)
	}
	if p := c.Problem(`experts."@acme/a".model`, "is bad", ""); p.String() != `experts."@acme/a".model: is bad` {
		t.Error(p)
	}
}
