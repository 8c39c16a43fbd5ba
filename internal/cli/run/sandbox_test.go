package run

import (
	"errors"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/job"
)

const skilled = `
[experts.lead]
instruction = "x"
delegates = ["mate"]
[experts.mate]
instruction = "x"
[experts.mate.skills.s]
type = "mcpStdioSkill"
command = "x"
`

const squid = "[docker]\nproxy = 'squid'\nsquidImage = 'squid:6'\n"

// The kernel is asked for a sandbox only where something wants one, and if it has none,
// nothing starts.
func TestCheckSandbox(t *testing.T) {
	none := errors.New("no sandbox; buy a kernel")
	for name, tt := range map[string]struct {
		text, flags string
		want        string // empty for no error
	}{
		"the default":      {skilled, "", "this machine has no sandbox: no sandbox; buy a kernel; use --runtime docker, or accept it with --sandbox=off"},
		"the flag":         {skilled, "--sandbox=landlock", "--sandbox=landlock: no sandbox; buy a kernel; or use --runtime docker"},
		"the best level":   {skilled, "--sandbox=auto", "this machine has no sandbox: no sandbox; buy a kernel; use --runtime docker, or accept it with --sandbox=off"},
		"off":              {skilled, "--sandbox=off", ""},
		"a delegate":       {skilled + "sandbox = 'landlock'\n", "--sandbox=off", `sandbox of the skill "s" of mate: no sandbox`},
		"in a container":   {skilled + "sandbox = 'landlock'\n", "--runtime docker", ""},
		"shared":           {skilled, "--runtime docker --shared-sandbox", ""},
		"shared, by Squid": {squid + skilled, "--runtime docker --shared-sandbox --proxy squid", `--shared-sandbox cannot be used with proxy = "squid"`},
		"Squid":            {squid + skilled, "--runtime docker --proxy squid", ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := makePlan(t, proposal{files: toml(tt.text), opts: flags(t, tt.flags), kernel: none})
			wantUsage(t, err, tt.want)
			if _, _, err := makePlan(t, proposal{files: toml(tt.text), opts: flags(t, tt.flags)}); err != nil && !strings.Contains(err.Error(), "squid") {
				t.Errorf("refused by a kernel that can: %v", err)
			}
		})
	}
}

// Whose program decides about connections is for the user to say, and the user is told.
func TestSquidNeedsConsent(t *testing.T) {
	for name, tt := range map[string]struct {
		file, flag string
		want       string // of the error; empty for none
		told       string
		proxy      string
	}{
		"the flag too":        {squid, "--proxy squid", "", "through Squid, from the image squid:6", job.ProxySquid},
		"the user says no":    {squid, "--proxy builtin", "", "", job.ProxyBuiltin},
		"no image":            {"", "--proxy squid", "name it as squidImage in [docker]", "", ""},
		"nothing mentions it": {"", "", "", "", job.ProxyBuiltin},
	} {
		t.Run(name, func(t *testing.T) {
			pl, told, err := makePlan(t, proposal{files: toml(tt.file + skilled), opts: flags(t, "--runtime docker "+tt.flag)})
			wantUsage(t, err, tt.want)
			if (told == "") != (tt.told == "") || !strings.Contains(told, tt.told) {
				t.Errorf("told %q, want %q", told, tt.told)
			}
			if err == nil && pl.spec.Isolation.Container.Proxy != tt.proxy {
				t.Errorf("recorded: %+v", pl.spec.Isolation)
			}
		})
	}
}

// A sandbox is asked for by a skill, or by the flag for all of them.
func TestSandboxedBy(t *testing.T) {
	for flag, want := range map[string]map[string]string{
		"--sandbox=off":      {skilled + "sandbox = 'landlock'\n": `sandbox of the skill "s" of mate`},
		"--sandbox=landlock": {skilled: "--sandbox=landlock", skilled + "sandbox = 'landlock'\n": "--sandbox=landlock"},
	} {
		for text, by := range want {
			pl, _, err := makePlan(t, proposal{files: toml(text), opts: flags(t, flag), landlock: true})
			if err != nil || pl.sandboxedBy(expert.SandboxLandlock) != by || pl.spec.Isolation.Sandbox.Restricts() != (flag != "--sandbox=off") {
				t.Errorf("%q: %+v, %v", flag, pl, err)
			}
		}
	}
}

// Flags of one runtime do not go with the other, and offline is the stronger word.
func TestIsolationFlags(t *testing.T) {
	for line, want := range map[string]string{
		"--shared-sandbox":                "--shared-sandbox goes with --runtime docker, not local",
		"--offline":                       "--offline goes with --runtime docker, not local",
		"--sandbox=auto --runtime docker": "--sandbox is not needed with runtime docker",
	} {
		_, _, err := makePlan(t, proposal{files: toml(skilled), opts: flags(t, line)})
		wantUsage(t, err, want)
	}
	for line, text := range map[string]string{"--runtime docker --offline": skilled, "--runtime docker": "docker.offline = true\n" + skilled} {
		pl, _, err := makePlan(t, proposal{files: toml(text), opts: flags(t, line)})
		if err != nil || !pl.spec.Isolation.Container.Offline {
			t.Errorf("%s: offline is lost: %v", line, err)
		}
	}
}

// A flag makes the isolation stricter, never weaker; what nothing says has its default.
func TestContainerSettings(t *testing.T) {
	for _, tt := range []struct {
		flag, file string
		want       bool
	}{{"--read-only-workspace", "false", true}, {"", "true", true}, {"", "false", false}} {
		text := "[docker]\nbaseImage = 'file:1'\npids = 77\nreadOnlyWorkspace = " + tt.file + "\n" + skilled
		pl, _, err := makePlan(t, proposal{files: toml(text), opts: flags(t, "--runtime docker --base-image flag:1 "+tt.flag)})
		if err != nil {
			t.Fatal(err)
		}
		c := pl.spec.Isolation.Container
		if c.ReadOnlyWorkspace != tt.want || c.BaseImage != "flag:1" || c.PIDs != 77 || c.Memory != job.DefaultContainer().Memory {
			t.Errorf("%+v: %+v", tt, c)
		}
	}
}

// Packages in a container need pins.
func TestPackagesNeedALock(t *testing.T) {
	text := strings.Replace(skilled, `command = "x"`, "command = \"npx\"\npackageName = \"x\"", 1)
	files := map[string]string{"b.toml": text}
	_, _, err := makePlan(t, proposal{files: files, opts: flags(t, "--runtime docker --config b.toml")})
	wantUsage(t, err, `the package "x" is not pinned`)
	wantUsage(t, err, "run: perstack install --config b.toml")
	if _, _, err = makePlan(t, proposal{files: files, opts: flags(t, "--config b.toml")}); err != nil {
		t.Errorf("without a container: %v", err)
	}
}

// A yes to everything does not name the program that decides about connections.
func TestSquidIsNotCoveredByYes(t *testing.T) {
	for _, flag := range []string{"", " --yes"} {
		_, told, err := makePlan(t, proposal{files: toml(squid + skilled), opts: flags(t, "--runtime docker"+flag), strict: true})
		wantUsage(t, err, "say it yourself with --proxy squid, which --yes does not cover")
		if strings.Contains(told, "through Squid") {
			t.Errorf("%s: told %q", flag, told)
		}
	}
	if _, _, err := makePlan(t, proposal{files: toml(squid + skilled), opts: flags(t, "--runtime docker --proxy squid --yes"), strict: true}); err != nil {
		t.Error(err)
	}
}
