package install

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/runtimes/docker"
)

// inContainers is a file whose skills run in an image.
const inContainers = `runtime = "docker"
[docker]
mirrors = ["mirror.example"]
nodeImage = "node:24"
[experts.writer]
instruction = "Write."
[experts.writer.skills.web]
type = "mcpStdioSkill"
command = "npx"
args = ["-y", "@acme/web"]
`

// A registrar plays the daemon: it resolves names, and notes the requests.
type registrar struct {
	digest string
	asked  []string
	from   docker.Sources
	err    error
}

func (r *registrar) pin(_ context.Context, name string, from docker.Sources) (string, error) {
	r.asked, r.from = append(r.asked, name), from
	return name + "@sha256:" + strings.Repeat(r.digest, 64), r.err
}

func (r *registrar) use(o *Options) { o.Pin = r.pin }

func TestImagesArePinned(t *testing.T) {
	b := newBench(t, inContainers)
	r := &registrar{digest: "a"}
	out, err := b.install(t.Context(), r.use)
	if err != nil {
		t.Fatal(err)
	}
	pinned := "node:24@sha256:" + strings.Repeat("a", 64)
	if strings.Join(r.asked, " ") != "node:24" || strings.Join(r.from.Mirrors, " ") != "mirror.example" || r.from.Offline || r.from.Fresh {
		t.Errorf("asked %q of %+v", r.asked, r.from)
	}
	if !strings.Contains(out, "node:24: pinned to "+pinned) || !strings.Contains(b.lock(), "[[images]]\nname = \"node:24\"\npinned = \""+pinned+"\"") {
		t.Errorf("%s\n%s", out, b.lock())
	}
	if out, err := b.install(t.Context(), check); err != nil {
		t.Errorf("--check: %v\n%s", err, out)
	}

	// It stays as it is until somebody asks for something newer, and that is shown.
	first := b.lock()
	r = &registrar{digest: "b"}
	if _, err := b.install(t.Context(), r.use); err != nil || len(r.asked) > 0 || b.lock() != first {
		t.Errorf("again: %v, asked %q\n%s", err, r.asked, b.lock())
	}
	out, err = b.install(t.Context(), r.use, update)
	if err != nil || !r.from.Fresh || !strings.Contains(out, "was "+pinned) || !strings.Contains(b.lock(), strings.Repeat("b", 64)) {
		t.Errorf("--update: %v, %+v\n%s", err, r.from, out)
	}

	// What cannot be pinned leaves the lockfile as it was.
	before := b.lock()
	r = &registrar{err: errors.New("no such image")}
	if _, err := b.install(t.Context(), r.use, update); err == nil || !strings.Contains(err.Error(), "no such image") || !strings.Contains(err.Error(), "is as it was") || b.lock() != before {
		t.Errorf("error %v", err)
	}
}

// An image that no run needs, or that the file pins itself, is not looked up.
func TestImagesThatNeedNoPin(t *testing.T) {
	for name, file := range map[string]string{
		"the local runtime": strings.Replace(inContainers, `"docker"`, `"local"`, 1),
		"a base image":      strings.Replace(inContainers, `nodeImage = "node:24"`, `baseImage = "tools:1"`, 1),
		"pinned":            strings.Replace(inContainers, "node:24", "node@sha256:"+strings.Repeat("c", 64), 1),
		"an id":             strings.Replace(inContainers, "node:24", "sha256:"+strings.Repeat("c", 64), 1),
		"no package":        strings.Replace(inContainers, `command = "npx"`, `command = "server"`, 1),
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, file)
			r := &registrar{digest: "a"}
			if _, err := b.install(t.Context(), r.use); err != nil || len(r.asked) > 0 || strings.Contains(b.lock(), "[[images]]") {
				t.Errorf("%v, asked %q\n%s", err, r.asked, b.lock())
			}
			if out, err := b.install(t.Context(), check); err != nil {
				t.Errorf("--check: %v\n%s", err, out)
			}
		})
	}
}

// Skills in an image of the user's need no other one. What was pinned stays for runs without it.
func TestBaseImageByFlag(t *testing.T) {
	base := func(o *Options) { o.BaseImage = "tools:1" }
	b := newBench(t, inContainers)
	r := &registrar{digest: "a"}
	if _, err := b.install(t.Context(), r.use, base); err != nil || len(r.asked) > 0 || strings.Contains(b.lock(), "[[images]]") {
		t.Errorf("%v, asked %q\n%s", err, r.asked, b.lock())
	}
	if _, err := b.install(t.Context(), check, base); err != nil {
		t.Errorf("--check: %v", err)
	}
	if _, err := b.install(t.Context(), check); err == nil || !strings.Contains(err.Error(), `the image "node:24" is not pinned`) {
		t.Errorf("--check without it: %v", err)
	}
	if _, err := b.install(t.Context(), r.use); err != nil || len(r.asked) != 1 {
		t.Errorf("%v, asked %q", err, r.asked)
	}
	before := b.lock()
	if _, err := b.install(t.Context(), r.use, base); err != nil || b.lock() != before {
		t.Errorf("%v\n%s", err, b.lock())
	}

	_, err := b.install(t.Context(), r.use, base, func(o *Options) { o.Runtime = "local" })
	if err == nil || err.Error() != "--base-image goes with --runtime docker, not local" || host.ExitCode(err) != host.ExitUsage {
		t.Errorf("with runtime local: %v", err)
	}
}

func TestCheckNoticesAnImageThatIsNotPinned(t *testing.T) {
	b := newBench(t, strings.Replace(inContainers, `"docker"`, `"local"`, 1))
	if _, err := b.install(t.Context()); err != nil {
		t.Fatal(err)
	}
	docker := func(o *Options) { o.Runtime = "docker" }
	if _, err := b.install(t.Context(), check, docker); err == nil || !strings.HasSuffix(err.Error(), `the image "node:24" is not pinned; run: perstack install --runtime docker`) {
		t.Errorf("error %v", err)
	}
	r := &registrar{digest: "a"}
	if _, err := b.install(t.Context(), r.use, docker); err != nil || len(r.asked) != 1 {
		t.Errorf("%v, asked %q", err, r.asked)
	}
	if _, err := b.install(t.Context(), check, docker); err != nil {
		t.Errorf("--check: %v", err)
	}
	// The other runtime does not mind it, and does not throw it away.
	if _, err := b.install(t.Context()); err != nil || !strings.Contains(b.lock(), "[[images]]") {
		t.Errorf("%v\n%s", err, b.lock())
	}
}

// Without a daemon nothing is started in vain: no skill is asked.
func TestNoEngineNoSkillIsStarted(t *testing.T) {
	b := newBench(t, inContainers)
	b.host.Environ = append(b.host.Environ, "DOCKER_HOST=unix://"+t.TempDir()+"/none.sock")
	_, err := b.install(t.Context(), func(o *Options) { o.Pin = nil })
	if err == nil || !strings.Contains(err.Error(), "the image node:24 cannot be pinned: cannot reach the Docker daemon") || !strings.Contains(err.Error(), "was not written") {
		t.Errorf("error %v", err)
	}
	if len(b.asked) > 0 {
		t.Errorf("asked %q", b.asked)
	}
}
