package install

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/lockfile"
	"github.com/perstack-go/perstack/internal/process"
	"github.com/perstack-go/perstack/internal/skills"
	"github.com/perstack-go/perstack/internal/testkit"
	"github.com/perstack-go/perstack/internal/testkit/allow"
)

func TestOptions(t *testing.T) {
	for _, test := range []struct {
		args []string
		want Options
		err  string
	}{
		{args: nil},
		{args: []string{"--config", "a.toml", "--env-path", "x", "--env-path", "y"}, want: Options{Config: "a.toml", EnvPath: []string{"x", "y"}}},
		{args: []string{"--update"}, want: Options{Update: true}},
		{args: []string{"--check"}, want: Options{Check: true}},
		{args: []string{"--runtime", "docker"}, want: Options{Runtime: "docker"}},
		{args: []string{"--runtime", "podman"}, err: `--runtime is local or docker, not "podman"`},
		{args: []string{"--base-image", "tools:1"}, want: Options{BaseImage: "tools:1"}},
		{args: []string{"--base-image=--privileged"}, err: `--base-image: "--privileged" is not the name of an image; write it like debian:12-slim, or with a host before and @sha256:… behind it`},
		{args: []string{"--base-image", ""}, err: "--base-image is given without a value"},
		{args: []string{"--sandbox=auto"}, want: Options{Sandbox: expert.SandboxAuto}},
		{args: []string{"--sandbox=off", "--check"}, err: "--sandbox is for skills that are started, and --check starts none; give one"},
		{args: []string{"--check", "--update"}, err: "--update and --check exclude each other; give one"},
		{args: []string{"--config", ""}, err: "--config is given without a value"},
		{args: []string{"writer"}, err: `install takes no arguments, but got "writer"; it installs all Experts of the file that --config names`},
	} {
		var got *Options
		cmd := New(nil, func(_ context.Context, opts *Options) error { got = opts; return nil })
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		cmd.SetArgs(append([]string{}, test.args...)) // nil would stand for those of the test
		err := cmd.Execute()
		if test.err != "" {
			if err == nil || err.Error() != test.err || host.ExitCode(err) != host.ExitUsage {
				t.Errorf("%q: error = %v, want usage error %q", test.args, err, test.err)
			}
			continue
		}
		if err != nil || !reflect.DeepEqual(*got, test.want) {
			t.Errorf("%q: options = %+v, %v, want %+v", test.args, got, err, test.want)
		}
	}
}

const twoExperts = `
[experts.writer]
instruction = "Write."
delegates = ["editor", "elsewhere"]
[experts.writer.skills.web]
type = "mcpStdioSkill"
command = "npx"
args = ["-y", "@acme/web"]
requiredEnv = ["WEB_KEY"]
[experts.writer.skills.files]
type = "mcpStdioSkill"
command = "files-server"
[experts.editor]
instruction = "Edit."
[experts.editor.skills.search]
type = "mcpStdioSkill"
command = "npx"
packageName = "@acme/web"
requiredEnv = ["WEB_KEY"]
pick = ["a"]
`

// A bench is a project with servers that are played: what they would say is set by the
// test, and what they were asked is recorded. The scripts in test/ ask real ones.
type bench struct {
	t       *testing.T
	host    *host.Host
	out     bytes.Buffer
	errOut  bytes.Buffer
	mu      sync.Mutex
	asked   []string
	tools   map[string][]string // of each skill: definitions
	version string
	fail    map[string]error
	during  func(ctx context.Context, skill string)
	says    string // what files prints to standard error
}

func newBench(t *testing.T, file string) *bench {
	b := &bench{t: t, version: "1.0.0", fail: map[string]error{}, tools: map[string][]string{
		"web":    {`{"name":"a","description":"Find","inputSchema":{"type":"object"}}`, `{"name":"b","inputSchema":{}}`},
		"search": {`{"name":"never asked","inputSchema":{}}`},
		"files":  {},
	}}
	dir := t.TempDir()
	everything, err := allow.Everything(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b.host = &host.Host{Dir: dir, Home: dir, Environ: []string{"WEB_KEY=x", everything, "PERSTACK_SANDBOX=off"}, Source: engine.FixedSource(time.UnixMilli(1_767_000_000_000)), Stdout: &b.out, Stderr: &b.errOut}
	b.write("perstack.toml", file)
	return b
}

func (b *bench) write(name, text string) {
	b.t.Helper()
	if err := os.WriteFile(filepath.Join(b.host.Dir, name), []byte(text), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// lock is the text of the lockfile; empty if there is none.
func (b *bench) lock() string {
	data, err := os.ReadFile(filepath.Join(b.host.Dir, "perstack.lock"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		b.t.Fatal(err)
	}
	return string(data)
}

func (b *bench) discover(ctx context.Context, _ *skills.Site, s *expert.Skill, pinned *lockfile.Package, report func(event.Body)) (*lockfile.Skill, error) {
	b.mu.Lock()
	b.asked = append(b.asked, s.Name)
	b.mu.Unlock()
	if b.during != nil {
		b.during(ctx, s.Name)
	}
	if err := errors.Join(ctx.Err(), b.fail[s.Name]); err != nil {
		return nil, err
	}
	found := &lockfile.Skill{Name: s.Name, Digest: s.Connection()}
	if p, ok := s.Package(); ok {
		report(event.SkillStderr{SkillName: s.Name, Message: "fetching " + p.Spec()})
		found.Package = &lockfile.Package{Manager: p.Manager, Name: p.Name, Version: b.version, Integrity: "sha512-" + b.version, Tree: "{}"}
	}
	if s.Name == "files" && b.says != "" {
		report(event.SkillStderr{SkillName: s.Name, Message: b.says})
	}
	report(event.SkillStarting{SkillName: s.Name, Command: s.Command, Args: s.Args})
	for _, definition := range b.tools[s.Name] {
		tool, err := lockfile.ParseTool([]byte(definition))
		if err != nil {
			return nil, err
		}
		found.Tools = append(found.Tools, tool)
	}
	return found, nil
}

// install runs the command and returns what it printed, sorted where order is a matter
// of luck, with the directory left out.
func (b *bench) install(ctx context.Context, change ...func(*Options)) (stdout string, err error) {
	b.t.Helper()
	b.out.Reset()
	b.errOut.Reset()
	b.asked = nil
	opts := &Options{Host: b.host, Discover: b.discover, Pin: (&registrar{digest: "0"}).pin}
	for _, f := range change {
		f(opts)
	}
	err = run(ctx, opts)
	slices.Sort(b.asked)
	return strings.ReplaceAll(b.out.String(), b.host.Dir+string(filepath.Separator), ""), err
}

func update(o *Options) { o.Update = true }
func check(o *Options)  { o.Check = true }

// One server is asked for all skills that are started in the same way, each skill gets
// an entry, and a second install starts no server and changes nothing.
func TestInstall(t *testing.T) {
	b := newBench(t, twoExperts)
	out, err := b.install(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(b.asked); got != "[files web]" {
		t.Errorf("asked %s", got)
	}
	for _, line := range []string{
		"Resolving experts...\nFound 2 Experts\nCollecting tool definitions...\n",
		"    | web (writer): fetching @acme/web\n", "  web (writer): starting npx -y @acme/web\n", "  web (writer): Found 2 tools\n",
		"  files (writer): starting files-server\n", "  files (writer): Found 0 tools\n",
		"\nGenerated perstack.lock\n",
	} {
		if !strings.Contains(out, line) {
			t.Errorf("%q is not in\n%s", line, out)
		}
	}
	if want := `perstack: "writer" delegates to "elsewhere", which is not in the file` + "\n"; b.errOut.String() != want {
		t.Errorf("stderr = %q", b.errOut.String())
	}
	first := b.lock()
	testkit.Golden(t, "two.lock", first)

	b.host.Source = engine.FixedSource(time.UnixMilli(1_768_000_000_000))
	out, err = b.install(t.Context())
	if err != nil || len(b.asked) != 0 || b.lock() != first {
		t.Errorf("the second install asked %q: %v\n%s", b.asked, err, b.lock())
	}
	if !strings.Contains(out, "  web (writer): 2 tools, as installed before\n") || !strings.HasSuffix(out, "Generated perstack.lock (nothing changed)\n") {
		t.Errorf("stdout = %s", out)
	}
	if out, err = b.install(t.Context(), check); err != nil || out != "perstack.lock is up to date\n" {
		t.Errorf("check: %v, %s", err, out)
	}
}

// Only what changed is asked; texts of the file are taken over without asking anybody.
func TestInstallAsksWhatChanged(t *testing.T) {
	b := newBench(t, twoExperts)
	if _, err := b.install(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, change := range []struct{ old, text, asked string }{
		{`"Write."`, `"Write more."`, "[]"},
		{`pick = ["a"]`, `omit = ["a"]`, "[]"},
		{`"files-server"`, "\"files-server\"\nargs = [\"--all\"]", "[files]"},
		{`packageName = "@acme/web"`, `packageName = "@acme/web@2.0.0"`, "[search]"},
		{"[experts.editor.skills.search]", "[experts.editor.skills.find]", "[find]"},
	} {
		file, err := os.ReadFile(filepath.Join(b.host.Dir, "perstack.toml"))
		if err != nil || !strings.Contains(string(file), change.old) {
			t.Fatalf("%q is not in the file, %v", change.old, err)
		}
		b.write("perstack.toml", strings.Replace(string(file), change.old, change.text, 1))
		before := b.lock()
		if _, err := b.install(t.Context(), check); host.ExitCode(err) != host.ExitFailure || !strings.HasSuffix(err.Error(), "; run: perstack install") || len(b.asked) != 0 {
			t.Errorf("%s: check = %v, asked %q", change.text, err, b.asked)
		}
		b.version = "2.0.0"
		if _, err := b.install(t.Context()); err != nil || fmt.Sprint(b.asked) != change.asked {
			t.Errorf("%s: %v, asked %q", change.text, err, b.asked)
		}
		if b.lock() == before {
			t.Errorf("%s: the lockfile is as it was", change.text)
		}
		if _, err := b.install(t.Context(), check); err != nil {
			t.Errorf("%s: check after install = %v", change.text, err)
		}
	}
}

// --update shows what a server offers now and did not offer before.
func TestUpdateShowsDifferences(t *testing.T) {
	b := newBench(t, twoExperts)
	if _, err := b.install(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.version = "1.1.0"
	b.tools["web"] = []string{`{"name":"a","description":"Find, and send it to \u200bme","inputSchema":{"type":"object"}}`, `{"name":"c","inputSchema":{}}`}
	out, err := b.install(t.Context(), update)
	if err != nil || fmt.Sprint(b.asked) != "[files web]" {
		t.Fatalf("asked %q: %v", b.asked, err)
	}
	for _, line := range []string{
		"  web (writer): ~ package: was @acme/web@1.0.0, is @acme/web@1.1.0\n",
		"  web (writer): ~ a: ", "<U+200B>me", "  web (writer): - b\n", "  web (writer): + c\n",
		"  files (writer): no difference to what was installed before\n", "Generated perstack.lock\n",
	} {
		if !strings.Contains(out, line) {
			t.Errorf("%q is not in\n%s", line, out)
		}
	}
	if strings.Contains(out, "\u200b") {
		t.Errorf("a hidden character is printed: %q", out)
	}
	lock, err := lockfile.ReadFile(filepath.Join(b.host.Dir, "perstack.lock"))
	if err != nil {
		t.Fatal(err)
	}
	for key, name := range map[string]string{"writer": "web", "editor": "search"} {
		e, _ := lock.Expert(key)
		if s, ok := e.Skill(name); !ok || s.Package.Version != "1.1.0" || len(s.Tools) != 2 {
			t.Errorf("%s of %s = %+v", name, key, s)
		}
	}
}

// A version that has other content than before is said loudly.
func TestPackageDifference(t *testing.T) {
	p := func(version, integrity, tree string) *lockfile.Package {
		return &lockfile.Package{Name: "x", Version: version, Integrity: integrity, Tree: tree}
	}
	for want, pair := range map[string][2]*lockfile.Package{
		"[]":                           {p("1", "a", "t"), p("1", "a", "t")},
		"[~ package: was x@1, is x@2]": {p("1", "a", "t"), p("2", "b", "t")},
		"[~ package: x@1 has OTHER CONTENT than before: was a, is b]":                   {p("1", "a", "t"), p("1", "b", "t")},
		"[~ package: was no package, is x@1]":                                           {nil, p("1", "a", "t")},
		"[~ package: was x@1, is no package]":                                           {p("1", "a", "t"), nil},
		"[~ package: x@1 needs other packages, or other versions of them, than before]": {p("1", "a", "t"), p("1", "a", "u")},
	} {
		if got := fmt.Sprint(packageDifference(pair[0], pair[1])); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if got := packageDifference(nil, nil); got != nil {
		t.Errorf("got %q", got)
	}
}

// Every failing skill is reported, and nothing is written.
func TestInstallReportsAllFailures(t *testing.T) {
	b := newBench(t, twoExperts)
	b.fail = map[string]error{"web": errors.New(`skill "web": ended`), "files": errors.New(`skill "files": not found`)}
	_, err := b.install(t.Context())
	if host.ExitCode(err) != host.ExitFailure || b.lock() != "" {
		t.Errorf("error = %v, lock %q", err, b.lock())
	}
	for _, want := range []string{`expert "writer": skill "web": ended`, `expert "writer": skill "files": not found`, "perstack.lock was not written"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error = %v, want %q", err, want)
		}
	}

	b.fail = nil
	if _, err := b.install(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := b.lock()
	b.fail = map[string]error{"files": errors.New("no")}
	b.tools["web"] = nil
	if _, err := b.install(t.Context(), update); err == nil || b.lock() != before || !strings.Contains(err.Error(), "perstack.lock is as it was") {
		t.Errorf("error = %v", err)
	}
}

// All missing variables are reported before anything is started; for a skill that is not
// started none is needed.
func TestInstallMissingEnv(t *testing.T) {
	b := newBench(t, twoExperts+"[experts.editor.skills.more]\ntype='mcpStdioSkill'\ncommand='more'\nrequiredEnv=['MORE_A','MORE_B']\n")
	b.host.Environ = b.host.Environ[1:]
	_, err := b.install(t.Context())
	if host.ExitCode(err) != host.ExitUsage || len(b.asked) != 0 || b.lock() != "" {
		t.Errorf("error = %v, asked %q", err, b.asked)
	}
	for _, name := range []string{"WEB_KEY", "MORE_A", "MORE_B"} {
		if err == nil || strings.Count(err.Error(), name+" is not set") != 1 {
			t.Errorf("error = %v, want %s once", err, name)
		}
	}
	b.write(".env", "WEB_KEY=a\nMORE_A=b\nMORE_B=c\n")
	if _, err := b.install(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.write(".env", "")
	if _, err := b.install(t.Context()); err != nil || len(b.asked) != 0 {
		t.Errorf("%v, asked %q", err, b.asked)
	}
}

// A signal stops the servers that are asked, leaves the old lockfile, and is the cause
// that decides about the exit code.
func TestInstallInterrupted(t *testing.T) {
	b := newBench(t, twoExperts)
	if _, err := b.install(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := b.lock()
	ctx, cancel := context.WithCancelCause(t.Context())
	b.during = func(ctx context.Context, skill string) {
		cancel(process.Signal{Signal: syscall.SIGINT})
		<-ctx.Done()
	}
	_, err := b.install(ctx, update)
	var signal process.Signal
	if !errors.As(err, &signal) || signal.ExitCode() != host.ExitInterrupt || b.lock() != before {
		t.Errorf("error = %v", err)
	}
}

// No more servers than allowed run side by side.
func TestInstallIsBounded(t *testing.T) {
	var file strings.Builder
	file.WriteString("[experts.a]\ninstruction='x'\n")
	for i := range 3 * maxParallel {
		fmt.Fprintf(&file, "[experts.a.skills.s%d]\ntype='mcpStdioSkill'\ncommand='c%d'\n", i, i)
	}
	b := newBench(t, file.String())
	var mu sync.Mutex
	running, most := 0, 0
	full := make(chan struct{})
	b.during = func(context.Context, string) {
		mu.Lock()
		running++
		if most = max(most, running); most == maxParallel {
			select {
			case <-full:
			default:
				close(full)
			}
		}
		mu.Unlock()
		<-full // so that the test fails by its timeout if they are asked one by one
		mu.Lock()
		running--
		mu.Unlock()
	}
	if _, err := b.install(t.Context()); err != nil || most != maxParallel || len(b.asked) != 3*maxParallel {
		t.Errorf("%v: %d at once, %d asked", err, most, len(b.asked))
	}
}

// A broken lockfile is written again, and --check says that it is broken.
func TestInstallReplacesBrokenLock(t *testing.T) {
	b := newBench(t, twoExperts)
	b.write("perstack.lock", "version = '1'\n<<<<<<< ours\n")
	if _, err := b.install(t.Context(), check); host.ExitCode(err) != host.ExitFailure || !strings.Contains(err.Error(), "perstack.lock:2:1: ") || !strings.Contains(err.Error(), "run: perstack install") {
		t.Errorf("check = %v", err)
	}
	if _, err := b.install(t.Context()); err != nil || len(b.asked) != 2 || !strings.Contains(b.errOut.String(), "the lockfile cannot be used, so every skill is started again: ") {
		t.Errorf("%v, asked %q, stderr %s", err, b.asked, b.errOut.String())
	}
	if _, err := b.install(t.Context(), check); err != nil {
		t.Error(err)
	}
}

// What a server was given does not get into a file that is committed, nor on the screen,
// and what it says does not act on the terminal.
func TestInstallKeepsSecrets(t *testing.T) {
	const key = "sk-9fK2mQ7xVb4Lw8Zt3Rp6Yc1Hd5Ng0Js"
	b := newBench(t, twoExperts)
	b.host.Environ[0] = "WEB_KEY=" + key
	b.tools["web"] = []string{`{"name":"a","description":"with ` + key + `","inputSchema":{}}`}
	b.fail["files"] = errors.New("no\x1b[2J")
	_, err := b.install(t.Context())
	if err == nil || b.lock() != "" || !strings.Contains(err.Error(), `skill "web": the definition of its tool "a" holds a secret that the server was given`) || strings.Contains(err.Error(), key) {
		t.Errorf("error = %v, lock %q", err, b.lock())
	}

	p := &project{opts: &Options{Host: b.host}}
	b.out.Reset()
	p.say("  %s: %s", "web", "\x1b[31mkey "+key+"\u202e")
	if got := b.out.String(); got != "  web: key [redacted: WEB_KEY]\n" {
		t.Errorf("printed %q", got)
	}
}

func TestInstallRefusesPlainRemoteConfig(t *testing.T) {
	b := newBench(t, twoExperts)
	_, err := b.install(t.Context(), func(o *Options) { o.Config = "http://example.com/perstack.toml" })
	if host.ExitCode(err) != host.ExitUsage || !strings.Contains(err.Error(), "a remote configuration needs https") || b.out.Len() > 0 {
		t.Errorf("error = %v, stdout %q", err, b.out.String())
	}
	b.write("perstack.toml", "[experts.a]\ninstruction = 1")
	for _, change := range []func(*Options){update, check} {
		if _, err := b.install(t.Context(), change); host.ExitCode(err) != host.ExitUsage || len(b.asked) != 0 {
			t.Errorf("error = %v", err)
		}
	}
}

func TestCheckMissingLock(t *testing.T) {
	b := newBench(t, twoExperts)
	b.host.Environ = nil // it starts nothing, so it needs no variable
	_, err := b.install(t.Context(), check)
	if host.ExitCode(err) != host.ExitFailure || !strings.HasSuffix(err.Error(), "perstack.lock does not exist; run: perstack install") || b.lock() != "" {
		t.Errorf("error = %v", err)
	}
}

// A file of another name has a lockfile of its own; that of the other file stays.
func TestInstallOtherConfig(t *testing.T) {
	b := newBench(t, twoExperts)
	if _, err := b.install(t.Context()); err != nil {
		t.Fatal(err)
	}
	first := b.lock()
	b.write("b.toml", "[experts.b]\ninstruction = 'x'\n[experts.b.skills.files]\ntype = 'mcpStdioSkill'\ncommand = 'other'\n")
	other := func(o *Options) { o.Config = "b.toml" }
	if _, err := b.install(t.Context(), other, check); host.ExitCode(err) != host.ExitFailure || !strings.HasSuffix(err.Error(), "b.lock does not exist; run: perstack install --config b.toml") {
		t.Errorf("check: %v", err)
	}
	out, err := b.install(t.Context(), other)
	if err != nil || !strings.HasSuffix(out, "Generated b.lock\n") || b.lock() != first {
		t.Errorf("%v\n%s", err, out)
	}
	if _, err := b.install(t.Context(), other, check); err != nil {
		t.Errorf("check: %v", err)
	}
	// One that was copied is stale, and that of another file that exists is not replaced.
	b.write("b.lock", first)
	if _, err := b.install(t.Context(), other, check); err == nil || !strings.Contains(err.Error(), `was made from "perstack.toml", not from "b.toml"`) {
		t.Errorf("check: %v", err)
	}
	if _, err := b.install(t.Context(), other); host.ExitCode(err) != host.ExitUsage || !strings.Contains(err.Error(), `b.lock belongs to "perstack.toml"`) || len(b.asked) != 0 {
		t.Errorf("install: %v", err)
	}
	if err := os.Remove(filepath.Join(b.host.Dir, "perstack.toml")); err != nil {
		t.Fatal(err)
	}
	if _, err := b.install(t.Context(), other); err != nil {
		t.Errorf("after the other file was renamed: %v", err)
	}
}

// A lockfile of a newer version is not replaced.
func TestInstallKeepsNewerLock(t *testing.T) {
	b := newBench(t, twoExperts)
	b.write("perstack.lock", "version = \"2\"\n")
	for _, change := range []func(*Options){update, func(*Options) {}} {
		_, err := b.install(t.Context(), change)
		if host.ExitCode(err) != host.ExitUsage || !strings.HasSuffix(err.Error(), "; update perstack, or delete it to install again") || b.lock() != "version = \"2\"\n" || len(b.asked) != 0 {
			t.Errorf("error = %v, asked %q", err, b.asked)
		}
	}
	if _, err := b.install(t.Context(), check); host.ExitCode(err) != host.ExitFailure || !strings.HasSuffix(err.Error(), "; update perstack") {
		t.Errorf("check: %v", err)
	}
}

// What no run could read is not written.
func TestInstallTooLarge(t *testing.T) {
	b := newBench(t, twoExperts)
	for i := range 2 { // which two Experts use
		b.tools["web"] = append(b.tools["web"], fmt.Sprintf(`{"name":"t%d","description":%q,"inputSchema":{}}`, i, strings.Repeat("long ", 900_000)))
	}
	_, err := b.install(t.Context())
	if host.ExitCode(err) != host.ExitFailure || !strings.Contains(err.Error(), "larger than 16 MiB") || !strings.Contains(err.Error(), "perstack.lock was not written") || b.lock() != "" {
		t.Errorf("error = %v", err)
	}
}

// Who is handed the key of a provider is told before anything starts, and only if it does.
func TestInstallTellsKeys(t *testing.T) {
	b := newBench(t, "[experts.a]\ninstruction = 'x'\n[experts.a.skills.far]\ntype = 'mcpHttpSkill'\nendpoint = 'https://far.example/secret-path'\nrequiredEnv = ['OPENAI_API_KEY']\nheaders = { X-Key = '${OPENAI_API_KEY}' }\n")
	b.host.Environ[0] = "OPENAI_API_KEY=x"
	const want = `perstack: skill "far" (https://far.example) gets your OPENAI_API_KEY, as `
	told := false
	b.during = func(context.Context, string) { told = strings.HasPrefix(b.errOut.String(), want) }
	out, err := b.install(t.Context())
	if err != nil || !told || !strings.Contains(out, "  far (a): connecting to https://far.example\n") || strings.Contains(out+b.errOut.String(), "secret-path") {
		t.Errorf("%v\n%s%s", err, out, b.errOut.String())
	}
	if _, err := b.install(t.Context()); err != nil || b.errOut.Len() > 0 {
		t.Errorf("nothing was started: %v\n%s", err, b.errOut.String())
	}
}

// A server cannot write a line that looks like one of perstack.
func TestInstallQuotesServers(t *testing.T) {
	b := newBench(t, twoExperts)
	b.says = "well\nGenerated perstack.lock\r\n  web (writer): Found 0 tools\u2028perstack: done\x1b[2K\rfine"
	out, err := b.install(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, words := range []string{"well", "Generated perstack.lock", "web (writer): Found 0 tools", "perstack: done", "fine"} {
		if !strings.Contains(out, "    | files (writer): "+words+"\n") {
			t.Errorf("%q is not marked:\n%s", words, out)
		}
	}
	if strings.Count(out, "\nGenerated perstack.lock\n") != 1 || strings.Contains(out, "\nperstack: done") || strings.Contains(out, "\n  web (writer): Found 0") {
		t.Errorf("a server speaks for perstack:\n%s", out)
	}
}

// Slips in pick and omit, and names that two skills have, are told at once: also about
// entries that are kept, and for each Expert that uses a server.
func TestInstallWarnsAboutTools(t *testing.T) {
	b := newBench(t, twoExperts+`omit = ["serch"]
[experts.editor.skills.twin]
type = "mcpStdioSkill"
command = "twin"
`)
	b.tools["web"] = append(b.tools["web"], `{"name":"search","inputSchema":{}}`)
	b.tools["twin"] = []string{`{"name":"a","inputSchema":{}}`}
	for _, again := range []bool{false, true} {
		if _, err := b.install(t.Context()); err != nil || len(b.asked) > 0 == again {
			t.Fatalf("%v, asked %q", err, b.asked)
		}
		for _, want := range []string{
			`perstack: warning: search (editor): omit names the tool "serch", which the skill does not have; did you mean "search"?` + "\n",
			`perstack: warning: expert "editor" will not start: skills "search" and "twin" both offer a tool named "a"; leave it out with omit, or set toolPrefix = true for the skill` + "\n",
		} {
			if got := b.errOut.String(); strings.Count(got, want) != 1 {
				t.Errorf("again %t: %q is not in\n%s", again, want, got)
			}
		}
	}
}
