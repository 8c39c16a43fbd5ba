package host

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/consent"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/job"
)

// The flag counts before the environment, and an unknown word is refused.
func TestSandboxLevel(t *testing.T) {
	for _, c := range []struct {
		flag     expert.SandboxLevel
		variable string
		want     expert.SandboxLevel
		refused  bool
	}{
		{"", "", "", false},
		{"", "auto", expert.SandboxAuto, false},
		{expert.SandboxOff, "full", expert.SandboxOff, false},
		{expert.SandboxOff, "nonsense", expert.SandboxOff, false},
		{"", "true", "", true},
	} {
		h := &Host{Environ: []string{"PERSTACK_SANDBOX=" + c.variable}}
		if got, err := h.Sandbox(c.flag); got != c.want || (err != nil) != c.refused || err != nil && ExitCode(err) != ExitUsage {
			t.Errorf("%+v: %q, %v", c, got, err)
		}
	}
}

// Paths of the file are relative to it or to the home directory, and lose their links.
func TestSandboxPaths(t *testing.T) {
	dir := consent.Resolve(t.TempDir())
	at := func(names ...string) string { return filepath.Join(append([]string{dir}, names...)...) }
	h := &Host{Dir: at("project"), Home: at("home"), Environ: []string{"XDG_STATE_HOME=" + at("state")}}
	state, err := h.StateDir()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{at("home", "data"), at("project", "in"), at("out"), filepath.Join(string(state), "projects")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../out", at("project", "link")); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	if err := os.Symlink(string(state), at("project", "key")); err != nil {
		t.Fatal(err)
	}
	parse := func(text string) *manifest.Config {
		c, problems := manifest.Parse(at("project", "perstack.toml"), []byte("[sandbox]\n"+text+"\n[experts.a]\ninstruction = 'x'\n"))
		if c == nil {
			t.Fatal(problems)
		}
		return c
	}
	c := parse("readable = ['~/data', 'in', 'link']\nwritable = ['../out']")
	if err := h.SandboxPaths(c); err != nil {
		t.Fatal(err)
	}
	want := job.Reach{Read: []string{at("home", "data"), at("project", "in"), at("out")}, Write: []string{at("out")}}
	if diff := cmp.Diff(want, c.Settings.Isolation.Reach); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for path, want := range map[string]string{
		"none": "does not exist", "/": "the whole file system", "~": "it is the home directory", "../home": "it is the home directory", "..": "it contains the home directory",
		"key": "in the state directory", "key/projects": "in the state directory", "key/projects/": "in the state directory",
	} {
		err := h.SandboxPaths(parse("readable = ['" + path + "']"))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), ":2:1: sandbox.readable.0: ") || ExitCode(err) != ExitUsage {
			t.Errorf("%s: %v", path, err)
		}
		reach := job.Reach{Write: []string{path}}
		if err := h.CheckReach(&reach); path != "~" && (err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "--sandbox-write: ")) {
			t.Errorf("the flag, %s: %v", path, err)
		}
	}
}

// Which settings programs are not held to is said at every level but full.
func TestUnenforced(t *testing.T) {
	is := job.Isolation{Reach: job.Reach{Hide: []string{"a"}, Read: []string{"/b"}}, SandboxLimits: job.SandboxLimits{DiskGrowth: 1, Processes: 3}}
	for level, want := range map[expert.SandboxLevel]string{
		expert.SandboxFull: "", "": "theirs is off", expert.SandboxLandlock: "nothing holds programs to hide in [sandbox]: that needs level full, and theirs is landlock",
	} {
		if got := Unenforced(is, level); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%q: %q", level, got)
		}
	}
	if got := Unenforced(job.Isolation{}, ""); got != "" {
		t.Error(got)
	}
}

// A machine without a sandbox is accepted once for a project, and only on a terminal.
func TestAcceptNoSandbox(t *testing.T) {
	dir := t.TempDir()
	config := &manifest.Config{Dir: filepath.Join(dir, "project")}
	if err := os.Mkdir(config.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	why := errors.New("an old kernel")
	ask := func(terminal bool, answer string) (string, error) {
		var out strings.Builder
		h := &Host{Home: filepath.Join(dir, "home"), Environ: []string{"XDG_STATE_HOME=" + filepath.Join(dir, "state")}, Stdin: strings.NewReader(answer), Stderr: &out, StdinIsTerminal: terminal, StderrIsTerminal: terminal, Yes: true}
		err := h.AcceptNoSandbox(t.Context(), config, config.Dir, why)
		return out.String(), err
	}
	if _, err := ask(false, ""); ExitCode(err) != ExitUsage || err.Error() != "this machine has no sandbox: an old kernel; use --runtime docker, or accept it with --sandbox=off" {
		t.Error(err)
	}
	for _, answer := range []string{"", "n\n", "\n"} {
		if out, err := ask(true, answer); ExitCode(err) != ExitUsage || out != "Commands will run with all your rights (an old kernel). Run them? [y/N] " {
			t.Errorf("%q: %q, %v", answer, out, err)
		}
	}
	if _, err := ask(true, "y\n"); err != nil {
		t.Error(err)
	}
	if out, err := ask(false, ""); err != nil || out != "" {
		t.Errorf("asked again: %q, %v", out, err)
	}
}
