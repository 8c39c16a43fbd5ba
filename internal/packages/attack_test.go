package packages

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/lockfile"
	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/internal/sandbox/policy"
)

// No lifecycle script runs, whatever the user's settings and the working directory say.
func TestScriptsNeverRun(t *testing.T) {
	r := newRegistry(t)
	mark := filepath.Join(t.TempDir(), "mark")
	scripts := make(map[string]string)
	for _, when := range []string{"preinstall", "install", "postinstall", "prepare", "preprepare", "postprepare", "prepublish"} {
		scripts[when] = "echo " + when + " >>" + mark
	}
	files := map[string]string{"cli.js": "console.log('fine')", "binding.gyp": "{}"}
	r.publish("inner", "1.0.0", map[string]any{"scripts": scripts}, files)
	r.publish("tool", "1.0.0", map[string]any{"bin": "cli.js", "scripts": scripts, "dependencies": map[string]string{"inner": "1.0.0"}}, files)
	s := store(t, r.URL, "npm_config_ignore_scripts=false", "NPM_CONFIG_IGNORE_SCRIPTS=false", "npm_config_foreground_scripts=true", "npm_config_dangerously_allow_all_scripts=true",
		"npm_config_allow_scripts=tool,inner", "npm_config_global=true",
		"npm_config_install_strategy=linked", "npm_config_package_lock=false", "npm_config_dry_run=true", "npm_config_omit_lockfile_registry_resolved=false")
	argv := install(t, s, resolve(t, s, npx("tool", "")), "")
	if got := output(t, s, argv); got != "fine\n" {
		t.Errorf("it says %q", got)
	}
	if ran, err := os.ReadFile(mark); err == nil {
		t.Errorf("scripts ran: %s", ran)
	}
	// The test could fail: npm as it is runs them.
	dir := t.TempDir()
	if err := writeManifest(dir, "inner", "1.0.0"); err != nil {
		t.Fatal(err)
	}
	_, err := s.Commands.Run(t.Context(), sandbox.Command{
		Program: "npm", Args: []string{"install", "--no-global", "--no-dry-run", "--install-strategy=hoisted"}, Dir: dir, Environ: s.Environ, Set: setup(s.Environ), Policy: policy.Off(policy.JobOff),
	})
	if _, statErr := os.Stat(mark); err != nil || statErr != nil {
		t.Errorf("npm by itself ran nothing: %v, %v", err, statErr)
	}
}

// A changed character in what was pinned, or a changed package behind it, and nothing is
// installed.
func TestIntegrity(t *testing.T) {
	r := newRegistry(t)
	publishHello(r)
	good := resolve(t, store(t, r.URL), npx("@acme/tool", "1.0.0"))
	flip := func(integrity string) string { // one character, still a checksum
		c := "A"
		if integrity[10] == 'A' {
			c = "B"
		}
		return integrity[:10] + c + integrity[11:]
	}
	tree, err := lockedTree(good)
	if err != nil {
		t.Fatal(err)
	}
	inner := tree.root("greeting").Integrity
	tests := map[string]func(p *lockfile.Package){
		"the package": func(p *lockfile.Package) {
			p.Tree = strings.Replace(p.Tree, p.Integrity, flip(p.Integrity), 1)
			p.Integrity = flip(p.Integrity)
		},
		"what it needs": func(p *lockfile.Package) { p.Tree = strings.Replace(p.Tree, inner, flip(inner), 1) },
		"the registry": func(*lockfile.Package) {
			r.publish("greeting", "1.0.0", nil, map[string]string{"index.js": "module.exports = 'evil'"})
		},
	}
	for _, name := range []string{"the package", "what it needs", "the registry"} { // in this order
		t.Run(name, func(t *testing.T) {
			p := *good
			tests[name](&p)
			s := store(t, r.URL)
			_, err := s.Install(t.Context(), &p, "", nil)
			if err == nil || !strings.Contains(err.Error(), "integrity mismatch") {
				t.Errorf("error %v", err)
			}
			if got := places(t, s); len(got) > 0 {
				t.Errorf("there is %q", got)
			}
		})
	}
}

// What lies in the working directory has no say.
func TestWorkingDirectory(t *testing.T) {
	r, evil := newRegistry(t), newRegistry(t)
	publishHello(r)
	evil.publish("@acme/tool", "9.0.0", map[string]any{"bin": "cli.js"}, map[string]string{"cli.js": "console.log('evil')"})
	dir := t.TempDir()
	mark := filepath.Join(dir, "mark")
	for file, text := range map[string]string{
		".npmrc":                               "registry=" + evil.URL + "\n@acme:registry=" + evil.URL + "\nignore-scripts=false\nscript-shell=" + dir + "/shell\ngit=" + dir + "/shell\n",
		"shell":                                "#!/bin/sh\ntouch " + mark + "\n",
		"package.json":                         `{"name":"x","scripts":{"preinstall":"touch mark","postinstall":"touch mark"},"dependencies":{"@acme/tool":"9.0.0"}}`,
		"node_modules/@acme/tool/package.json": `{"name":"@acme/tool","version":"1.1.0","bin":"cli.js"}`,
		"node_modules/@acme/tool/cli.js":       "console.log('evil')",
		"node_modules/.bin/npm":                "#!/bin/sh\ntouch " + mark + "\n",
		"npm":                                  "#!/bin/sh\ntouch " + mark + "\n",
	} {
		path := filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	s := store(t, r.URL)
	s.Environ[0] = "PATH=." + string(filepath.ListSeparator) + os.Getenv("PATH")
	locked := resolve(t, s, npx("@acme/tool", ""))
	if got := output(t, s, install(t, s, locked, "")); got != "hello\n" || locked.Version != "1.1.0" {
		t.Errorf("version %s says %q", locked.Version, got)
	}
	if evil.requests() > 0 {
		t.Errorf("the other registry was asked for %q", evil.asked)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("a program of the working directory ran")
	}
}

func TestErrors(t *testing.T) {
	r := newRegistry(t)
	publishHello(r)
	r.publish("git", "1.0.0", map[string]any{"dependencies": map[string]string{"x": "git+https://example.invalid/x.git"}}, nil)
	r.publish("remote", "1.0.0", map[string]any{"dependencies": map[string]string{"greeting": r.URL + "/tarballs/greeting-1.0.0.tgz"}}, nil)
	r.publish("file", "1.0.0", map[string]any{"dependencies": map[string]string{"x": "file:../../../x"}}, nil)
	closed := newRegistry(t)
	closed.Close()
	const token = "very-secret-token"
	tests := []struct {
		name  string
		p     expert.Package
		store *Store
		want  string
	}{
		{"no npm", npx("@acme/tool", ""), &Store{Environ: []string{"PATH=/nonexistent"}}, "npm package @acme/tool@latest: npm was not found in PATH; install Node.js"},
		{"no package", npx("no-such-package", ""), store(t, r.URL), "npm package no-such-package@latest: the registry has no such package"},
		{"no version", npx("@acme/tool", "7.7.7"), store(t, r.URL), "the registry has no such version; check it"},
		{"not reached", npx("@acme/tool", ""), store(t, strings.Replace(closed.URL, "http://", "http://user:"+token+"@", 1), "npm_config__auth="+token), "the registry cannot be reached"},
		{"offline", npx("@acme/tool", ""), store(t, r.URL, "npm_config_offline=true"), "npm is offline and its cache lacks something"},
		{"git", npx("git", ""), store(t, r.URL), "it needs something that does not come from the registry"},
		{"remote", npx("remote", ""), store(t, r.URL), "it needs something from an address that is not the registry's"},
		{"file", npx("file", ""), store(t, r.URL), "registry"},
		{"uvx", expert.Package{Manager: "uvx", Name: "x"}, store(t, r.URL), "only npx packages are fetched here"},
		{"name", npx("--call=x", ""), store(t, r.URL), "not the name of an npm package"},
		{"path", npx("../x", ""), store(t, r.URL), "not the name of an npm package"},
		{"version", npx("x", "^1.0.0"), store(t, r.URL), "not an exact version"},
		{"tag", expert.Package{Manager: "npx", Name: "x", Tag: "npm:evil"}, store(t, r.URL), "not a tag"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.store.Commands == nil {
				tt.store.Commands, tt.store.Dir = supervisor(t), t.TempDir()
			}
			_, err := tt.store.Resolve(t.Context(), tt.p, nil)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("error %v", err)
			}
			if text := err.Error(); strings.ContainsAny(text, "\x1b\n\r") || strings.Contains(text, token) || len(text) > 1500 {
				t.Errorf("error %q", text)
			}
			if got := places(t, tt.store); len(got) > 0 {
				t.Errorf("there is %q", got)
			}
		})
	}
}

func TestSetup(t *testing.T) {
	got := setup([]string{
		"PATH=/bin", "npm_config_registry=r", "NPM_CONFIG_CACHE=c", "NODE_EXTRA_CA_CERTS=x", "SSL_CERT_FILE=f", "SSL_CERT_DIR=d", "npm_config_empty=",
		"NPM_CONFIG_FETCH_RETRY_MINTIMEOUT=7", "NPM_TOKEN=t", "NODE_OPTIONS=--require=/x", "NODE_AUTH_TOKEN=t", "ANTHROPIC_API_KEY=k", "npm_lifecycle_script=x",
	})
	want := map[string]string{"npm_config_registry": "r", "NPM_CONFIG_CACHE": "c", "NODE_EXTRA_CA_CERTS": "x", "SSL_CERT_FILE": "f", "SSL_CERT_DIR": "d",
		"NPM_CONFIG_FETCH_RETRY_MINTIMEOUT": "7", "npm_config_fetch_retry_maxtimeout": "2000", "npm_config_fetch_retries": "1"}
	if !maps.Equal(got, want) {
		t.Errorf("setup %q", got)
	}
}
