package packages

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/lockfile"
	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/internal/sandbox/policy"
	"github.com/perstack-go/perstack/internal/testkit"
)

// installRole is the first argument of a second process, which installs.
const installRole = "act:install"

func TestMain(m *testing.M) {
	sandbox.Init()
	if len(os.Args) > 1 && os.Args[1] == installRole {
		os.Exit(playInstall(os.Args[2]))
	}
	os.Exit(m.Run())
}

func supervisor(t *testing.T) *sandbox.Supervisor {
	t.Helper()
	s := sandbox.NewSupervisor()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// store is a Store of a user who has nothing but a registry and an empty home.
func store(t *testing.T, registry string, more ...string) *Store {
	t.Helper()
	testkit.Need(t, "npm", "node")
	home := t.TempDir()
	return &Store{
		Dir: filepath.Join(t.TempDir(), "cache"), Commands: supervisor(t),
		Environ: append([]string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + home, "npm_config_cache=" + filepath.Join(home, "npm-cache"),
			"npm_config_registry=" + registry, "npm_config_fetch_retries=0",
		}, more...),
	}
}

func npx(name, version string) expert.Package {
	return expert.Package{Manager: "npx", Name: name, Version: version}
}

func resolve(t *testing.T, s *Store, p expert.Package) *lockfile.Package {
	t.Helper()
	locked, err := s.Resolve(t.Context(), p, nil)
	if err != nil {
		t.Fatal(err)
	}
	return locked
}

func install(t *testing.T, s *Store, p *lockfile.Package, program string) []string {
	t.Helper()
	argv, err := s.Install(t.Context(), p, program, nil)
	if err != nil {
		t.Fatal(err)
	}
	return argv
}

// output starts what was installed.
func output(t *testing.T, s *Store, argv []string) string {
	t.Helper()
	o, err := s.Commands.Run(t.Context(), sandbox.Command{Program: argv[0], Args: argv[1:], Dir: t.TempDir(), Environ: s.Environ, Policy: policy.Off(policy.JobOff)})
	if err != nil {
		t.Fatal(err)
	}
	return o.Stdout.String() + o.Stderr.String()
}

// places lists what is in the directory of the store.
func places(t *testing.T, s *Store) []string {
	t.Helper()
	entries, err := os.ReadDir(s.root())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if e.Name() != "index" {
			names = append(names, e.Name())
		}
	}
	return names
}

const hello = "#!/usr/bin/env node\nconsole.log(require('greeting'))"

// publishHello publishes a package with one that it needs.
func publishHello(r *registry) {
	r.publish("greeting", "1.0.0", nil, map[string]string{"index.js": "module.exports = 'hello'"})
	r.publish("@acme/tool", "1.0.0", map[string]any{"bin": "./cli.js", "dependencies": map[string]string{"greeting": "^1.0.0"}}, map[string]string{"cli.js": hello})
	r.publish("@acme/tool", "1.1.0", map[string]any{"bin": "./cli.js", "dependencies": map[string]string{"greeting": "^1.0.0"}}, map[string]string{"cli.js": hello + "// newer"})
}

func TestResolveAndInstall(t *testing.T) {
	r := newRegistry(t)
	publishHello(r)
	s := store(t, r.URL)
	for tag, want := range map[string]string{"": "1.1.0", "latest": "1.1.0", "old": "1.0.0"} {
		p := npx("@acme/tool", "")
		p.Tag = tag
		if got := resolve(t, s, p); got.Version != want {
			t.Errorf("%q is %s", tag, got.Version)
		}
	}
	var notes []string
	note := func(n string) { notes = append(notes, n) }
	s.Fresh = true // a tag has led to this version before
	locked, err := s.Resolve(t.Context(), npx("@acme/tool", "1.0.0"), note)
	if err != nil {
		t.Fatal(err)
	}
	s.Fresh = false
	dist := r.packages["@acme/tool"]["1.0.0"]["dist"].(map[string]any)
	if locked.Manager != "npx" || locked.Name != "@acme/tool" || locked.Version != "1.0.0" || locked.Integrity != dist["integrity"] {
		t.Errorf("locked %+v", locked)
	}
	// Where it came from is not written down.
	for _, never := range []string{"resolved", "http", "127.0.0.1", "localhost", s.Dir} {
		if strings.Contains(locked.Tree, never) {
			t.Errorf("%q is in the tree:\n%s", never, locked.Tree)
		}
	}
	argv, err := s.Install(t.Context(), locked, "", note)
	if err != nil {
		t.Fatal(err)
	}
	if got := output(t, s, argv); argv[0] != "node" || got != "hello\n" {
		t.Errorf("%q says %q", argv, got)
	}
	if diff := cmp.Diff([]string{"fetching @acme/tool@1.0.0", "installing 2 packages for @acme/tool@1.0.0"}, notes); diff != "" {
		t.Error(diff)
	}
	// Once it is there, neither registry nor npm are needed, and it is the same.
	r.Close()
	s.Environ = []string{"PATH=/nonexistent"}
	again := resolve(t, s, npx("@acme/tool", "1.0.0"))
	if diff := cmp.Diff(locked, again); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(argv, install(t, s, again, "")); diff != "" {
		t.Error(diff)
	}
	for _, dir := range append(places(t, s), ".", "index") {
		if info, err := os.Stat(filepath.Join(s.root(), dir)); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", dir, info.Mode(), err)
		}
	}
	if got := places(t, s); len(got) != 1 {
		t.Errorf("there are %q", got)
	}
}

// What npm trees can have besides plain packages survives being trimmed.
func TestTreeOfAllKinds(t *testing.T) {
	r := newRegistry(t)
	r.publish("plain", "1.0.0", nil, map[string]string{"index.js": "module.exports = 'plain1'"})
	r.publish("plain", "2.0.0", nil, map[string]string{"index.js": "module.exports = 'plain2'"})
	r.publish("peer", "1.0.0", map[string]any{"peerDependencies": map[string]string{"plain": "1.x", "absent": "*"}, "peerDependenciesMeta": map[string]any{"absent": map[string]bool{"optional": true}}}, nil)
	r.publish("elsewhere", "1.0.0", map[string]any{"os": "plan9", "cpu": []string{"!x64", "!arm64"}}, nil)
	r.publish("bundle", "1.0.0", map[string]any{"dependencies": map[string]string{"inner": "1.0.0"}, "bundleDependencies": []string{"inner"}}, map[string]string{
		"node_modules/inner/package.json": `{"name":"inner","version":"1.0.0"}`, "node_modules/inner/index.js": "module.exports = 'inner'", "index.js": "module.exports = require('inner')",
	})
	r.publish("nested", "1.0.0", map[string]any{"dependencies": map[string]string{"plain": "2.0.0"}, "funding": "https://example.com/pay", "license": "MIT"}, map[string]string{"index.js": "module.exports = require('plain')"})
	r.publish("tool", "1.0.0", map[string]any{
		"bin":                  map[string]string{"tool": "cli.mjs"},
		"dependencies":         map[string]string{"plain": "^1.0.0 || >=3 <4", "peer": "*", "bundle": "1", "nested": "~1.0", "other-name": "npm:plain@2.0.0"},
		"optionalDependencies": map[string]string{"elsewhere": "1.0.0"},
		"devDependencies":      map[string]string{"never-asked-for": "1.0.0"},
	}, map[string]string{"cli.mjs": "import { createRequire } from 'module'; const r = createRequire(import.meta.url); console.log(r('plain'), r('bundle'), r('nested'), r('other-name'))"})
	s := store(t, r.URL)
	locked := resolve(t, s, npx("tool", ""))
	if got := output(t, s, install(t, s, locked, "tool")); got != "plain1 inner plain2 plain2\n" {
		t.Errorf("it says %q\n%s", got, locked.Tree)
	}
	for _, want := range []string{`"node_modules/elsewhere":{"version":"1.0.0","integrity":"sha512-`, `"os":["plan9"]`, `"inBundle":true`, `"name":"plain"`} {
		if !strings.Contains(locked.Tree, want) {
			t.Errorf("no %s in\n%s", want, locked.Tree)
		}
	}
	if strings.Contains(locked.Tree, "example.com") {
		t.Error("an address is in the tree")
	}
}

// npm's cache does for both steps when there is no network.
func TestOffline(t *testing.T) {
	r := newRegistry(t)
	publishHello(r)
	s := store(t, r.URL)
	install(t, s, resolve(t, s, npx("@acme/tool", "")), "")
	r.Close()
	s.Dir = t.TempDir()
	s.Environ = append(s.Environ, "npm_config_offline=true")
	if got := output(t, s, install(t, s, resolve(t, s, npx("@acme/tool", "")), "")); got != "hello\n" {
		t.Errorf("it says %q", got)
	}
}

// An interrupt returns its reason at once, and leaves nothing incomplete.
func TestCancel(t *testing.T) {
	r := newRegistry(t)
	publishHello(r)
	s := store(t, r.URL)
	locked := resolve(t, s, npx("@acme/tool", "1.0.0"))
	why := errors.New("enough")
	for name, work := range map[string]func(context.Context, *Store) error{
		"resolve": func(ctx context.Context, s *Store) error {
			_, err := s.Resolve(ctx, npx("@acme/tool", ""), nil)
			return err
		},
		"install": func(ctx context.Context, s *Store) error {
			_, err := s.Install(ctx, locked, "", nil)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			slow := newRegistry(t)
			slow.before = func(q *http.Request) {
				cancel(why)
				<-q.Context().Done() // npm hangs up by ending
			}
			s := store(t, slow.URL)
			if err := work(ctx, s); !errors.Is(err, why) {
				t.Errorf("error %v", err)
			}
			if got := places(t, s); len(got) > 0 {
				t.Errorf("there is %q", got)
			}
			if err := work(ctx, s); !errors.Is(err, why) {
				t.Errorf("once more: %v", err)
			}
		})
	}
}

// Many who want the same get one result; within a process it is fetched once.
func TestConcurrentInstall(t *testing.T) {
	r := newRegistry(t)
	publishHello(r)
	s := store(t, r.URL)
	var installs atomic.Int32
	results := make([]string, 8)
	var wg sync.WaitGroup
	for i := range results {
		wg.Go(func() {
			p, err := s.Resolve(t.Context(), npx("@acme/tool", "1.0.0"), nil)
			if err != nil {
				t.Error(err)
				return
			}
			argv, err := s.Install(t.Context(), p, "", func(string) { installs.Add(1) })
			results[i] = fmt.Sprint(argv, err)
		})
	}
	wg.Wait()
	if got := slices.Compact(slices.Clone(results)); len(got) != 1 || installs.Load() != 1 || !strings.Contains(got[0], "cli.js] <nil>") {
		t.Errorf("%d installs: %q", installs.Load(), got)
	}
	// Two processes, and two Stores, know nothing of each other.
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	said := make(chan string, 2)
	for range 2 {
		go func() {
			o, err := s.Commands.Run(t.Context(), sandbox.Command{Program: exe, Args: []string{installRole, dir}, Dir: "/", Environ: s.Environ, Set: setup(s.Environ), Policy: policy.Off(policy.JobOff)})
			if err != nil {
				t.Error(err)
			}
			said <- o.Stdout.String() + o.Stderr.String()
		}()
	}
	one, other := <-said, <-said
	if one != other || !strings.HasSuffix(one, "cli.js] <nil>\n") {
		t.Errorf("they say:\n%s%s", one, other)
	}
	if got := places(t, &Store{Dir: dir}); len(got) != 1 {
		t.Errorf("there are %q", got)
	}
}

func playInstall(dir string) int {
	commands := sandbox.NewSupervisor()
	defer commands.Close()
	s := &Store{Dir: dir, Commands: commands, Environ: os.Environ()}
	p, err := s.Resolve(context.Background(), npx("@acme/tool", "1.0.0"), nil)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println(s.Install(context.Background(), p, "", nil))
	return 0
}

// What a crashed run left is cleared away after a day, and never used.
func TestLeftovers(t *testing.T) {
	s := &Store{Dir: t.TempDir()}
	old, err := s.scratch(s.root())
	if err != nil {
		t.Fatal(err)
	}
	young, err := s.scratch(s.root())
	if err != nil {
		t.Fatal(err)
	}
	keep := filepath.Join(s.root(), strings.Repeat("a", 64))
	if err := os.Mkdir(keep, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{old, keep} {
		past := time.Now().Add(-25 * time.Hour)
		if err := os.Chtimes(dir, past, past); err != nil {
			t.Fatal(err)
		}
	}
	next, err := s.scratch(s.root())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{filepath.Base(keep), filepath.Base(young), filepath.Base(next)}
	slices.Sort(want)
	if diff := cmp.Diff(want, places(t, s)); diff != "" {
		t.Error(diff)
	}
	if _, err := (&Store{Dir: "relative"}).scratch("relative"); err == nil {
		t.Error("a relative directory is accepted")
	}
}

// An installation that somebody damaged is replaced.
func TestDamaged(t *testing.T) {
	r := newRegistry(t)
	publishHello(r)
	s := store(t, r.URL)
	locked := resolve(t, s, npx("@acme/tool", "1.0.0"))
	argv := install(t, s, locked, "")
	for name, damage := range map[string]func(dir string) error{
		"empty": func(dir string) error { return os.RemoveAll(filepath.Join(dir, modules)) },
		"name": func(dir string) error {
			return overwrite(filepath.Join(dir, modules, "@acme", "tool", "package.json"), `{"name":"evil","version":"1.0.0","bin":"evil.js"}`)
		},
		"other": func(dir string) error {
			return overwrite(filepath.Join(dir, modules, "@acme", "tool", "package.json"), `{"version":"9.9.9"}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := damage(filepath.Join(s.root(), places(t, s)[0])); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(argv, install(t, s, locked, "")); diff != "" {
				t.Error(diff)
			}
			if got := output(t, s, argv); got != "hello\n" {
				t.Errorf("it says %q", got)
			}
			if got := places(t, s); len(got) != 1 {
				t.Errorf("there are %q", got)
			}
		})
	}
}

// The index is believed only as far as it is in order.
func TestIndex(t *testing.T) {
	r := newRegistry(t)
	publishHello(r)
	s := store(t, r.URL)
	good := resolve(t, s, npx("@acme/tool", "1.0.0"))
	path := s.recordPath("@acme/tool", "1.0.0")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if s.known("@acme/tool", "1.0.0") == nil {
		t.Error("it is not known")
	}
	if s.known("@acme/tool", "1.1.0") != nil {
		t.Error("another version is known")
	}
	for name, broken := range map[string]string{
		"empty": "", "cut": string(text[:len(text)/2]), "more": string(text) + "{}", "member": strings.Replace(string(text), "{", `{"x":1,`, 1),
		"version":   strings.Replace(string(text), `"version":"1.0.0"`, `"version":"1.1.0"`, 1),
		"integrity": strings.Replace(string(text), good.Integrity, "sha512-x", 1),
		"name":      strings.Replace(string(text), `"name":"@acme/tool"`, `"name":"@evil/tool"`, 1),
	} {
		if broken == string(text) {
			t.Fatalf("%s: nothing changed", name)
		}
		if err := os.WriteFile(path, []byte(broken), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := s.known("@acme/tool", "1.0.0"); got != nil {
			t.Errorf("%s: known as %+v", name, got)
		}
	}
	if got := resolve(t, s, npx("@acme/tool", "1.0.0")); !cmp.Equal(got, good) { // and repaired
		t.Errorf("resolved to %+v", got)
	}
	asked := r.requests()
	resolve(t, s, npx("@acme/tool", "1.0.0"))
	if r.requests() != asked {
		t.Error("the registry was asked about what is known")
	}
	newest := resolve(t, s, npx("@acme/tool", ""))
	r.publish("greeting", "1.2.0", nil, map[string]string{"index.js": "module.exports = 'hi'"})
	// Of a tag only the version is asked; what that needs is known.
	s.Environ = append(slices.Clone(s.Environ), "npm_config_prefer_online=true")
	if got := resolve(t, s, npx("@acme/tool", "")); newest.Version != "1.1.0" || !cmp.Equal(got, newest) {
		t.Errorf("the tag was resolved to %+v, then to %+v", newest, got)
	}
	s.Fresh = true
	if got := resolve(t, s, npx("@acme/tool", "1.0.0")); got.Tree == good.Tree || !strings.Contains(got.Tree, "1.2.0") {
		t.Errorf("resolved to %s", got.Tree)
	}
}

// overwrite changes a file of the cache, which is read-only.
func overwrite(path, text string) error {
	if err := os.Chmod(path, 0o600); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o600)
}
