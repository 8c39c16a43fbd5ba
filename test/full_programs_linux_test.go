package test

import (
	"crypto/rand"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/internal/testkit"
	"github.com/perstack-go/perstack/internal/testkit/atlevel"
)

// newFullProject is a project whose programs run at a level, for a user with a new home directory.
// The PATH is that of the system: what a version manager keeps in another home does not exist.
func newFullProject(t *testing.T, level string, programs ...string) npmProject {
	t.Helper()
	const path = "/usr/local/go/bin:/usr/local/bin:/usr/bin:/bin"
	for _, p := range programs {
		if !inPath(path, p) {
			testkit.Missing(t, p+" in "+path)
		}
	}
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := npmProject{dir: filepath.Join(top, "workspace"), home: filepath.Join(top, "home"), flags: []string{"--sandbox=" + level}}
	if level == atlevel.Landlock { // what a machine that offers more does not use
		p.machine = level
	}
	for _, dir := range []string{p.dir, p.home} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	p.environ = append(os.Environ(), "HOME="+p.home, "PATH="+path, "XDG_CACHE_HOME=", "XDG_STATE_HOME="+p.state(), "GOCACHE="+goCache(t),
		"MAKEFLAGS=", "MFLAGS=", "MAKELEVEL=") // make can have started the test
	return p
}

// state is the state directory of the user.
func (p npmProject) state() string { return filepath.Join(p.home, "state") }

func inPath(path, program string) bool {
	for _, dir := range filepath.SplitList(path) {
		if info, err := os.Stat(filepath.Join(dir, program)); err == nil && info.Mode()&0o111 != 0 {
			return true
		}
	}
	return false
}

// goCache is the cache that Go uses for these tests: it has the standard library.
func goCache(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// sh is a call of exec that runs a shell script.
func sh(id, script string) toolCall {
	args, err := json.Marshal(map[string]any{"command": "sh", "args": []string{"-c", script}, "timeout": 600_000})
	if err != nil {
		panic(err)
	}
	return toolCall{id, "exec", string(args)}
}

// A printed is what exec says of a command.
type printed struct {
	Output         string // of a command that succeeded
	Stdout, Stderr string // of one that failed
	ExitCode       int
}

// printed returns what a command printed.
func (o outcome) printed(t *testing.T, id string) (p printed) {
	t.Helper()
	r, ok := o.results[id]
	if !ok || len(r.Result) == 0 {
		t.Fatalf("there is no result of %q", id)
	}
	if err := json.Unmarshal([]byte(r.Result[0].Text), &p, json.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatalf("%v: %s", err, r.Result[0].Text)
	}
	return p
}

// What developers use works in a sandbox of level full as it does without one: each script prints
// the same inside and outside.
func TestFullPrograms(t *testing.T) {
	if testing.Short() {
		t.Skip("runs compilers")
	}
	p := fullPrograms(t, "git", "go", "npm", "python", "make", "terminal")
	checkGoCache(t, p)
}

// fullPrograms runs those of the tools that are named.
func fullPrograms(t *testing.T, names ...string) npmProject {
	t.Helper()
	p := newFullProject(t, "full", "git", "go", "node", "npm", "python3", "make", "gcc", "script")
	write(t, filepath.Join(p.home, ".gitconfig"), "[user]\nname = Ann\nemail = ann@example.com\n[alias]\nx = !false\n")
	other := filepath.Join(filepath.Dir(p.dir), "outside")
	want := make(map[string]string)
	var calls []toolCall
	for _, tool := range tools {
		if !slices.Contains(names, tool.name) {
			continue
		}
		for _, dir := range []string{p.dir, other} {
			unique := "x" + strings.ToLower(rand.Text())
			for name, text := range tool.files {
				write(t, filepath.Join(dir, tool.name, name), strings.ReplaceAll(text, "UNIQUE", unique))
			}
			p.outside(t, filepath.Join(dir, tool.name), tool.prepare)
		}
		want[tool.name] = p.outside(t, filepath.Join(other, tool.name), tool.script) // and caches are warm
		calls = append(calls, sh(tool.name, "cd "+tool.name+" && "+tool.script))
	}
	calls = append(calls, sh("git config", "cd git && git config core.pager x"), sh("hooks", "cd git && echo false > .git/hooks/pre-commit"))
	o := p.run(t, "", calls...)
	for name, want := range want {
		t.Run(name, func(t *testing.T) {
			if got := o.printed(t, name); got.Output != want || got.ExitCode != 0 || !strings.HasSuffix(want, "fine\n") {
				t.Errorf("exit code %d\n%s%s\noutside:\n%s", got.ExitCode, got.Output+got.Stdout, got.Stderr, want)
			}
		})
	}
	for id, want := range map[string]string{"git config": "could not", "hooks": "Read-only file system"} {
		if got := o.printed(t, id); got.ExitCode == 0 || !strings.Contains(got.Stderr, want) {
			t.Errorf("%s: exit code %d, %s", id, got.ExitCode, got.Stderr)
		}
	}
	return p
}

// outside runs a script as the user would.
func (p npmProject) outside(t *testing.T, dir, script string) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir, cmd.Env = dir, append(p.environ, "GOFLAGS=")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("outside: %v\n%s%s", err, out, stderr.String())
	}
	return string(out)
}

// checkGoCache checks that Go found the cache of the user, and wrote to another one.
func checkGoCache(t *testing.T, p npmProject) {
	t.Helper()
	mod, err := os.ReadFile(filepath.Join(p.dir, "go/go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	unique, _, _ := strings.Cut(strings.TrimPrefix(string(mod), "module example.com/"), "\n")
	user, compiled, added := goCache(t), 0, 0
	err = filepath.WalkDir(p.state(), func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.Name() == "work" && d.IsDir() {
			return fs.SkipDir // of the kernel
		}
		_, name, ok := strings.Cut(path, "/go-build/0/upper/")
		if err != nil || !ok || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		_, absent := os.Stat(filepath.Join(user, name))
		if absent != nil {
			added++
		}
		if strings.Contains(string(text), unique) {
			compiled++
			if absent == nil {
				t.Errorf("%s is in the user's cache", name)
			}
		}
		return nil
	})
	// The standard library has hundreds of packages: it was not compiled again.
	if err != nil || compiled == 0 || added > 100 {
		t.Errorf("Go added %d entries to its cache, %d of them of the test, %v", added, compiled, err)
	}
}

// tools are what is run, each in a directory of its own. A script ends with "fine".
var tools = []struct {
	name    string
	files   map[string]string
	prepare string // outside, before
	script  string
}{
	{name: "git", prepare: "git init -q -b main . && git commit -q --allow-empty -m zero", script: `set -e
echo one >a && git add a && git commit -qm one && git switch -qc other && echo two >b && git add b && git commit -qm two
git switch -q main && echo three >c && git add c && git commit -qm three && git switch -q other && git rebase -q main 2>&1
git worktree add -q tree main 2>&1 && test -f tree/c && git -C tree status --short
git gc -q && git fsck --no-progress 2>/dev/null && git log --format='%s %an' && git branch --list && git stash list && git diff HEAD~1 --stat
echo fine`},
	{name: "go", files: map[string]string{
		"go.mod": "module example.com/UNIQUE\n\ngo 1.21\n",
		"a_test.go": `package a

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
)

const unique = "UNIQUE"

func TestHTTP(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, unique) }))
	defer s.Close()
	r, err := http.Get(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(r.Body); err != nil || string(b) != unique {
		t.Fatal(b, err)
	}
}

func TestUDP(t *testing.T) {
	a, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b, err := net.Dial("udp", a.LocalAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	b.Write([]byte("x"))
	if n, _, err := a.ReadFrom(make([]byte, 9)); n != 1 || err != nil {
		t.Fatal(n, err)
	}
}
`,
	}, script: `GOTOOLCHAIN=local GOPROXY=off CGO_ENABLED=0 go test -trimpath -vet=off -v . | grep -oE '^--- PASS: [A-Za-z]*' && echo fine`},
	{name: "npm", files: map[string]string{
		".npmrc":       "update-notifier=false\nfund=false\naudit=false\n",
		"package.json": `{"name": "a", "version": "1.0.0", "scripts": {"test": "node test.js"}}`,
		"test.js": `const http = require('http'), net = require('net'), fs = require('fs');
const once = (o, e) => new Promise((r, f) => { o.once(e, r); o.once('error', f) });
(async () => {
  const web = http.createServer((q, a) => a.end('served')).listen(0, 'localhost');
  await once(web, 'listening');
  console.log(await (await fetch('http://localhost:' + web.address().port)).text());
  const unix = net.createServer(c => c.end('socket')).listen('./s');
  await once(unix, 'listening');
  console.log(String(await once(net.connect('./s'), 'data')));
  const watch = fs.watch('.'), seen = once(watch, 'change');
  fs.writeFileSync('watched', 'x');
  console.log(await seen);
  process.exit(0);
})().catch(e => { console.error(e); process.exit(1) });`,
	}, script: `npm test --silent && npm version --json | grep -q '"a": "1.0.0"' && echo fine`},
	{name: "python", script: `set -e
python3 -c 'import ensurepip' 2>/dev/null || without=--without-pip
python3 -m venv $without venv && . venv/bin/activate
python -c 'import sys, multiprocessing, sqlite3, tempfile
print(sys.prefix != sys.base_prefix, multiprocessing.get_context("fork").Pool(2).map(abs, [-1, -2]))
sqlite3.connect("db").execute("create table t (a)"); tempfile.NamedTemporaryFile().write(b"x")'
echo fine`},
	{name: "make", files: map[string]string{
		"Makefile": "run: prog\n\t@./prog\nprog: prog.c\n\t@gcc -O1 -pthread -o $@ $<\n",
		"prog.c": `#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <semaphore.h>
static sem_t s;
static void *f(void *p) { sem_post(&s); return p; }
int main(void) {
	pthread_t t;
	sem_init(&s, 0, 0);
	if (pthread_create(&t, 0, f, 0) || sem_wait(&s) || shm_open("/perstack-test", 66, 0600) < 0) return 1;
	shm_unlink("/perstack-test");
	puts("compiled");
	return 0;
}
`,
	}, script: `make -j2 && gcc --version | head -1 && echo fine`},
	{name: "terminal", script: `script -qec 'test -t 1 && stty rows 7 cols 9 && stty size' /dev/null </dev/null && echo fine`},
}
