//go:build linux

package docker

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/moby/moby/api/types/container"

	"github.com/perstack-go/perstack/internal/runtimes/docker/archive"
	"github.com/perstack-go/perstack/internal/testkit/daemon"
	"github.com/perstack-go/perstack/internal/testkit/evil"
)

// In a container, commands run at the level that its profiles leave: landlock with the default
// profile and without its filter, and full where /proc is whole. A program that searches for
// secrets finds what that level leaves open, and everything without a sandbox.
func TestSandboxInContainers(t *testing.T) {
	text := func(path, body string) archive.File {
		return archive.File{Path: path, Mode: 0o644, Body: archive.Text(body)}
	}
	image := daemon.Load(t, archive.Config{}, []archive.File{
		{Path: "/tmp", Mode: 0o1777},
		{Path: "/perstack", Mode: 0o755, Body: fileBody(t, daemon.Binary(t))},
		{Path: "/work", Mode: 0o777}, {Path: "/home", Mode: 0o755}, {Path: "/home/ann", Mode: 0o777},
		{Path: "/work/evilmcp", Mode: 0o755, Body: fileBody(t, evil.Program(t))},
		text("/work/.env", "KEY=CANARY-env"),
		text("/home/ann/.netrc", "CANARY-home"),
		text("/work/perstack.toml", "[provider]\nproviderName = \"replay\"\nsetting = { cassette = \"cassette.toml\" }\n[experts.e]\ninstruction = \"Work.\"\n"),
		text("/work/cassette.toml", "[[turn]]\n[[turn.call]]\ntool = \"exec\"\n"+
			"args = { command = \"./evilmcp\", args = [\"hunt\", \"--marker\", \"CANARY\", \"now\"] }\n[[turn]]\ntext = \"Done.\"\n"),
	})
	whole := container.HostConfig{SecurityOpt: []string{"seccomp=unconfined"}, MaskedPaths: []string{}, ReadonlyPaths: []string{}}
	for name, tt := range map[string]struct {
		config    container.HostConfig
		user      string
		sandbox   string
		env, home bool // what is found
	}{
		"default":                       {sandbox: "auto", env: true},
		"no filter":                     {config: container.HostConfig{SecurityOpt: []string{"seccomp=unconfined"}}, sandbox: "auto", env: true},
		"no filter, whole proc":         {config: whole, sandbox: "full"},
		"the same, ordinary user":       {config: whole, user: "1000:1000", sandbox: "full"},
		"no sandbox":                    {sandbox: "off", env: true, home: true},
		"default profile has not full":  {sandbox: "full"},
		"no sandbox, but an other user": {user: "1000:1000", sandbox: "off", env: true, home: true},
	} {
		t.Run(name, func(t *testing.T) {
			out := inContainer(t, tt.config, container.Config{
				Image: image, User: tt.user, Env: []string{"HOME=/home/ann"}, WorkingDir: "/work",
				Cmd: []string{"/perstack", "run", "e", "go", "--events", "lean", "--sandbox=" + tt.sandbox},
			})
			if name == "default profile has not full" {
				if !strings.Contains(out, "level full is not available") || strings.Contains(out, "startRun") {
					t.Errorf("it was not refused: %s", out)
				}
				return
			}
			if got := strings.Contains(out, "CANARY-env"); got != tt.env || !strings.Contains(out, "completeRun") {
				t.Errorf("the env file was found: %t, want %t: %s", got, tt.env, out)
			}
			if got := strings.Contains(out, "CANARY-home"); got != tt.home {
				t.Errorf("the home directory was found: %t, want %t: %s", got, tt.home, out)
			}
		})
	}
}

// fileBody is the content of a file of this machine.
func fileBody(t *testing.T, path string) *io.SectionReader {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return archive.Text(string(data))
}
