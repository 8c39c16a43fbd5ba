package selftest

import (
	"context"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Without a sandbox most checks fail. Which ones depends on the machine; these fail on all of
// them.
func TestNoSandbox(t *testing.T) {
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret")
	if err := os.WriteFile(secret, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	results := Run(t.Context(), Spec{
		Gateway: netip.MustParseAddr("127.0.0.1"), Masked: []string{secret}, Work: dir, ReadOnlyWork: true,
	})
	if len(results) != len(checks()) {
		t.Fatalf("%d results of %d checks", len(results), len(checks()))
	}
	for i, c := range checks() {
		if results[i].Name != c.name {
			t.Errorf("result %d is of %s, want %s", i, results[i].Name, c.name)
		}
		if results[i].Detail == "" {
			t.Errorf("%s: nothing is told", c.name)
		}
	}
	err := Err(results)
	if err == nil {
		t.Fatal("all checks passed")
	}
	for _, name := range []string{"capabilities", "dumpable", "read-only-root", "masked", "workspace", "gateway", "proxy"} {
		if !slices.ContainsFunc(results, func(r Result) bool { return r.Name == name && !r.OK }) || !strings.Contains(err.Error(), name+" (") {
			t.Errorf("%s passed: %v", name, results)
		}
	}
}

// A check that was cut off does not pass.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, r := range Run(ctx, Spec{}) {
		if r.OK {
			t.Errorf("%s passed, but there was no time to look", r.Name)
		}
	}
}

func TestErr(t *testing.T) {
	if err := Err([]Result{{"a", true, "fine"}}); err != nil {
		t.Error(err)
	}
	if Err(nil) == nil {
		t.Error("nothing was checked")
	}
	if err := Err([]Result{{"a", true, "fine"}, {"b", false, "open"}, {"c", false, "wide"}}); err == nil || err.Error() != "b (open), c (wide)" {
		t.Errorf("%v", err)
	}
}

func TestMasked(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	empty := filepath.Join(dir, "empty")
	if err := os.Mkdir(empty, 0o700); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(put("target", "x"), link); err != nil {
		t.Fatal(err)
	}
	pipe := filepath.Join(dir, "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	put("full/file", "x")
	for path, want := range map[string]bool{
		filepath.Join(dir, "absent"):         true,
		put("nothing", ""):                   true,
		empty:                                true,
		os.DevNull:                           true,
		put("something", "x"):                false,
		filepath.Join(dir, "full"):           false,
		link:                                 false,
		pipe:                                 false,
		"/dev/zero":                          false,
		filepath.Join(dir, "something/file"): false, // it cannot be looked at
	} {
		if err := showsNothing(path); (err == nil) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestWorkspace(t *testing.T) {
	dir := t.TempDir()
	if _, err := workspace(t.Context(), Spec{Work: dir}); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("something was left in it: %v, %v", left, err)
	}
	if _, err := workspace(t.Context(), Spec{Work: dir, ReadOnlyWork: true}); err == nil {
		t.Error("it is writable")
	}
	if _, err := workspace(t.Context(), Spec{Work: os.DevNull}); err == nil {
		t.Error("it is no directory")
	}
	if _, err := workspace(t.Context(), Spec{Work: filepath.Join(dir, "absent")}); err == nil {
		t.Error("it is missing")
	}
}

func TestDevices(t *testing.T) {
	entries, err := os.ReadDir("/dev")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, e := range entries {
		if _, usual := usualDevices[e.Name()]; usual {
			if found++; !isUsual(e) && e.Name() != "ptmx" { // a device or a link
				t.Errorf("%s is not usual", e.Name())
			}
		}
	}
	if found < 5 {
		t.Errorf("only %d of the usual devices are here", found)
	}
}
