//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/sandbox/probe"
)

// sandboxes measures what the sandbox of level full costs: a command, the first command of a job,
// the tests of a Go and of an npm project, processes, mounts and memory; and what an audit costs,
// which tries all of its promises.
//
// CPU is that of perstack and all that it starts, supervisors and commands included. What is
// common to two runs is subtracted: a command is what a run with 21 of them costs more than one
// with a single one.
//
// On a machine without the level it is left out; in CI there has to be one.
func sandboxes(ctx context.Context, dir string, p programs) ([]figure, error) {
	if level, _ := probe.Level(ctx); level != expert.SandboxFull {
		if os.Getenv("CI") != "" {
			return nil, fmt.Errorf("missing in CI: sandbox level full; this machine offers %s", level)
		}
		fmt.Fprintln(os.Stderr, "bench: sandbox is left out, because this machine offers level", level)
		return nil, nil
	}
	x, err := newSandboxProject(dir, p)
	if err != nil {
		return nil, err
	}
	var all []figure
	for _, measure := range []func(context.Context) ([]figure, error){x.commands, x.tests, x.counts, x.audit} {
		figures, err := measure(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, figures...)
	}
	return all, nil
}

// A sandboxProject is a project whose Expert calls what a cassette says.
type sandboxProject struct {
	programs
	dir       string
	cassettes string // outside of the workspace
}

// newSandboxProject makes a workspace with 10 env files and the directory of a repository, which
// have to be protected, and the tests of two small projects.
func newSandboxProject(dir string, p programs) (*sandboxProject, error) {
	x := &sandboxProject{p, filepath.Join(dir, "sandboxes"), filepath.Join(p.home, "cassettes")}
	files := map[string]string{
		"perstack.toml": "[experts.bench]\ninstruction = \"Work.\"\n",
		".git/HEAD":     "ref: refs/heads/main\n", ".git/config": "[core]\n\tbare = false\n", ".git/hooks/sample": "",
		"go/go.mod": "module example\n\ngo 1.24\n", "go/words.go": wordsGo, "go/words_test.go": wordsTestGo,
		"npm/package.json": `{"name":"example","version":"1.0.0","scripts":{"test":"node --test"}}`,
		"npm/.npmrc":       "update-notifier=false\n", "npm/server.test.js": serverTestJS,
	}
	for i := range 10 {
		files[fmt.Sprintf("services/.env.%d", i)] = "TOKEN=secret\n"
	}
	for name, text := range files {
		path := filepath.Join(x.dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			return nil, err
		}
	}
	return x, os.MkdirAll(x.cassettes, 0o700)
}

const (
	wordsGo = `package words

import "strings"

func Count(text string) map[string]int {
	counts := make(map[string]int)
	for _, word := range strings.Fields(text) {
		counts[strings.ToLower(word)]++
	}
	return counts
}
`
	wordsTestGo = `package words

import (
	"os"
	"path/filepath"
	"testing"
)

func TestCount(t *testing.T) {
	path := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(path, []byte("one two One"), 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil || Count(string(text))["one"] != 2 {
		t.Fatal(err, string(text))
	}
}
`
	serverTestJS = `const test = require('node:test')
const http = require('node:http')
test('a server of this machine answers', (t, done) => {
  const server = http.createServer((_, response) => response.end('hello'))
  server.listen(0, '127.0.0.1', () => http.get({ port: server.address().port, host: '127.0.0.1' }, (answer) => {
    answer.resume().on('end', () => server.close(done))
  }))
})
`
)

// A call is a command with its arguments, in a directory of the workspace.
type call struct {
	dir  string
	argv []string
}

// times repeats a command. The arguments differ: the same call again and again would be a loop.
func times(n int, program string) (calls []call) {
	for i := range n {
		calls = append(calls, call{".", []string{program, fmt.Sprint(i)}})
	}
	return calls
}

// run is a run that makes the calls in one turn, at a level. perstack takes the best level of a
// machine, so landlock is that of a machine with nothing else.
func (x *sandboxProject) run(ctx context.Context, level expert.SandboxLevel, name string, calls ...call) (func() *exec.Cmd, error) {
	var script strings.Builder
	if len(calls) > 0 {
		script.WriteString("[[turn]]\n")
	}
	for _, c := range calls {
		fmt.Fprintf(&script, "[[turn.call]]\ntool = \"exec\"\n[turn.call.args]\ncommand = %q\ncwd = %q\nargs = [", c.argv[0], c.dir)
		for _, arg := range c.argv[1:] {
			fmt.Fprintf(&script, "%q, ", arg)
		}
		script.WriteString("]\ntimeout = 0\n")
	}
	script.WriteString("[[turn]]\ntext = \"Done.\"\n")
	cassette := filepath.Join(x.cassettes, name+".toml")
	if err := os.WriteFile(cassette, []byte(script.String()), 0o600); err != nil {
		return nil, err
	}
	start := command(ctx, x.dir, x.programs, "", "bench", "go", "--json", "--provider", "replay", "--cassette", cassette, "--sandbox="+string(level))
	return func() *exec.Cmd {
		cmd := start()
		if level == expert.SandboxLandlock {
			cmd.Path, cmd.Args = x.atLevel, append([]string{x.atLevel, string(level)}, cmd.Args...)
		}
		return cmd
	}, nil
}

// trial is a run as a trial. It was made once, and what it calls has worked.
func (x *sandboxProject) trial(ctx context.Context, level expert.SandboxLevel, name string, calls ...call) (trial, error) {
	start, err := x.run(ctx, level, name, calls...)
	if err != nil {
		return trial{}, err
	}
	cmd := start()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err == nil && (bytes.Contains(out, []byte(`"isError":true`)) || len(calls) > 0 && !bytes.Contains(out, []byte(`"exitCode`))) {
		err = errors.New("a command failed")
	}
	if err != nil {
		return trial{}, fmt.Errorf("%s: %w\n%s\n%s", cmd, err, out, stderr.Bytes())
	}
	return trial{0, start}, nil
}

// trials are runs that differ in their level or their calls.
func (x *sandboxProject) trials(ctx context.Context, runs ...sandboxRun) (all []trial, err error) {
	for i, r := range runs {
		t, err := x.trial(ctx, r.level, fmt.Sprint("trial", i), r.calls...)
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}

type sandboxRun struct {
	level expert.SandboxLevel
	calls []call
}

const (
	full        = expert.SandboxFull
	landlocked  = expert.SandboxLandlock
	unsandboxed = expert.SandboxOff
)

// commands measures commands that do nothing.
func (x *sandboxProject) commands(ctx context.Context) ([]figure, error) {
	const many = 20
	one, more := times(1, "true"), times(1+many, "true")
	trials, err := x.trials(ctx, sandboxRun{full, nil}, sandboxRun{full, one}, sandboxRun{full, more},
		sandboxRun{landlocked, one}, sandboxRun{landlocked, more}, sandboxRun{unsandboxed, nil}, sandboxRun{unsandboxed, one})
	if err != nil {
		return nil, err
	}
	rounds, err := x.compared(ctx, 9, trials...)
	if err != nil {
		return nil, err
	}
	rules, err := decision()
	if err != nil {
		return nil, err
	}
	inFull := func(r []cost) float64 { return float64(r[2].cpu-r[1].cpu) / many }
	return []figure{
		{"approvals: a decision with 500 rules, to the CPU of exec true at level full, in percent", 100 * float64(rules) / ofRounds(rounds, inFull), 1, "%.2f"},
		{"sandbox: CPU of exec true, full to landlock", ofRounds(rounds, func(r []cost) float64 { return inFull(r) * many / float64(r[4].cpu-r[3].cpu) }), 2, "%.2f"},
		{"sandbox: CPU of the first command of a job, full to off", ofRounds(rounds, func(r []cost) float64 { return float64(r[1].cpu-r[0].cpu) / float64(r[6].cpu-r[5].cpu) }), 2.5, "%.2f"},
		{"sandbox: CPU of exec true at level full, ms", ofRounds(rounds, inFull) / 1e6, 0, "%.1f"},
	}, nil
}

// tests measures the tests of the two projects, with warm caches.
func (x *sandboxProject) tests(ctx context.Context) (all []figure, err error) {
	for _, t := range []struct {
		name string
		call call
	}{
		{"go test", call{"go", []string{"go", "test", "-count=1", "./..."}}},
		{"npm test", call{"npm", []string{"npm", "test"}}},
	} {
		if _, err := exec.LookPath(t.call.argv[0]); err != nil && os.Getenv("CI") == "" {
			continue // in CI it fails
		}
		inside, outside := sandboxRun{full, []call{t.call}}, sandboxRun{unsandboxed, []call{t.call}}
		trials, err := x.trials(ctx, outside, inside, sandboxRun{unsandboxed, nil}, sandboxRun{full, nil}) // the first one fills the cache
		if err != nil {
			return nil, err
		}
		rounds, err := x.compared(ctx, 10, trials...)
		if err != nil {
			return nil, err
		}
		// The minimum: a machine that is busy can double what these many processes take.
		best := least(rounds)
		all = append(all, figure{"sandbox: CPU of " + t.name + ", full to off", float64(best[1].cpu-best[3].cpu) / float64(best[0].cpu-best[2].cpu), 1.25, "%.2f"})
	}
	return all, nil
}

// audit measures an audit of this machine, without its Docker daemon.
func (x *sandboxProject) audit(ctx context.Context) ([]figure, error) {
	used, err := x.measured(ctx, 1, 0, func() *exec.Cmd {
		cmd := exec.CommandContext(ctx, x.perstack, "audit")
		cmd.Dir = x.dir
		cmd.Env = []string{"HOME=" + x.home, "PATH=" + os.Getenv("PATH"), "DOCKER_HOST=unix://" + filepath.Join(x.home, "no-daemon")}
		return cmd
	})
	return []figure{{"sandbox: CPU of perstack audit, s", used.cpu.Seconds(), 60, "%.1f"}}, err
}

// ofRounds is the median of a value of all rounds.
func ofRounds(rounds [][]cost, of func(round []cost) float64) float64 {
	var values []float64
	for _, round := range rounds {
		values = append(values, of(round))
	}
	slices.Sort(values)
	return values[len(values)/2]
}
