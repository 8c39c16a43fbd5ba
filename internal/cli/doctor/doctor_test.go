package doctor

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/sandbox/probe"
	"github.com/perstack-go/perstack/internal/testkit"
)

func TestOptions(t *testing.T) {
	for _, tt := range []struct {
		args                 []string
		json, online, armour bool
		err                  string
	}{
		{args: []string{}},
		{args: []string{"--json", "--online"}, json: true, online: true},
		{args: []string{"--apparmor-profile"}, armour: true},
		{args: []string{"now"}, err: `doctor takes no arguments, but got "now"; it checks the project in this directory`},
	} {
		var got *Options
		cmd := New(nil, func(_ context.Context, opts *Options) error { got = opts; return nil })
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		cmd.SetArgs(tt.args)
		err := cmd.Execute()
		if tt.err != "" {
			if err == nil || err.Error() != tt.err || host.ExitCode(err) != host.ExitUsage {
				t.Errorf("%q: %v", tt.args, err)
			}
			continue
		}
		if err != nil || got.JSON != tt.json || got.Online != tt.online || got.AppArmorProfile != tt.armour || got.Level == nil || got.Executable == nil {
			t.Errorf("%q: %+v, %v", tt.args, got, err)
		}
	}
}

// A patient is a user with a home and a project of their own.
type patient struct {
	t    *testing.T
	dir  string // of the project
	home string
	opts *Options
}

func newPatient(t *testing.T) *patient {
	root := t.TempDir()
	p := &patient{t: t, dir: filepath.Join(root, "project"), home: filepath.Join(root, "home")}
	for _, dir := range []string{p.dir, p.home} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	p.opts = &Options{
		Host:       &host.Host{Dir: p.dir, Home: p.home, Command: "perstack", Environ: []string{"PATH=" + filepath.Join(root, "bin"), "DOCKER_HOST=unix://" + filepath.Join(root, "no.sock")}},
		Executable: func() (string, error) { return filepath.Join(root, "perstack"), nil },
		Level: func(context.Context) (expert.SandboxLevel, []probe.Step) {
			return expert.SandboxFull, []probe.Step{{Name: probe.Namespaces, Status: probe.OK}}
		},
	}
	p.opts.Patience = time.Minute // a busy machine is not what is tested
	p.file("../perstack", 0o755, "")
	return p
}

func (p *patient) set(name, value string) {
	p.opts.Host.Environ = append(p.opts.Host.Environ, name+"="+value)
}

// file writes a file; its path starts in the project.
func (p *patient) file(path string, mode os.FileMode, text string) string {
	p.t.Helper()
	path = filepath.Join(p.dir, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		p.t.Fatal(err)
	}
	return path
}

// checked runs the command with --json.
func (p *patient) checked() (r report, code int) {
	p.t.Helper()
	var out bytes.Buffer
	p.opts.Host.Stdout, p.opts.Host.Stderr, p.opts.JSON = &out, &out, true
	code = host.ExitCode(run(p.t.Context(), p.opts))
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		p.t.Fatalf("%v: %s", err, out.String())
	}
	return r, code
}

func (r report) check(id string) Check {
	i := slices.IndexFunc(r.Checks, func(c Check) bool { return c.ID == id })
	if i < 0 {
		return Check{}
	}
	return r.Checks[i]
}

const replayProject = "[provider]\nproviderName = 'replay'\n[provider.setting]\ncassette = 'c.toml'\n[experts.a]\ninstruction = 'x'\n"

const realProject = "[experts.a]\ninstruction = 'x'\n"

// Each check finds its problem, names it and says how to fix it.
func TestChecks(t *testing.T) {
	const key = "sk-canary-4a8f1c9d27e60b35"
	for _, tt := range []struct {
		name   string
		make   func(p *patient)
		id     string
		status Status
		detail string
		fix    string
	}{
		{"one copy", func(*patient) {}, "program", OK, "perstack", ""},
		{"another copy", func(p *patient) { p.file("../bin/perstack", 0o755, "") }, "program", Warn, "and the shell starts ", "remove the copies"},
		{"not executable", func(p *patient) { p.file("../bin/perstack", 0o644, "") }, "program", OK, "perstack", ""},
		{"no project", func(*patient) {}, "project", Info, "there is none", ""},
		{"project", func(p *patient) { p.file("perstack.toml", 0o600, replayProject) }, "project", OK, "1 Expert", ""},
		{"broken project", func(p *patient) { p.file("perstack.toml", 0o600, "experts = 1") }, "project", Fail, "perstack.toml:1", "perstack validate"},
		{"project is a directory", func(p *patient) { p.file("perstack.toml/x", 0o600, "") }, "project", Fail, "perstack.toml", "fix it or remove it"},
		{"no key at all", func(*patient) {}, "key", Warn, "no key", "ANTHROPIC_API_KEY"},
		{"a key, no project", func(p *patient) { p.set("OPENAI_API_KEY", key) }, "key", OK, "openai: key from OPENAI_API_KEY in the environment", ""},
		{"replay", func(p *patient) { p.file("perstack.toml", 0o600, replayProject) }, "key.replay", Info, "no key is needed", ""},
		{"key missing", func(p *patient) { p.file("perstack.toml", 0o600, realProject) }, "key.anthropic", Fail, "ANTHROPIC_API_KEY", "set ANTHROPIC_API_KEY in the environment"},
		{"key in the environment", func(p *patient) {
			p.file("perstack.toml", 0o600, realProject)
			p.set("ANTHROPIC_API_KEY", key)
		}, "key.anthropic", OK, "key from ANTHROPIC_API_KEY in the environment", ""},
		{"key in a file", func(p *patient) {
			p.file("perstack.toml", 0o600, realProject)
			p.file(".env", 0o600, "ANTHROPIC_API_KEY="+key+"\n")
		}, "key.anthropic", OK, "key from ANTHROPIC_API_KEY in ", ""},
		{"broken env file", func(p *patient) { p.file(".env", 0o600, "no assignment\n") }, "key", Fail, ".env:1", "fix the env file"},
		{"no private files", func(*patient) {}, "files.modes", Info, "none yet", ""},
		{"private files", func(p *patient) { p.file("../home/.local/state/perstack/seal.keys", 0o600, "") }, "files.modes", OK, "no rights to 1 file", ""},
		{"open seal key", func(p *patient) { p.file("../home/.local/state/perstack/seal.keys", 0o644, "") }, "files.modes", Fail, "seal.keys", "chmod go= "},
		{"open credentials", func(p *patient) { p.file("../home/.config/perstack/credentials.json", 0o640, "") }, "files.modes", Fail, "credentials.json", "chmod go= "},
		{"named credentials", func(p *patient) { p.set("GOOGLE_APPLICATION_CREDENTIALS", p.file("key.json", 0o604, "")) }, "files.modes", Fail, "key.json", "chmod go= "},
		{"no env file", func(*patient) {}, "files.env", Info, "none", ""},
		{"no repository", func(p *patient) { p.file(".env", 0o600, "") }, "files.env", Info, "in no git repository", ""},
		{"not ignored", func(p *patient) { p.file(".env", 0o600, ""); p.file(".git/HEAD", 0o600, "") }, "files.env", Fail, "git does not ignore", "echo .env >>"},
		{"ignored", func(p *patient) {
			p.file(".env", 0o600, "")
			p.file(".git/HEAD", 0o600, "")
			p.file(".gitignore", 0o600, ".env*\n")
		}, "files.env", OK, "git ignores .env", ""},
		{"ignored above", func(p *patient) {
			p.file(".env", 0o600, "")
			p.file("../.git/info/exclude", 0o600, "project/.env\n")
		}, "files.env", OK, "git ignores .env", ""},
		{"ignored by the user", func(p *patient) {
			p.file(".env", 0o600, "")
			p.file(".git/HEAD", 0o600, "")
			p.file("../home/.config/git/ignore", 0o600, ".env")
		}, "files.env", OK, "git ignores .env", ""},
		{"new state", func(*patient) {}, "state", OK, "does not exist yet", ""},
		{"no home", func(p *patient) { p.opts.Host.Home = "" }, "state", Fail, "home directory is not known", "set HOME"},
		{"state is a file", func(p *patient) { p.file("../home/.local/state", 0o600, "") }, "state", Fail, "cannot be used", "XDG_STATE_HOME"},
		{"space", func(*patient) {}, "state.space", OK, "for the history", ""},
		{"no seal key", func(*patient) {}, "state.key", Info, "the first run makes it", ""},
		{"bad seal key", func(p *patient) { p.file("../home/.local/state/perstack/seal.keys", 0o600, "x\n") }, "state.key", Fail, "line 1 is not a key", "begin with a new key"},
		{"left lock", func(p *patient) { p.file("../home/.local/state/perstack/seal.keys.new", 0o600, "") }, "state.locks", Warn, "was killed", "rm "},
		{"no daemon", func(*patient) {}, "docker", Info, "no.sock", ""},
		{"daemon needed", func(p *patient) { p.file("perstack.toml", 0o600, "runtime = 'docker'\n"+realProject) }, "docker", Fail, "no.sock", "start Docker"},
		{"no programs", func(p *patient) { p.file("perstack.toml", 0o600, replayProject) }, "programs", Info, "no skill", ""},
		{"npm missing", func(p *patient) {
			p.file("perstack.toml", 0o600, replayProject+"[experts.a.skills.s]\ntype = 'mcpStdioSkill'\ncommand = 'npx'\npackageName = 'x'\n")
		}, "program.npm", Fail, "not in PATH", "install npm"},
		{"uv missing", func(p *patient) {
			p.file("perstack.toml", 0o600, replayProject+"[experts.a.skills.s]\ntype = 'mcpStdioSkill'\ncommand = 'uvx'\npackageName = 'x'\n")
		}, "program.uvx", Fail, "not in PATH", "install uv"},
		{"another program missing", func(p *patient) {
			p.file("perstack.toml", 0o600, replayProject+"[experts.a.skills.s]\ntype = 'mcpStdioSkill'\ncommand = 'my-server'\n")
		}, "program.my-server", Fail, "not in PATH", "install my-server"},
		{"node with a version", func(p *patient) {
			p.file("../bin/node", 0o755, "#!/bin/sh\nprintf 'v24.1.0\\033[31m\\nmore\\n'\n")
			p.file("perstack.toml", 0o600, replayProject+"[experts.a.skills.s]\ntype = 'mcpStdioSkill'\ncommand = 'npx'\npackageName = 'x'\n")
		}, "program.node", OK, "v24.1.0 at ", ""},
		{"node without one", func(p *patient) {
			p.file("../bin/node", 0o755, "#!/bin/sh\nexit 3\n")
			p.file("perstack.toml", 0o600, replayProject+"[experts.a.skills.s]\ntype = 'mcpStdioSkill'\ncommand = 'npx'\npackageName = 'x'\n")
		}, "program.node", Warn, "does not tell its version", ""},
		{"pipe", func(*patient) {}, "terminal", Info, "a pipe", ""},
		{"screen", func(p *patient) { p.opts.Host.StdoutIsTerminal, p.opts.Host.Width = true, 120 }, "terminal", OK, "120 columns, colours, UTF-8, no keyboard", ""},
		{"plain screen", func(p *patient) {
			p.opts.Host.StdoutIsTerminal, p.opts.Host.StdinIsTerminal = true, true
			p.set("LC_ALL", "C")
			p.set("NO_COLOR", "1")
		}, "terminal", Warn, "no colours (NO_COLOR), not UTF-8", "set LANG"},
		{"no proxy", func(*patient) {}, "proxy", Info, "none is set", ""},
		{"proxy", func(p *patient) { p.set("https_proxy", "http://ann:"+key+"@proxy.example:3128/x") }, "proxy.https_proxy", Info, "https_proxy is http://proxy.example:3128", ""},
		{"proxy without a scheme", func(p *patient) { p.set("HTTP_PROXY", "ann:pw@proxy.example:3128") }, "proxy.HTTP_PROXY", Info, "HTTP_PROXY is http://proxy.example:3128", ""},
		{"cache", func(p *patient) { p.file("../home/.cache/perstack/a/b", 0o600, strings.Repeat("x", 2500)) }, "storage.cache", Info, "2 kB in ", "rm -r "},
		{"no cache", func(*patient) {}, "storage.cache", Info, "0 bytes in ", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPatient(t)
			tt.make(p)
			r, code := p.checked()
			c := r.check(tt.id)
			if c.Status != tt.status || !strings.Contains(c.Detail, tt.detail) || !strings.Contains(c.Fix, tt.fix) || (c.Fix == "") != (tt.fix == "") {
				t.Errorf("check %+v\n want %s: %q, %q", c, tt.status, tt.detail, tt.fix)
			}
			failed := count(r.Checks, Fail) > 0
			if r.OK == failed || (code == host.ExitFailure) != failed || r.Version != 1 {
				t.Errorf("ok %v, exit code %d, version %d", r.OK, code, r.Version)
			}
			for _, c := range r.Checks {
				if text := c.Detail + c.Fix; strings.Contains(text, key) || strings.ContainsAny(text, "\x1b\n") {
					t.Errorf("shown: %+v", c)
				}
			}
		})
	}
}

// The history of this project has its own size, and the command that makes it smaller.
func TestHistorySize(t *testing.T) {
	p := newPatient(t)
	dir, err := p.opts.Host.StateDir()
	if err != nil {
		t.Fatal(err)
	}
	project, err := dir.Project(p.dir)
	if err != nil {
		t.Fatal(err)
	}
	own, err := filepath.Rel(p.dir, project.State)
	if err != nil {
		t.Fatal(err)
	}
	p.file(filepath.Join(own, "jobs", "j", "journal.jsonl"), 0o600, strings.Repeat("x", 3000))
	p.file(filepath.Join(own, "..", "other-1", "jobs", "j", "journal.jsonl"), 0o600, strings.Repeat("x", 5000))
	r, _ := p.checked()
	c := r.check("storage.history")
	if c.Detail != "8 kB in all projects, 3 kB in this one" || c.Fix != "perstack jobs prune --older 30d deletes old jobs of this project" {
		t.Errorf("%+v", c)
	}
}

func TestStepTitles(t *testing.T) {
	for name, want := range map[string]string{"seccomp": "seccomp", "start": "complete start", "start.root": "read-only system", "start.hidden": "hidden"} {
		if got := stepTitle(name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// What a level means for the whole and for its steps.
func TestSandboxLevels(t *testing.T) {
	refused := []probe.Step{
		{Name: probe.Mounts, Status: probe.Fail, Detail: "mount a tmpfs", Errno: "EPERM", Cause: "AppArmor", Remedy: probe.AllowByProfile},
		{Name: probe.Proc, Status: probe.Skipped, Detail: "a step before it failed"},
	}
	for _, tt := range []struct {
		level       expert.SandboxLevel
		steps       []probe.Step
		whole, step Status
	}{
		{expert.SandboxFull, []probe.Step{{Name: probe.Mounts, Status: probe.OK}}, OK, OK},
		{expert.SandboxLandlock, refused, Warn, Warn},
		{expert.SandboxOff, refused, Fail, Fail},
	} {
		p := newPatient(t)
		p.opts.Level = func(context.Context) (expert.SandboxLevel, []probe.Step) { return tt.level, tt.steps }
		r, _ := p.checked()
		step := r.check("sandbox.mounts")
		if r.check("sandbox").Status != tt.whole || step.Status != tt.step {
			t.Errorf("%s: %+v, %+v", tt.level, r.check("sandbox"), step)
		}
		if tt.step != OK && (step.Detail != "cannot mount a tmpfs (EPERM): AppArmor" || step.Fix != installProfile || r.check("sandbox.proc").Status != Info) {
			t.Errorf("%s: %+v", tt.level, step)
		}
	}
}

// A check that takes too long fails and does not keep the others from being shown.
func TestSlowCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []Check
		tasks := []task{
			{"slow", "slow", func(ctx context.Context) []Check { <-ctx.Done(); return []Check{{ID: "slow", Status: OK}} }},
			{"deaf", "deaf", func(context.Context) []Check { time.Sleep(time.Hour); return nil }},
			{"quick", "quick", func(context.Context) []Check { return []Check{{ID: "quick", Status: OK}} }},
		}
		for group := range conduct(t.Context(), tasks, patience) {
			got = append(got, group...)
		}
		const late = "there was no answer within 2s"
		if len(got) != 3 || got[0] != (Check{"slow", "slow", Fail, late, ""}) || got[1] != (Check{"deaf", "deaf", Fail, late, ""}) || got[2].Status != OK {
			t.Errorf("%+v", got)
		}
		time.Sleep(2 * time.Hour) // until the last task has ended
	})
}

// The list for people, with every kind of line.
func TestPrint(t *testing.T) {
	var out bytes.Buffer
	p := &printer{&out}
	for _, c := range []Check{
		{ID: "program", Title: "program", Status: OK, Detail: "/usr/bin/perstack"},
		{ID: "key.anthropic", Title: "anthropic", Status: Fail, Detail: "no key", Fix: "set ANTHROPIC_API_KEY"},
		{ID: "sandbox", Title: "sandbox", Status: Warn, Detail: "level landlock"},
		{ID: "sandbox.namespaces", Title: "namespaces", Status: Warn, Detail: "cannot create them (EPERM)", Fix: "use another machine"},
		{ID: "sandbox.seccomp", Title: "seccomp", Status: OK},
		{ID: "storage.cache", Title: "package cache", Status: Info, Detail: "1.5 GB in /c", Fix: "rm -r /c"},
	} {
		if err := p.check(c); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range [][2]int{{1, 2}, {2, 0}, {0, 1}, {0, 0}} {
		if err := p.end(n[0], n[1]); err != nil {
			t.Fatal(err)
		}
	}
	testkit.Golden(t, "print.golden", out.String())
}

// The profile names the program itself, not a link to it.
func TestProfile(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	real, link := filepath.Join(dir, "perstack"), filepath.Join(dir, "link")
	if err := os.WriteFile(real, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	text, err := apparmorProfile(link)
	if err != nil || !strings.Contains(text, `profile perstack "`+real+`" flags=(unconfined) {`+"\n  userns,\n") {
		t.Errorf("%s, %v", text, err)
	}
	odd := filepath.Join(dir, `a"b`)
	if err := os.WriteFile(odd, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := apparmorProfile(odd); err == nil {
		t.Error("a quote became part of a profile")
	}
}
