package consent_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/consent"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/providers"
	"github.com/perstack-go/perstack/job"
)

// What [sandbox] opens is asked about, and what it closes is not. A yes to everything does not
// cover it, except for limits.
func TestSandboxRequests(t *testing.T) {
	dir := consent.Resolve(t.TempDir())
	in, out := filepath.Join(dir, "ws", "data"), filepath.Join(dir, "data")
	list := func(text string, flags job.Isolation, recorded expert.SandboxLevel) []consent.Request {
		t.Helper()
		text = strings.NewReplacer("IN", "'"+in+"'", "OUT", "'"+out+"'").Replace(text)
		c, problems := manifest.Parse("perstack.toml", []byte(text))
		if c == nil {
			t.Fatal(problems)
		}
		resolved := job.Resolve(job.Flags{Settings: job.Settings{Isolation: flags}}, c.Settings, job.Settings{Runtime: job.Local, Isolation: job.Isolation{Sandbox: recorded}}, providers.Catalogue{})
		return consent.List(consent.Project{Config: c, Experts: c.Experts, Resolved: resolved, Workspace: filepath.Join(dir, "ws")})
	}
	const on, rest = "[sandbox]\nmode = 'auto'\n", "\n[experts.a]\ninstruction = 'x'\n"
	quiet := rest + "[experts.a.skills.'@perstack/base']\nomit = ['exec']\n"
	asks := rest + "[experts.a.skills.s]\ntype = 'mcpStdioSkill'\ncommand = 'x'\nsandbox = 'landlock'\n"
	off := "sandbox 2: programs run without a sandbox, with all your rights"
	read, write := "sandbox 3: programs can read "+out, "sandbox 3: programs can change "+out
	for name, c := range map[string]struct {
		text     string
		flags    job.Isolation
		recorded expert.SandboxLevel
		want     []string
	}{
		"stricter":           {text: on + "hide = ['a']\nprotect = ['b']\ncaches = []\nnetwork = 'none'\nmemory = '1GiB'\nprocesses = 100\nreadable = [IN]\nwritable = [IN]" + rest},
		"off":                {text: "[sandbox]\nmode = 'off'" + rest, want: []string{off}},
		"off by a flag":      {text: "[sandbox]\nmode = 'off'" + rest, flags: job.Isolation{Sandbox: expert.SandboxOff}},
		"on by a flag":       {text: "[sandbox]\nmode = 'off'" + rest, flags: job.Isolation{Sandbox: expert.SandboxAuto}},
		"on by the record":   {text: "[sandbox]\nmode = 'off'" + rest, recorded: expert.SandboxLandlock},
		"no programs":        {text: "[sandbox]\nmode = 'off'" + quiet},
		"readable":           {text: on + "readable = [OUT]" + rest, want: []string{read}},
		"readable by a flag": {text: on + "readable = [OUT]" + rest, flags: job.Isolation{Reach: job.Reach{Read: []string{out}}}},
		"writable":           {text: on + "writable = [OUT]" + rest, want: []string{write}},
		"read by a flag":     {text: on + "writable = [OUT]" + rest, flags: job.Isolation{Reach: job.Reach{Read: []string{out}}}, want: []string{write}},
		"written by a flag":  {text: on + "readable = [OUT]" + rest, flags: job.Isolation{Reach: job.Reach{Write: []string{out}}}},
		"no sandbox":         {text: "[sandbox]\nreadable = [OUT]" + rest, flags: job.Isolation{Sandbox: expert.SandboxOff}},
		"by default":         {text: "[sandbox]\n\nreadable = [OUT]" + rest, want: []string{read}},
		"of one skill":       {text: "[sandbox]\n\nreadable = [OUT]" + asks, want: []string{read}},
		"host":               {text: on + "network = 'host'" + rest, want: []string{"sandbox 3: programs can use the network of this machine"}},
		"host by a flag":     {text: on + "network = 'host'" + rest, flags: job.Isolation{Reach: job.Reach{Network: job.NetworkHost}}},
		"limits": {text: on + "memory = '8GiB'\nprocesses = 513\ndiskGrowth = '5GiB'" + rest, want: []string{
			"limits 3: memory of sandboxes is 8GiB, instead of 4GiB", "limits 4: processes of sandboxes is 513, instead of 512", "limits 5: diskGrowth of sandboxes is 5GiB, instead of 4GiB",
		}},
		"limits of a container": {text: "runtime = 'docker'\n" + on + "memory = '8GiB'\nprocesses = 513\ndiskGrowth = '5GiB'" + rest, want: []string{"limits 6: diskGrowth of sandboxes is 5GiB, instead of 4GiB"}},
	} {
		got := list(c.text, c.flags, c.recorded)
		if diff := cmp.Diff(c.want, lines(got)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
		for _, r := range got {
			if r.Explicit != (r.Kind == manifest.RequestSandbox) {
				t.Errorf("%s: %+v", name, r)
			}
		}
	}
	// An answer is about one path, wherever it is in the list.
	one := list(on+"readable = [OUT]"+rest, job.Isolation{}, "")
	moved := list("\n"+on+"readable = [IN, OUT]"+rest, job.Isolation{}, "")
	other := list(on+"writable = [OUT]"+rest, job.Isolation{}, "")
	if one[0].Digest() != moved[0].Digest() || one[0].Digest() == other[0].Digest() || one[0].Value != out {
		t.Errorf("%+v, %+v, %+v", one, moved, other)
	}
}
