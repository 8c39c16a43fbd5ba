//go:build linux

package docker

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/moby/moby/client"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/testkit/daemon"
	"github.com/perstack-go/perstack/internal/testkit/world"
)

// owner owns the workspaces when tests run as root: a container never runs as root.
const owner = 1000

// A project is a directory with an Expert in it, and the environment of perstack there.
type project struct {
	t     *testing.T
	world *world.World
	dir   string
	env   []string
	key   string // of the provider
	jobs  []string
	keeps bool     // the workspace stays ours, also if we are root
	flags []string // of every run
}

// newProject writes the files of a project. The probe is in it as probed. settings are
// lines of [docker].
func newProject(t *testing.T, settings string, files map[string]string) *project {
	t.Helper()
	p := &project{t: t}
	p.fill(settings, files)
	return p
}

func (p *project) fill(settings string, files map[string]string) {
	t := p.t
	t.Helper()
	w := need(t)
	if p.world != nil { // it has one of its own
		w = p.world
	}
	p.world, p.dir, p.key = w, t.TempDir(), "sk-ant-"+rand.Text()
	if strings.Contains(settings, `proxy = "squid"`) {
		p.flags = []string{"--proxy", "squid"}
	}
	p.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "ANTHROPIC_API_KEY=" + p.key, "PERSTACK_CA_CERTS=" + w.CA}
	for _, name := range []string{"DOCKER_HOST", "DOCKER_CONTEXT", "TMPDIR", "XDG_STATE_HOME", "XDG_CONFIG_HOME"} {
		if value := os.Getenv(name); value != "" {
			p.env = append(p.env, name+"="+value)
		}
	}
	files["perstack.toml"] = fmt.Sprintf("[provider]\nproviderName = \"anthropic\"\n[docker]\nnetwork = %q\ndns = [%q]\n%s\n", w.Network, w.DNS, settings) + files["perstack.toml"]
	for name, text := range files {
		p.write(name, []byte(text), 0o644)
	}
	program, err := os.ReadFile(shared.probed)
	if err != nil {
		t.Fatal(err)
	}
	p.write("probed", program, 0o755)
	t.Cleanup(p.checkNothingLeft)
}

// write makes a file of the workspace.
func (p *project) write(name string, data []byte, mode fs.FileMode) {
	p.t.Helper()
	path := filepath.Join(p.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, data, mode); err != nil {
		p.t.Fatal(err)
	}
	p.give()
}

// give makes another user the owner of the workspace, if we are root.
func (p *project) give() {
	p.t.Helper()
	if os.Getuid() != 0 || p.keeps {
		return
	}
	err := filepath.WalkDir(p.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, owner, owner)
	})
	if err != nil {
		p.t.Fatal(err)
	}
}

// serve has the model's service play a script at a host of its own.
func (p *project) serve(script string) {
	p.t.Helper()
	p.env = append(p.env, "ANTHROPIC_BASE_URL=https://"+p.world.LLM(p.t, p.keyed(script))+"/v1")
}

func (p *project) keyed(script string) string { return fmt.Sprintf("key = %q\n", p.key) + script }

// An outcome is what a call of perstack came to.
type outcome struct {
	code   int
	events []event.Event
	stdout string
	stderr string
}

// command is perstack with arguments, not started.
func (p *project) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(p.t.Context(), daemon.Binary(p.t), args...)
	cmd.Dir, cmd.Env = p.dir, p.env
	return cmd
}

// run calls perstack run in the runtime docker.
func (p *project) run(args ...string) outcome {
	p.t.Helper()
	return p.perstack(append(append([]string{"run", "--runtime", "docker"}, p.flags...), args...)...)
}

// perstack calls perstack and waits for it.
func (p *project) perstack(args ...string) outcome {
	p.t.Helper()
	cmd := p.command(args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	code := exitCode(p.t, cmd.Run())
	o := outcome{code: code, stdout: out.String(), stderr: errs.String()}
	if !slices.Contains(args, "--records") { // those wrap the events
		o.events = p.events(out.Bytes())
	}
	return o
}

// events decodes what perstack run printed; other output has none.
func (p *project) events(out []byte) []event.Event {
	p.t.Helper()
	var all []event.Event
	for line := range bytes.Lines(out) {
		if !bytes.HasPrefix(line, []byte("{")) {
			continue
		}
		e, err := event.Unmarshal(bytes.TrimSpace(line))
		if err != nil {
			p.t.Fatalf("%v in %s", err, line)
		}
		all = append(all, e)
	}
	return all
}

// must ends the test if perstack ended otherwise than wanted.
func (o outcome) must(t *testing.T, code int) outcome {
	t.Helper()
	if o.code != code {
		t.Fatalf("exit code %d, want %d\n%s\n%s", o.code, code, o.stderr, tail(o.stdout, 2000))
	}
	return o
}

func tail(s string, n int) string { return s[max(0, len(s)-n):] }

func exitCode(t *testing.T, err error) int {
	t.Helper()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	t.Fatal(err)
	return 0
}

// A started perstack is watched while it runs.
type started struct {
	*exec.Cmd
	t    *testing.T
	mu   sync.Mutex
	cond *sync.Cond
	out  bytes.Buffer
	errs bytes.Buffer
	done bool
}

// start calls perstack run in the runtime docker and does not wait.
func (p *project) start(args ...string) *started {
	p.t.Helper()
	s := &started{Cmd: p.command(append(append([]string{"run", "--runtime", "docker"}, p.flags...), args...)...), t: p.t}
	s.cond = sync.NewCond(&s.mu)
	out, err := s.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	s.Stderr = &locked{s}
	if err := s.Start(); err != nil {
		p.t.Fatal(err)
	}
	go func() {
		buf := make([]byte, 64<<10)
		for {
			n, err := out.Read(buf)
			s.mu.Lock()
			s.out.Write(buf[:n])
			s.done = err != nil
			s.cond.Broadcast()
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return s
}

type locked struct{ s *started }

func (l *locked) Write(b []byte) (int, error) {
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	return l.s.errs.Write(b)
}

// await returns when text was printed so many times; false if perstack ended before.
func (s *started) await(text string, times int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for strings.Count(s.out.String(), text) < times && !s.done {
		s.cond.Wait()
	}
	return strings.Count(s.out.String(), text) >= times
}

// mustAwait is await for what has to come.
func (s *started) mustAwait(text string) {
	s.t.Helper()
	if !s.await(text, 1) {
		code := s.end()
		s.t.Fatalf("perstack ended with %d before %s\n%s", code, text, s.errs.String())
	}
}

// end waits for the end and returns the exit code.
func (s *started) end() int {
	s.t.Helper()
	s.mu.Lock()
	for !s.done {
		s.cond.Wait()
	}
	s.mu.Unlock()
	return exitCode(s.t, s.Wait())
}

// ended reports whether perstack has closed its output.
func (s *started) ended() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.done
}

func (s *started) stdout() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.String()
}

func (s *started) stderr() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.errs.String()
}

// leftovers are what runs have on the daemon, of those tests that run now.
func leftovers(t *testing.T, labels ...string) (left []string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context()) // also when the test is over
	api, err := client.New(client.FromEnv)
	if err != nil {
		t.Fatal(err)
	}
	defer api.Close()
	filter := make(client.Filters).Add("label", "dev.perstack=run")
	for _, l := range labels {
		filter = filter.Add("label", l)
	}
	containers, err := api.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: filter})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range containers.Items {
		left = append(left, "container "+c.ID[:12]+" "+strings.Join(c.Names, " ")+" "+string(c.State))
	}
	networks, err := api.NetworkList(ctx, client.NetworkListOptions{Filters: filter})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range networks.Items {
		left = append(left, "network "+n.Name)
	}
	return left
}

// jobLabel finds what a job has on the daemon.
func jobLabel(job string) string { return "dev.perstack.job=" + job }

// job is the id of a job that no other test has. When the test ends, nothing of it may be
// on the daemon.
func (p *project) job() string {
	job := "j" + strings.ToLower(rand.Text()[:20])
	p.jobs = append(p.jobs, job)
	return job
}

// checkNothingLeft looks for what the jobs of a project have left on the daemon.
func (p *project) checkNothingLeft() {
	for _, job := range p.jobs {
		if left := leftovers(p.t, jobLabel(job)); len(left) > 0 {
			p.t.Errorf("job %s has left: %s", job, strings.Join(left, "; "))
		}
	}
}

// read returns a file of the workspace.
func (p *project) read(name string) []byte {
	p.t.Helper()
	data, err := os.ReadFile(filepath.Join(p.dir, name))
	if err != nil {
		p.t.Fatal(err)
	}
	return data
}

// encode turns a value into JSON.
func encode(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// toml turns a string into one of TOML.
func toml(t *testing.T, text string) string {
	t.Helper()
	return string(encode(t, text))
}

// call is a turn's call of a tool, for scripts.
func call(t *testing.T, tool string, args map[string]any) string {
	t.Helper()
	return fmt.Sprintf("[[turn.call]]\ntool = %q\nargsText = %s\n", tool, toml(t, string(encode(t, args))))
}

// command is a call of exec.
func command(t *testing.T, program string, args ...string) string {
	t.Helper()
	return call(t, "exec", map[string]any{"command": program, "args": slices.Concat([]string{}, args), "timeout": 0})
}
