//go:build linux

package docker

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
)

// readIfThere reads a file that may be missing.
func readIfThere(dir, name string) ([]byte, error) {
	data, err := os.ReadFile(filepath.Join(dir, name))
	if os.IsNotExist(err) {
		return nil, nil
	}
	return data, err
}

// TestCleanUp ends runs in every way except success, and looks for what is left.
// All other tests of this package look as well: see project.job.
func TestCleanUp(t *testing.T) {
	t.Parallel()
	bad := "[[turn]]\n[turn.error]\nstatus = 401\nmessage = \"who are you\"\n"
	for name, c := range map[string]struct {
		settings string
		script   string
		args     string
		env      string
		code     int
		says     string
	}{
		"the provider refuses the key":     {script: bad, args: "worker go --max-retries 0", code: 1},
		"an Expert that does not exist":    {script: bad, args: "missing go", code: 2, says: "missing"},
		"a variable that is not set":       {script: bad, args: "worker go --env NOT_SET_AT_ALL", code: 2, says: "NOT_SET_AT_ALL"},
		"a variable that is protected":     {script: bad, args: "worker go --env LD_PRELOAD", env: "LD_PRELOAD=", code: 2, says: "LD_PRELOAD"},
		"a name that is no variable":       {script: bad, args: "worker go --env A=B", code: 2},
		"a network that does not exist":    {settings: "-network", script: bad, args: "worker go", code: -1, says: "no-such-network"},
		"a base URL of this machine":       {script: bad, args: "worker go", env: "ANTHROPIC_BASE_URL=http://127.0.0.1:8080/v1", code: 2, says: "127.0.0.1"},
		"a base URL with another port":     {script: bad, args: "worker go", env: "ANTHROPIC_BASE_URL=https://x.llm.test:8443/v1", code: 2, says: "443"},
		"a base image that does not exist": {script: bad, args: "worker go --base-image perstack-no-such-image:1", code: -1, says: "docker pull"},
		"a name in punycode":               {settings: "-punycode", script: bad, args: "worker go", code: 2, says: "xn--"}, // N5
		"a workspace that does not exist":  {script: bad, args: "worker go --workspace /no/such/directory", code: 2},
		"a provider without a server":      {script: bad, args: "worker go --max-retries 0", env: "ANTHROPIC_BASE_URL=https://x.nowhere.test/v1", code: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, "", map[string]string{"perstack.toml": worker})
			if c.settings == "-network" {
				text := strings.Replace(string(p.read("perstack.toml")), p.world.Network, "no-such-network", 1)
				p.write("perstack.toml", []byte(text), 0o644)
			}
			if c.settings == "-punycode" {
				text := string(p.read("perstack.toml")) + "[experts.worker.skills.\"@perstack/base\"]\ntype = \"mcpStdioSkill\"\nallowedDomains = [\"xn--e1afmkfd.example\"]\n"
				p.write("perstack.toml", []byte(text), 0o644)
			}
			p.serve(c.script)
			if c.env != "" {
				p.env = append(p.env, c.env)
			}
			job := p.job()
			out := p.run(append(strings.Fields(c.args), "--job-id", job)...)
			if c.code >= 0 && out.code != c.code || out.code == 0 {
				t.Errorf("exit code %d, want %d\n%s", out.code, c.code, out.stderr)
			}
			if !strings.Contains(out.stderr, c.says) {
				t.Errorf("it does not say %q: %s", c.says, out.stderr)
			}
			p.checkNothingLeft()
		})
	}
}

// TestRootOwnedWorkspace is refused, with the command that fixes it, if running that is safe.
func TestRootOwnedWorkspace(t *testing.T) {
	t.Parallel()
	p := newProject(t, "", map[string]string{"perstack.toml": worker})
	p.serve("[[turn]]\ntext = \"never\"\n")
	workspaces := map[string]bool{"/usr": false}
	if os.Getuid() == 0 {
		workspaces[t.TempDir()] = true
	}
	for dir, hasFix := range workspaces {
		out := p.run("worker", "go", "--job-id", p.job(), "--workspace", dir)
		if out.code != 2 || !strings.Contains(out.stderr, "belongs to root") || strings.Contains(out.stderr, "chown -R USER "+dir) != hasFix {
			t.Errorf("%s: exit code %d\n%s", dir, out.code, out.stderr)
		}
	}
}

// TestReadOnlyWorkspace has commands that cannot change anything.
func TestReadOnlyWorkspace(t *testing.T) {
	t.Parallel()
	p := newProject(t, "", map[string]string{"perstack.toml": worker})
	p.serve("[[turn]]\n" + command(t, "./probed", "append", "effects.txt", "one") + call(t, "writeTextFile", map[string]any{"path": "effects.txt", "text": "two"}) + "[[turn]]\ntext = \"Tried.\"\n")
	p.run("worker", "go", "--job-id", p.job(), "--read-only-workspace").must(t, 0)
	if data, err := readIfThere(p.dir, "effects.txt"); err != nil || data != nil {
		t.Errorf("effects.txt: %q, %v", data, err)
	}
}

// TestImagesAreReused runs twice: the second run makes no image.
func TestImagesAreReused(t *testing.T) {
	t.Parallel()
	p := newProject(t, "", map[string]string{"perstack.toml": worker})
	p.serve("[[turn]]\ntext = \"Done.\"\n")
	p.run("worker", "go", "--job-id", p.job()).must(t, 0)
	for _, e := range p.run("worker", "go", "--job-id", p.job()).must(t, 0).events {
		if b, ok := e.Body.(event.DockerBuildProgress); ok && b.Stage != "complete" {
			t.Errorf("an image was made again: %+v", b)
		}
	}
}
