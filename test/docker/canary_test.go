//go:build linux

package docker

import (
	"archive/tar"
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/perstack-go/perstack/internal/testkit/daemon"
)

// TestSecretsCanary plants secrets wherever a user has them and looks for them wherever
// another program could look, while a command runs and afterwards.
func TestSecretsCanary(t *testing.T) {
	t.Parallel()
	canary := "CaNaRy" + rand.Text()[:10]
	secret := func(name string) string { return name + "-" + canary + rand.Text() }
	mine := map[string]string{
		"perstack.toml": worker + `
[experts.worker.skills.service]
type = "mcpStdioSkill"
command = "/workspace/probed"
args = ["mcp", "skill.json"]
requiredEnv = ["SERVICE_KEY"]
`,
		".env":       "FILE_TOKEN=" + secret("file") + "\nPERSTACK_API_KEY=" + secret("registry") + "\n",
		"skill.json": "{}",
	}
	p := newProject(t, "", mine)
	p.key = secret("sk-ant")
	service, handed := secret("service"), secret("handed")
	p.env = append(p.env, "ANTHROPIC_API_KEY="+p.key, "SERVICE_KEY="+service, "HANDED_TOKEN="+handed, "AWS_SECRET_ACCESS_KEY="+secret("aws"))
	p.serve(lingering(t))
	job := p.job()
	s := p.start("worker", "go", "--job-id", job, "--env", "HANDED_TOKEN")
	p.awaitLingering(s)

	look := looker{t: t, canary: []byte(canary), given: map[string]string{"mcp": service, "linger": handed}}
	site := inspect(t, job)
	look.at("inspect", site.raw)
	look.atImage(site.find(t, "runtime").Image)
	look.atProcesses(s.Process.Pid)
	if err := s.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if code := s.end(); code != 130 {
		t.Errorf("exit code %d\n%s", code, s.stderr())
	}
	done := p.run("--continue-job", job, "--env", "HANDED_TOKEN").must(t, 0)
	look.at("stdout", []byte(s.stdout()+done.stdout))
	look.at("stderr", []byte(s.stderr()+done.stderr))
	look.atFiles(p.dir, mine)
	for _, args := range [][]string{{"log", job, "--json", "--take", "0"}, {"log", job, "--records"}, {"log", job, "--verbose", "--take", "0"}} {
		look.at(strings.Join(args, " "), []byte(p.perstack(args...).must(t, 0).stdout))
	}
	if look.files == 0 || look.processes == 0 || look.layers == 0 {
		t.Errorf("looked at %d files, %d processes, %d files of layers", look.files, look.processes, look.layers)
	}
}

// A looker looks for a canary.
type looker struct {
	t                        *testing.T
	canary                   []byte
	given                    map[string]string // what a program of the container was given, by its first argument
	files, processes, layers int
}

func (l *looker) at(where string, data []byte) {
	l.t.Helper()
	if at := bytes.Index(data, l.canary); at >= 0 {
		l.t.Errorf("%s has a secret: …%q…", where, data[max(0, at-80):at])
	}
}

// atImage looks at an image: its description, its history and all files of its layers.
func (l *looker) atImage(id string) {
	l.t.Helper()
	api := daemon.Need(l.t)
	image, err := api.ImageInspect(l.t.Context(), id)
	if err != nil {
		l.t.Fatal(err)
	}
	l.at("the image", fmt.Appendf(nil, "%+v %+v", image.InspectResponse, image.Config))
	history, err := api.ImageHistory(l.t.Context(), id)
	if err != nil {
		l.t.Fatal(err)
	}
	l.at("the history of the image", fmt.Appendf(nil, "%+v", history.Items))
	saved, err := api.ImageSave(l.t.Context(), []string{id})
	if err != nil {
		l.t.Fatal(err)
	}
	defer saved.Close()
	l.archive(saved, 0)
}

// archive looks at all files of an archive, and of those in it.
func (l *looker) archive(r io.Reader, depth int) {
	l.t.Helper()
	for in := tar.NewReader(r); ; {
		head, err := in.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			l.t.Fatal(err)
		}
		l.layers++
		if depth == 0 && strings.HasSuffix(head.Name, "layer.tar") {
			l.archive(in, 1)
			continue
		}
		data, err := io.ReadAll(in)
		if err != nil {
			l.t.Fatal(err)
		}
		l.at("file "+head.Name+" of the image", data)
	}
}

// atProcesses looks at the command line and the environment of every process of the
// machine but perstack itself, which was given all. A skill has its own requiredEnv, a
// command what --env names, and neither has the other's.
func (l *looker) atProcesses(own int) {
	l.t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		l.t.Fatal(err)
	}
	for _, dir := range dirs {
		for _, name := range []string{"cmdline", "environ"} {
			if name == "environ" && dir == fmt.Sprintf("/proc/%d", own) {
				continue
			}
			data, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				continue // it has ended, or is not ours
			}
			l.processes++
			if name == "environ" {
				data = bytes.ReplaceAll(data, []byte(l.gave(dir)), nil)
			}
			l.at(dir+"/"+name, data)
		}
	}
}

// gave is the secret that a process was given; a text that occurs nowhere if it got none.
func (l *looker) gave(dir string) string {
	line, err := os.ReadFile(filepath.Join(dir, "cmdline"))
	words := strings.Split(string(line), "\x00")
	if err == nil && len(words) > 1 && filepath.Base(words[0]) == "probed" && l.given[words[1]] != "" {
		return l.given[words[1]]
	}
	return "nothing was given"
}

// atFiles looks at all files below a directory that the user did not write.
func (l *looker) atFiles(dir string, mine map[string]string) {
	l.t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(dir, path)
		if err != nil || d.IsDir() || !d.Type().IsRegular() || mine[name] != "" || name == "probed" {
			return err
		}
		data, err := os.ReadFile(path)
		l.files++
		l.at("file "+name, data)
		return err
	})
	if err != nil {
		l.t.Fatal(err)
	}
}
