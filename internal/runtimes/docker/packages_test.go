package docker

import (
	"errors"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"

	"path/filepath"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/lockfile"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/providers"
	"github.com/perstack-go/perstack/internal/runtimes/docker/hostlink"
	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/internal/secret"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/store/memory"
)

// npm is watched by a process of our own, which is this program.
func TestMain(m *testing.M) {
	sandbox.Init()
	os.Exit(m.Run())
}

// pinnedTo is a lock that has a package for each of these skills, written expert/skill.
func pinnedTo(t *testing.T, c *manifest.Config, pinned map[string]*lockfile.Package, images ...lockfile.Image) *lockfile.Lock {
	t.Helper()
	l := &lockfile.Lock{Images: images}
	for _, e := range c.Experts {
		locked := &lockfile.Expert{Key: e.Key}
		for _, k := range e.Servers() {
			if p := pinned[e.Key+"/"+k.Name]; p != nil {
				locked.Skills = append(locked.Skills, &lockfile.Skill{Name: k.Name, Digest: k.Connection(), Package: p})
			}
		}
		l.Experts = append(l.Experts, locked)
	}
	return l
}

// npmPackage is a package that needs nothing.
func npmPackage(name, version string) *lockfile.Package {
	const integrity = "sha512-" + "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=="
	return &lockfile.Package{Manager: "npx", Name: name, Version: version, Integrity: integrity, Tree: `{"lockfileVersion":3,"requires":true,"packages":{
"":{"dependencies":{"` + name + `":"` + version + `"}},
"node_modules/` + name + `":{"version":"` + version + `","integrity":"` + integrity + `"}
}}
`}
}

const leadAndAide = `
[experts.lead]
instruction = "x"
delegates = ["aide"]
[experts.lead.skills.memory]
type = "mcpStdioSkill"
command = "npx"
args = ["-y", "memory@1.0.0"]
[experts.aide]
instruction = "x"
[experts.aide.skills.notes]
type = "mcpStdioSkill"
command = "npx"
packageName = "memory"
[experts.aide.skills.clock]
type = "mcpStdioSkill"
command = "npx"
packageName = "clock"
[experts.unrelated]
instruction = "x"
[experts.unrelated.skills.other]
type = "mcpStdioSkill"
command = "uvx"
packageName = "other@1.0.0"
`

func parsed(t *testing.T, text string) *manifest.Config {
	t.Helper()
	c, problems := manifest.Parse("perstack.toml", []byte(text))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	return c
}

// What a job stands on is known, and found to be in order, before any daemon is asked.
func TestFooting(t *testing.T) {
	config := parsed(t, leadAndAide)
	all := map[string]*lockfile.Package{
		"lead/memory": npmPackage("memory", "1.0.0"), "aide/notes": npmPackage("memory", "1.0.0"), "aide/clock": npmPackage("clock", "2.0.0"),
		"unrelated/other": {Manager: "uvx", Name: "other", Version: "1.0.0"},
	}
	pin := lockfile.Image{Name: "node:24", Pinned: "node:24@" + someDigest}
	limits := job.Container{NodeImage: "node:24", PythonImage: "python@" + someDigest}
	lead, _ := config.Lookup("lead")
	unrelated, _ := config.Lookup("unrelated")
	for name, test := range map[string]struct {
		job    *expert.Expert
		lock   *lockfile.Lock
		change func(*job.Container)
		want   string // or part of an error after !
	}{
		"node":               {lead, pinnedTo(t, config, all, pin), nil, "node:24 = node:24@" + someDigest + " memory clock"},
		"python":             {unrelated, pinnedTo(t, config, all), nil, "python@" + someDigest + " = python@" + someDigest + " other"},
		"pinned by the file": {lead, pinnedTo(t, config, all), func(d *job.Container) { d.NodeImage = "node@" + otherDigest }, "node@" + otherDigest + " = node@" + otherDigest + " memory clock"},
		"an id":              {lead, pinnedTo(t, config, all), func(d *job.Container) { d.NodeImage = someDigest }, someDigest + " = " + someDigest + " memory clock"},
		"the file wins": {lead, pinnedTo(t, config, all, lockfile.Image{Name: "node@" + otherDigest, Pinned: "node@" + someDigest}),
			func(d *job.Container) { d.NodeImage = "node@" + otherDigest }, "node@" + otherDigest + " = node@" + otherDigest + " memory clock"},
		"a base image": {lead, pinnedTo(t, config, all), func(d *job.Container) { d.BaseImage = "tools:1" }, "tools:1 =  memory clock"},
		"both on a base": {both(t, config), pinnedTo(t, config, all), func(d *job.Container) { d.BaseImage = "tools:1" },
			"tools:1 =  memory clock other"},
		"squid": {lead, pinnedTo(t, config, all, pin, lockfile.Image{Name: "squid", Pinned: "squid@" + otherDigest}),
			func(d *job.Container) { d.Proxy, d.SquidImage = job.ProxySquid, "squid" }, "node:24 = node:24@" + someDigest + " memory clock, squid@" + otherDigest},

		"both":               {both(t, config), pinnedTo(t, config, all, pin), nil, "!name an image with Node and Python: baseImage in [docker]"},
		"no lock":            {lead, nil, nil, `!skill "memory" of "lead": its package is not pinned in the lockfile, and only pinned packages go into an image`},
		"not in the lock":    {lead, pinnedTo(t, config, map[string]*lockfile.Package{"lead/memory": all["lead/memory"]}, pin), nil, `!skill "notes" of "aide": its package is not pinned`},
		"another package":    {lead, pinnedTo(t, config, map[string]*lockfile.Package{"lead/memory": npmPackage("evil", "1.0.0")}, pin), nil, "!its package is not pinned"},
		"a broken tree":      {lead, pinnedTo(t, config, map[string]*lockfile.Package{"lead/memory": {Manager: "npx", Name: "memory", Version: "1.0.0", Tree: "{}"}}, pin), nil, "!" + lockfile.InstallAgain},
		"no version of uv":   {unrelated, pinnedTo(t, config, map[string]*lockfile.Package{"unrelated/other": {Manager: "uvx", Name: "other"}}), nil, "!its package is not pinned"},
		"no pin":             {lead, pinnedTo(t, config, all), nil, "!the image node:24 (nodeImage in [docker]) is not pinned"},
		"a pin of another":   {lead, pinnedTo(t, config, all, lockfile.Image{Name: "node:24", Pinned: "evil:24@" + someDigest}), nil, "!which is another"},
		"a pin of no digest": {lead, pinnedTo(t, config, all, lockfile.Image{Name: "node:24", Pinned: "node:24"}), nil, "!is not pinned"},
		"another tag":        {lead, pinnedTo(t, config, all, lockfile.Image{Name: "node:24", Pinned: "node:6@" + someDigest}), nil, "!which is another"},
		"no image":           {unrelated, pinnedTo(t, config, all), func(d *job.Container) { d.PythonImage = "" }, "!name one in [docker] with pythonImage"},
		"an option":          {lead, pinnedTo(t, config, all), func(d *job.Container) { d.NodeImage = "--x" }, "!is not the name of an image"},
		"no mirror":          {lead, pinnedTo(t, config, all, pin), func(d *job.Container) { d.Mirrors = []string{"http://x"} }, "!is not the address of a registry"},
		"no image of squid":  {lead, pinnedTo(t, config, all, pin), func(d *job.Container) { d.Proxy, d.SquidImage = job.ProxySquid, "" }, "!with squidImage"},
		"no pin of squid":    {lead, pinnedTo(t, config, all, pin), func(d *job.Container) { d.Proxy, d.SquidImage = job.ProxySquid, "squid" }, "!squidImage in [docker]) is not pinned"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &runner{spec: config.Spec(test.job), lock: test.lock}
			*r.container() = limits
			if test.change != nil {
				test.change(r.container())
			}
			f, err := r.footing()
			if message, fails := strings.CutPrefix(test.want, "!"); fails {
				if err == nil || !strings.Contains(err.Error(), message) {
					t.Errorf("%+v, error %v", f, err)
				}
				return
			}
			got := f.image + " = " + f.pinned
			for _, p := range f.packages {
				got += " " + p.Name
			}
			if f.squid != "" {
				got += ", " + f.squid
			}
			if err != nil || got != test.want {
				t.Errorf("%s, %v, want %s", got, err, test.want)
			}
		})
	}
	// Nothing changes for a job without packages.
	bare := parsed(t, "[experts.plain]\ninstruction = \"x\"\n")
	plain, _ := bare.Lookup("plain")
	r := &runner{spec: bare.Spec(plain)}
	*r.container() = limits
	if f, err := r.footing(); err != nil || f.image != "" || f.pinned != "" || r.usesPackages() {
		t.Errorf("%+v, %v", f, err)
	}
}

// The run inside is told where packages are, what to trust, and how skills are kept apart.
func TestDocumentOfPackages(t *testing.T) {
	config := parsed(t, leadAndAide+"[experts.plain]\ninstruction = \"x\"\n")
	lead, _ := config.Lookup("lead")
	plain, _ := config.Lookup("plain")
	document := func(spec job.Spec) *hostlink.Document {
		r := &runner{spec: spec, parts: engine.Parts{Secrets: new(secret.Set), Variables: noVariables}, model: providers.Bundle{}}
		d, err := r.document(&Site{plan: sitePlan{spec: spec}})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	spec := config.Spec(lead)
	spec.Lock = string(pinnedTo(t, config, nil).Encode())
	spec.Isolation.SharedSandbox, spec.Isolation.Container.Proxy = true, job.ProxySquid
	d := document(spec)
	if a := d.Addresses; a.Packages != "/skills" || a.Roots != "/etc/ssl/certs/ca-certificates.crt" || !d.Spec.Isolation.SharedSandbox || !a.Tokenless || d.Spec.Lock == "" {
		t.Errorf("%+v", d)
	}
	if d := document(config.Spec(plain)); d.Addresses.Packages != "" || d.Spec.Isolation.SharedSandbox || d.Addresses.Tokenless {
		t.Errorf("%+v", d)
	}
}

func noVariables(string) engine.Variable { return engine.Variable{} }

// both is an Expert that reaches packages of both kinds.
func both(t *testing.T, c *manifest.Config) *expert.Expert {
	t.Helper()
	lead, _ := c.Lookup("lead")
	e := *lead
	e.Delegates = append(slices.Clone(e.Delegates), "unrelated")
	return &e
}

// A run whose packages are not pinned ends before it has asked for a daemon.
func TestRunWithoutPins(t *testing.T) {
	config := parsed(t, leadAndAide)
	lead, _ := config.Lookup("lead")
	dir, _, _ := someone(t)
	spec := config.Spec(lead)
	spec.JobID, spec.Input.Query, spec.Workspace.Dir = stageJob, "x", dir
	spec.Provider, spec.Setting.Cassette = "replay", filepath.Join(t.TempDir(), "cassette.toml")
	if err := os.WriteFile(spec.Setting.Cassette, []byte("[[turn]]\ntext = 'x'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	spec.Isolation.Container = job.DefaultContainer()
	// A search for the daemon finds an address that is refused with another error.
	_, err := Run(t.Context(), spec, engine.Parts{
		Store: memory.New(), Source: engine.SystemSource(), Log: slog.New(slog.DiscardHandler), Secrets: new(secret.Set),
		Variables: noVariables, Environ: []string{"DOCKER_HOST=ssh://elsewhere"},
	})
	failed, ok := errors.AsType[*engine.Error](err)
	if !ok || failed.Kind != engine.KindInput || !isPinError(err, false) {
		t.Errorf("error %v", err)
	}
}
