package packages

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/internal/lockfile"
)

// elsewhere is a platform that no machine has on which tests run.
var elsewhere = Platform{OS: "linux", CPU: "riscv64", Libc: "musl"}

// publishNative publishes a package that needs another one on each platform.
func publishNative(r *registry, mark string) {
	optional := make(map[string]string)
	here := thisMachine()
	for name, p := range map[string]Platform{"native-here": here, "native-elsewhere": elsewhere, "native-glibc": {OS: "linux", CPU: "riscv64", Libc: "glibc"}} {
		more := map[string]any{"os": []string{p.OS}, "cpu": []string{p.CPU}}
		if p.Libc != "" {
			more["libc"] = []string{p.Libc}
		}
		r.publish(name, "1.0.0", more, map[string]string{"index.js": "module.exports = '" + name + "'"})
		optional[name] = "1.0.0"
	}
	r.publish("native", "1.0.0", map[string]any{
		"bin": "cli.js", "optionalDependencies": optional, "scripts": map[string]string{"postinstall": "echo ran >" + mark},
	}, map[string]string{"cli.js": "console.log('native')"})
}

// installedIn lists the packages of a directory.
func installedIn(t *testing.T, home string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(home, modules))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	return names
}

func fetch(t *testing.T, s *Store, p *lockfile.Package, on Platform) Installed {
	t.Helper()
	got, err := s.Fetch(t.Context(), p, on, nil)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// One lock serves every platform: what is fetched for another one has its own packages,
// beside what is installed here, and no script runs for either.
func TestFetchForAnotherPlatform(t *testing.T) {
	r := newRegistry(t)
	mark := filepath.Join(t.TempDir(), "mark")
	publishNative(r, mark)
	s := store(t, r.URL)
	locked := resolve(t, s, npx("native", "1.0.0"))
	argv := install(t, s, locked, "")
	here, there := fetch(t, s, locked, thisMachine()), fetch(t, s, locked, elsewhere)
	if !strings.HasPrefix(argv[1], here.Dir+string(filepath.Separator)) {
		t.Errorf("%s is not what is installed here: %s", here.Dir, argv[1])
	}
	if diff := cmp.Diff([]string{"native", "native-here"}, installedIn(t, here.Dir)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"native", "native-elsewhere"}, installedIn(t, there.Dir)); diff != "" {
		t.Error(diff)
	}
	pin, err := PinOf(locked)
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Base(here.Dir) != pin.Digest || pin.Kind != "npm" || filepath.Base(there.Dir) != pin.Digest+"-linux-riscv64-musl" {
		t.Errorf("pinned %+v, here %+v, there %+v", pin, here, there)
	}
	if here.Packages != 2 || there.Packages != 2 {
		t.Errorf("here %+v, there %+v", here, there)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("a script ran")
	}
	// Once it is there, nothing is fetched.
	r.Close()
	s.Environ = []string{"PATH=/nonexistent"}
	s.Offline = true
	if again := fetch(t, s, locked, elsewhere); again != there {
		t.Errorf("again: %+v", again)
	}
}

// What is added to the package cache is nothing that an image should have: the package is
// installed again.
func TestFetchLeavesStrangeFilesBehind(t *testing.T) {
	r := newRegistry(t)
	publishNative(r, os.DevNull)
	s := store(t, r.URL)
	locked := resolve(t, s, npx("native", "1.0.0"))
	used := fetch(t, s, locked, thisMachine())
	left := filepath.Join(used.Dir, modules, "native", "memory.jsonl")
	if err := os.WriteFile(left, []byte("salaries"), 0o600); err != nil {
		t.Fatal(err)
	}
	if again := fetch(t, s, locked, thisMachine()); again != used {
		t.Errorf("first %+v, then %+v", used, again)
	}
	if _, err := os.Stat(left); err == nil {
		t.Error("the data is there")
	}
}

// An npm that does not know the flags is found out.
func TestFetchNoticesTheWrongPlatform(t *testing.T) {
	r := newRegistry(t)
	publishNative(r, os.DevNull)
	s := store(t, r.URL)
	locked := resolve(t, s, npx("native", "1.0.0"))
	here := fetch(t, s, locked, thisMachine())
	tree, err := lockedTree(locked)
	if err != nil {
		t.Fatal(err)
	}
	if err := tree.isFor(here.Dir, thisMachine()); err != nil {
		t.Error(err)
	}
	if err := tree.isFor(here.Dir, elsewhere); err == nil || !strings.Contains(err.Error(), "native-here, which is not for linux-riscv64-musl") {
		t.Errorf("error %v", err)
	}
}

func TestFetchRefuses(t *testing.T) {
	r := newRegistry(t)
	publishHello(r)
	s := store(t, r.URL)
	locked := resolve(t, s, npx("@acme/tool", "1.0.0"))
	asked := r.requests()
	for name, test := range map[string]struct {
		change func(*Store, *lockfile.Package, *Platform)
		want   string
	}{
		"offline":      {func(s *Store, _ *lockfile.Package, _ *Platform) { s.Offline = true }, "[docker] offline"},
		"sealed":       {func(s *Store, _ *lockfile.Package, _ *Platform) { s.Sealed = true }, "it is not in the image"},
		"a broken pin": {func(_ *Store, p *lockfile.Package, _ *Platform) { p.Tree = "{}" }, lockfile.InstallAgain},
		"a path":       {func(_ *Store, _ *lockfile.Package, on *Platform) { on.CPU = "../../x" }, "cannot be fetched for the platform"},
		"a flag":       {func(_ *Store, _ *lockfile.Package, on *Platform) { on.Libc = "--x" }, "cannot be fetched for the platform"},
		"no libc":      {func(_ *Store, _ *lockfile.Package, on *Platform) { on.Libc = "" }, "cannot be fetched for the platform"},
	} {
		t.Run(name, func(t *testing.T) {
			other := &Store{Dir: s.Dir, Commands: s.Commands, Environ: s.Environ}
			p, on := *locked, elsewhere
			test.change(other, &p, &on)
			if got, err := other.Fetch(t.Context(), &p, on, nil); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%+v, error %v", got, err)
			}
		})
	}
	if r.requests() != asked || len(places(t, s)) > 0 {
		t.Errorf("something was fetched: %q", places(t, s))
	}
}

// What is in an image is started, and never changed or added to.
func TestSealed(t *testing.T) {
	r := newRegistry(t)
	publishHello(r)
	r.publish("shell", "1.0.0", map[string]any{"bin": "run.sh"}, map[string]string{"run.sh": "#!/bin/sh\necho shell\n"})
	s := store(t, r.URL)
	tool, shell := resolve(t, s, npx("@acme/tool", "1.0.0")), resolve(t, s, npx("shell", "1.0.0"))
	fetch(t, s, tool, thisMachine())
	script := filepath.Join(fetch(t, s, shell, thisMachine()).Dir, modules, "shell", "run.sh")
	if err := os.Chmod(script, 0o600); err != nil {
		t.Fatal(err)
	}
	before := listing(t, s.Dir)

	sealed := &Store{Dir: s.Dir, Commands: s.Commands, Environ: []string{"PATH=/nonexistent"}, Sealed: true}
	if got := output(t, s, install(t, sealed, tool, "")); got != "hello\n" {
		t.Errorf("it says %q", got)
	}
	if _, err := sealed.Install(t.Context(), shell, "", nil); err == nil || !strings.Contains(err.Error(), "cannot be run") {
		t.Errorf("a program that would have to be changed: %v", err)
	}
	if _, err := sealed.Resolve(t.Context(), npx("@acme/tool", "1.0.0"), nil); err == nil || !strings.Contains(err.Error(), "nothing is fetched where the image runs") {
		t.Errorf("resolve: %v", err)
	}
	other := resolve(t, s, npx("@acme/tool", "1.1.0"))
	if _, err := sealed.Install(t.Context(), other, "", nil); err == nil || !strings.Contains(err.Error(), "it is not in the image") {
		t.Errorf("another version: %v", err)
	}
	for _, line := range listing(t, s.Dir) {
		if !slices.Contains(before, line) && !strings.Contains(line, "index") {
			t.Errorf("changed: %s", line)
		}
	}
}

func listing(t *testing.T, dir string) (lines []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil {
			lines = append(lines, path+" "+info.Mode().String())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

func TestAdmits(t *testing.T) {
	for _, test := range []struct {
		e    entry
		want bool
	}{
		{entry{}, true},
		{entry{OS: words{"linux"}, CPU: words{"riscv64"}, Libc: words{"musl"}}, true},
		{entry{OS: words{"linux", "darwin"}}, true},
		{entry{OS: words{"any"}}, true},
		{entry{OS: words{"!win32"}}, true},
		{entry{OS: words{"!linux"}}, false},
		{entry{OS: words{"linux", "!linux"}}, false},
		{entry{OS: words{"darwin"}}, false},
		{entry{CPU: words{"x64"}}, false},
		{entry{Libc: words{"glibc"}}, false},
	} {
		if got := test.e.admits(elsewhere); got != test.want {
			t.Errorf("%+v: %v", test.e, got)
		}
	}
}
