package policy

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/expert"
)

func complete() *Policy {
	return &Policy{
		Level:     expert.SandboxFull,
		Workspace: Workspace{Path: "/home/ann/project", Right: expert.WorkspaceRead},
		Read:      []string{"/usr"}, Write: []string{"/srv/out"}, Home: "/home/ann",
		Caches: []Cache{{Path: "/home/ann/.cache/go-build", Lower: "/home/ann/.cache/go-build", Upper: "/state/upper", Work: "/state/work"}},
		Files:  map[string]string{"/home/ann/.gitconfig": "[user]\n", "/home/ann/b": "x"},
		Hidden: []string{".env"}, Frozen: []string{"/srv/out/config", "perstack.toml"}, Pinned: []string{".git"},
		Listener: true, Limits: Limits{Tasks: 512, Memory: 1 << 30},
	}
}

func TestEncode(t *testing.T) {
	text, err := complete().Encode()
	if err != nil {
		t.Fatal(err)
	}
	again, err := complete().Encode()
	if err != nil || again != text {
		t.Fatalf("the same policy has the texts %s and %s (%v)", text, again, err)
	}
	back, err := Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(complete(), back); diff != "" {
		t.Error(diff)
	}
}

func TestValidate(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*Policy)
		want   string
	}{
		"no level":             {func(p *Policy) { p.Level = "" }, `the level ""`},
		"level off":            {func(p *Policy) { p.Level = expert.SandboxOff }, `cannot have the level off`},
		"relative read":        {func(p *Policy) { p.Read = []string{"usr"} }, "absolute and clean"},
		"write with dots":      {func(p *Policy) { p.Write = []string{"/srv/../etc"} }, "absolute and clean"},
		"NUL in a path":        {func(p *Policy) { p.Read = []string{"/a\x00b"} }, "absolute and clean"},
		"relative home":        {func(p *Policy) { p.Home = "home" }, "absolute and clean"},
		"relative workspace":   {func(p *Policy) { p.Workspace.Path = "." }, "absolute and clean"},
		"cache without upper":  {func(p *Policy) { p.Caches[0].Upper = "" }, "absolute and clean"},
		"relative file":        {func(p *Policy) { p.Files = map[string]string{"a": ""} }, "absolute and clean"},
		"unknown right":        {func(p *Policy) { p.Workspace.Right = "all" }, `the right "all"`},
		"hidden outside":       {func(p *Policy) { p.Hidden = []string{"../x"} }, "in the workspace"},
		"frozen elsewhere":     {func(p *Policy) { p.Frozen = []string{"/x"} }, "nothing that can be written"},
		"frozen, only read":    {func(p *Policy) { p.Frozen = []string{"/usr/bin"} }, "nothing that can be written"},
		"frozen beside":        {func(p *Policy) { p.Frozen = []string{"/srv/output"} }, "nothing that can be written"},
		"frozen is writable":   {func(p *Policy) { p.Frozen = []string{"/srv/out"} }, "nothing that can be written"},
		"frozen with dots":     {func(p *Policy) { p.Frozen = []string{"/srv/out/../x"} }, "in the workspace"},
		"pinned workspace":     {func(p *Policy) { p.Pinned = []string{"."} }, "in the workspace"},
		"hidden, no workspace": {func(p *Policy) { p.Workspace = Workspace{} }, "does not have"},
		"port 0":               {func(p *Policy) { p.Ports = []uint16{0} }, "port 0"},
		"negative limit":       {func(p *Policy) { p.Limits.Signals = -1 }, "negative"},
	} {
		t.Run(name, func(t *testing.T) {
			p := complete()
			test.change(p)
			if _, err := p.Encode(); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
		})
	}
}

func FuzzDecode(f *testing.F) {
	text, err := complete().Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add(`{"level":"full","hidden":["../x"]}`)
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Decode(text)
		if err != nil {
			return
		}
		if err := p.Validate(); err != nil {
			t.Fatalf("Decode accepted %q: %v", text, err)
		}
	})
}
