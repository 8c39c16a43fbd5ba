//go:build linux

package docker

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/perstack-go/perstack/internal/runtimes/docker/archive"
	"github.com/perstack-go/perstack/internal/testkit/daemon"
	"github.com/perstack-go/perstack/internal/testkit/world/scout"
)

// oddPath is where a base image has its programs.
const oddPath = "/opt/odd/bin"

// baseImage makes an image that wants to run as root, has a program, an entry point and a
// health check of its own, directories that everybody may write to, a /tmp that only root
// may write to, and variables that would change how other programs work.
func baseImage(t *testing.T, config archive.Config) string {
	t.Helper()
	f, err := os.Open(scoutProgram(t))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	config.User = "root"
	config.Entrypoint = []string{oddPath + "/scoutd"}
	config.Env = []string{"PATH=" + oddPath, "SECRET_LOOKING=1", "SSL_CERT_FILE=/etc/none", "GODEBUG=http2debug=2", "LD_PRELOAD=/etc/none.so", "HOME=/root"}
	plain := daemon.Load(t, config, []archive.File{
		{Path: "/etc", Mode: 0o777},
		{Path: "/etc/os-release", Mode: 0o644, Body: archive.Text("ID=odd\n")},
		{Path: "/opt", Mode: 0o777},
		{Path: "/opt/odd", Mode: 0o777},
		{Path: oddPath, Mode: 0o777},
		{Path: oddPath + "/scoutd", Mode: 0o755, Body: io.NewSectionReader(f, 0, info.Size())},
		{Path: "/tmp", Mode: 0o755},
	})
	api := daemon.Need(t)
	created, err := api.ContainerCreate(t.Context(), client.ContainerCreateOptions{Name: daemon.Name(t), Config: &container.Config{Image: plain}})
	if err != nil {
		t.Fatal(err)
	}
	daemon.RemoveContainer(t, api, created.ID)
	tag := daemon.Name(t) + ":1"
	daemon.RemoveImage(t, api, tag)
	_, err = api.ContainerCommit(t.Context(), created.ID, client.ContainerCommitOptions{Reference: tag, Config: &container.Config{
		Cmd:         []string{"look", "/tmp/base-was-here", "/"},
		Healthcheck: &container.HealthConfig{Test: []string{"CMD", oddPath + "/scoutd", "look", "/tmp/base-was-here", "/"}, Interval: time.Second},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return tag
}

// TestBaseImage runs on an image of the user's: its programs are found, and nothing else
// of it has an effect.
func TestBaseImage(t *testing.T) {
	t.Parallel()
	need(t)
	base := baseImage(t, archive.Config{})
	p := newProject(t, "", map[string]string{"perstack.toml": worker})
	p.serve("[[turn]]\nquery = \"first\"\n" + command(t, "scoutd", "look", "first.json", "/etc", "/opt", oddPath, "/tmp/base-was-here") +
		"[[turn]]\nquery = \"first\"\n" + command(t, "scoutd", "meet", "here", "go") + "[[turn]]\nquery = \"first\"\ntext = \"Done.\"\n" +
		"[[turn]]\nquery = \"second\"\n" + command(t, "scoutd", "look", "second.json", "/etc") + "[[turn]]\nquery = \"second\"\ntext = \"Done.\"\n")

	job := p.job()
	s := p.start("worker", "first", "--job-id", job, "--base-image", base)
	p.awaitFile(s, "here")
	site := inspect(t, job)
	for _, c := range site.containers {
		// A command that may not read it knows at least the variables of commands; see checkBased.
		if data, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", c.State.Pid)); err == nil {
			checkVariables(t, strings.Split(string(data), "\x00"))
		}
	}
	p.write("go", nil, 0o644)
	if code := s.end(); code != 0 {
		t.Errorf("exit code %d\n%s\n%s", code, s.stderr(), tail(s.stdout(), 2000))
	}
	daemon.RemoveImage(t, daemon.Need(t), site.find(t, "runtime").Image)
	for _, c := range site.containers {
		// A name alone has the daemon take the variable away.
		c.Config.Env = slices.DeleteFunc(c.Config.Env, func(v string) bool { return !strings.Contains(v, "=") })
		checkContainer(t, c)
		if !slices.Equal(c.Config.Entrypoint, []string{"/perstack"}) || len(c.Config.Cmd) == 0 || c.Config.Cmd[0] == "look" {
			t.Errorf("%s: runs %v %v", c.Name, c.Config.Entrypoint, c.Config.Cmd)
		}
		if h := c.Config.Healthcheck; h == nil || !slices.Equal(h.Test, []string{"NONE"}) || c.State.Health != nil && c.State.Health.Status != container.NoHealthcheck {
			t.Errorf("%s: a health check: %+v %+v", c.Name, h, c.State.Health)
		}
	}
	first := p.report("first.json")
	p.checkBased(first)
	for path, place := range first.Places {
		if path == "/tmp/base-was-here" {
			if place.Bytes > 0 {
				t.Error("a command of the base image ran")
			}
			continue
		}
		if !strings.Contains(place.Made, "read-only") || !strings.Contains(place.Renamed, "read-only") && !strings.Contains(place.Renamed, "busy") {
			t.Errorf("K2: %s is not read-only: %q, %q", path, place.Made, place.Renamed)
		}
	}
	if !slices.Contains(first.Places["/etc"].Files, "/etc/os-release") {
		t.Errorf("the base image is not below: %v", first.Places["/etc"].Files)
	}

	// The same, set in the file. perstack says so, because the user did not set it.
	text := strings.Replace(string(p.read("perstack.toml")), "[docker]\n", fmt.Sprintf("[docker]\nbaseImage = %q\n", base), 1)
	p.write("perstack.toml", []byte(text), 0o644)
	out := p.run("worker", "second", "--job-id", p.job()).must(t, 0)
	if !strings.Contains(out.stderr, "uses the image "+base) {
		t.Errorf("it is not said on what it stands: %s", out.stderr)
	}
	p.checkBased(p.report("second.json"))
}

// checkBased checks how a command on a base image runs, and its variables.
func (p *project) checkBased(r scout.Report) {
	p.t.Helper()
	if r.Program != oddPath+"/scoutd" {
		p.t.Errorf("the program that ran is %s", r.Program)
	}
	info, err := os.Stat(p.dir)
	if err != nil {
		p.t.Fatal(err)
	}
	if st := info.Sys().(*syscall.Stat_t); r.UID != int(st.Uid) || r.UID == 0 || r.GID == 0 || slices.Contains(r.Groups, 0) {
		p.t.Errorf("K2: it runs as %d:%d, groups %v", r.UID, r.GID, r.Groups)
	}
	for name, want := range map[string]string{"CapInh": "0", "CapPrm": "0", "CapEff": "0", "CapBnd": "0", "CapAmb": "0", "NoNewPrivs": "1", "Seccomp": "2"} {
		if got := r.Status[name]; strings.TrimLeft(got, "0") != strings.TrimLeft(want, "0") || got == "" {
			p.t.Errorf("K1: %s is %q", name, got)
		}
	}
	if !slices.Contains(r.Environ, "PATH="+oddPath) {
		p.t.Errorf("the path of the base image is missing: %v", r.Environ)
	}
	checkVariables(p.t, r.Environ)
}

// checkVariables finds those of the base image that no program may have.
func checkVariables(t *testing.T, environ []string) {
	t.Helper()
	for _, v := range environ {
		name, _, _ := strings.Cut(v, "=")
		if slices.Contains([]string{"SECRET_LOOKING", "GODEBUG", "LD_PRELOAD"}, name) || v == "HOME=/root" || v == "SSL_CERT_FILE=/etc/none" {
			t.Errorf("a variable of the base image: %s", v)
		}
	}
}

// TestBaseImageIsRefused names images that cannot be a base.
func TestBaseImageIsRefused(t *testing.T) {
	t.Parallel()
	need(t)
	volume := baseImage(t, archive.Config{Volumes: map[string]struct{}{"/data": {}}})
	for name, c := range map[string]struct {
		flag, file string
		code       int
		says       string
	}{
		"a volume, by flag":      {flag: volume, code: 1, says: "VOLUME"},
		"a volume, by file":      {file: volume, code: 1, says: "VOLUME"},
		"not there, by the file": {file: "perstack-no-such-image:2", code: 1, says: "docker pull perstack-no-such-image:2"},
		"not a name":             {flag: "Not A Name", code: 2, says: "Not A Name"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			settings := ""
			if c.file != "" {
				settings = fmt.Sprintf("baseImage = %q\n", c.file)
			}
			p := newProject(t, settings, map[string]string{"perstack.toml": worker})
			p.serve("[[turn]]\ntext = \"never\"\n")
			job := p.job()
			args := []string{"worker", "go", "--job-id", job}
			if c.flag != "" {
				args = append(args, "--base-image", c.flag)
			}
			out := p.run(args...)
			if out.code != c.code || !strings.Contains(out.stderr, c.says) {
				t.Errorf("exit code %d, want %d and %q\n%s", out.code, c.code, c.says, out.stderr)
			}
			if strings.Contains(out.stdout, `"type":"callTools"`) {
				t.Error("something ran")
			}
			p.checkNothingLeft()
		})
	}
}
