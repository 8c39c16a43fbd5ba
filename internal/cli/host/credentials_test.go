package host

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/internal/consent"
	"github.com/perstack-go/perstack/internal/credentials"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/workspace"
)

const loginKey = "psk_live_9fKx2LmQ8vTz4Wb7"

// user returns the host of a user who is logged in. The configuration is below home.
func user(t *testing.T, home string) *Host {
	t.Helper()
	h := &Host{Dir: t.TempDir(), Home: home, Environ: []string{"AppData=" + filepath.Join(home, ".config"), "LocalAppData=" + home}, Source: engine.SystemSource()}
	store, err := h.Credentials(h.Dir, h.Dir, nil)
	if err == nil {
		err = store.Login(t.Context(), "https://registry.example.com", credentials.Login{Key: loginKey})
	}
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// A run hides the keys of the login file, and the file from tools. It does not start if that cannot
// be done.
func TestHideLogins(t *testing.T) {
	h := user(t, t.TempDir())
	again := &Host{Dir: h.Dir, Home: h.Home, Environ: h.Environ, Source: h.Source}
	if err := again.HideLogins(h.Dir, h.Dir); err != nil {
		t.Fatal(err)
	}
	if got := again.Secrets.Redact("is " + loginKey); got != "is [redacted: login-registry.example.com]" {
		t.Error(got)
	}
	history, err := h.History("", "", h.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if hidden := history.Hidden(); !slices.ContainsFunc(hidden, func(dir string) bool { return consent.Below(consent.Resolve(h.LoginPath()), dir) }) {
		t.Errorf("only %q are hidden", hidden)
	}
	if runtime.GOOS != "windows" {
		if err := os.Chmod(h.LoginPath(), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := h.HideLogins(h.Dir, h.Dir); err == nil || !strings.Contains(err.Error(), "chmod 600") {
			t.Errorf("open to others: %v", err)
		}
	}
	if err := (&Host{Dir: h.Dir}).HideLogins(h.Dir, h.Dir); err != nil {
		t.Errorf("without a home: %v", err)
	}
}

// File tools do not read the login file, even if it is in the workspace. A run does not start there.
func TestLoginsInWorkspace(t *testing.T) {
	dir := consent.Resolve(t.TempDir())
	h := user(t, filepath.Join(dir, "home"))
	history, err := h.History("", "", dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, keys, err := history.In(dir); err != nil || !keys {
		t.Errorf("a sandbox can open the workspace: %v", err)
	}
	if err := h.HideLogins(dir, dir); err == nil || !strings.Contains(err.Error(), "in the workspace") {
		t.Errorf("a run can start: %v", err)
	}
	w, err := workspace.Open(dir, workspace.Options{Protected: history.Hidden()})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	path, err := filepath.Rel(dir, h.LoginPath())
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{path, h.LoginPath()} {
		if f, err := w.OpenFile(t.Context(), path); err == nil {
			f.Close()
			t.Errorf("%s can be opened", path)
		}
	}
}

// A helper in the workspace is not started.
func TestHelperInWorkspace(t *testing.T) {
	h := user(t, t.TempDir())
	store, err := h.Credentials(h.Dir, h.Dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Helpers.Check(filepath.Join(h.Dir, "bin", "docker-credential-x")); err == nil {
		t.Error("it can be started")
	}
	if err := store.Helpers.Check("/usr/bin/docker-credential-x"); err != nil {
		t.Error(err)
	}
}

func TestAskedRegistries(t *testing.T) {
	h := user(t, t.TempDir())
	path := h.UserConfigPath()
	if err := os.WriteFile(path, []byte("[registries.mine]\nurl = 'https://m.example'\nscopes = ['@mine']\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	config, problems := manifest.Parse(filepath.Join(h.Dir, "perstack.toml"), []byte("[registries.acme]\nurl = 'https://a.example'\nscopes = ['@acme']\n"))
	if config == nil {
		t.Fatal(problems)
	}
	rules, err := h.Registries(config, h.Dir)
	if err != nil {
		t.Fatal(err)
	}
	asked, err := rules.Asked([]string{"@mine/x", "@acme/x", "@other/x", "writer"})
	if want := (consent.Registry{Name: "acme", URL: "https://a.example", Scope: "@acme"}); err != nil || !slices.Equal(asked, []consent.Registry{want}) {
		t.Errorf("%v, %v", asked, err)
	}
	d, err := rules.For("@acme/x")
	if err == nil {
		err = rules.Bound.Bind(t.Context(), d, "", nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	if rules, err = h.Registries(nil, h.Dir); err != nil {
		t.Fatal(err)
	}
	if _, err := rules.Asked([]string{"@acme/x"}); err == nil || !strings.Contains(err.Error(), "by an earlier run") {
		t.Errorf("another project: %v", err)
	}
}
