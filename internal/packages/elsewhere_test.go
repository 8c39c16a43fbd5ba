package packages

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/lockfile"
)

// oldNpm puts an npm in front that has no rules about where packages come from, like
// those before version 11.
func oldNpm(t *testing.T, s *Store) {
	t.Helper()
	npm, err := exec.LookPath("npm")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	script(t, filepath.Join(dir, "npm"), `for a; do shift; case $a in --allow-*=none) a="${a%none}all" ;; esac; set -- "$@" "$a"; done; exec '`+npm+`' "$@"`)
	s.Environ[0] = "PATH=" + dir + string(filepath.ListSeparator) + os.Getenv("PATH")
}

func script(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// codeHost is a host of repositories as npm sees it through a proxy. It gives out one
// archive for all that it is asked.
func codeHost(t *testing.T, archive []byte) (proxy string, asked <-chan string) {
	t.Helper()
	requests := make(chan string, 100)
	host := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		requests <- q.Host + q.URL.Path
		_, _ = w.Write(archive)
	}))
	t.Cleanup(host.Close)
	p := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.Method != http.MethodConnect {
			http.Error(w, "only for tunnels", http.StatusBadGateway)
			return
		}
		to, err := net.Dial("tcp", host.Listener.Addr().String())
		if err != nil {
			t.Error(err)
			return
		}
		defer to.Close()
		from, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer from.Close()
		_, _ = io.WriteString(from, "HTTP/1.1 200 OK\r\n\r\n")
		go func() {
			_, _ = io.Copy(to, from)
			_ = to.Close()
		}()
		_, _ = io.Copy(from, to)
	}))
	t.Cleanup(p.Close)
	return p.URL, requests
}

// A package that needs a repository makes npm start nothing: neither git, nor a script
// of the repository, nor what its .npmrc names.
func TestRepositoriesStartNothing(t *testing.T) {
	dir := t.TempDir()
	mark := filepath.Join(dir, "mark")
	git := script(t, filepath.Join(dir, "git"), "echo \"$@\" >>'"+mark+"'; exit 1")
	module := filepath.Join(dir, "module.js")
	if err := os.WriteFile(module, []byte("require('fs').appendFileSync('"+mark+"', 'module')"), 0o600); err != nil {
		t.Fatal(err)
	}
	const commit = "#0123456789abcdef0123456789abcdef01234567"
	inner := map[string]string{"x": "git+file://" + dir, "y": "github:acme/y" + commit}
	archive := pack(map[string]string{
		"package.json": `{"name":"g","version":"1.0.0","scripts":{"preinstall":"echo preinstall >>'` + mark + `'","prepare":"echo prepare >>'` + mark + `'"},"dependencies":{"x":"` + inner["x"] + `","y":"` + inner["y"] + `"},"bundleDependencies":["x"]}`,
		".npmrc":       "git=" + git + "\nignore-scripts=false\nscript-shell=/bin/sh\nnode-options=--require=" + module + "\nallow-git=all\n",
	})
	proxy, asked := codeHost(t, archive)
	for name, address := range map[string]string{
		"file": "git+file://" + dir, "ssh": "git+ssh://git@127.0.0.1:1/x.git", "https": "git+https://127.0.0.1:1/x.git#semver:^1", "git": "git://127.0.0.1:1/x.git#" + commit[1:],
		"host": "github:acme/g", "archive": "github:acme/g" + commit, "address of archive": "git+https://gitlab.com/acme/g.git" + commit,
	} {
		t.Run(name, func(t *testing.T) {
			r := newRegistry(t)
			r.publish("tool", "1.0.0", map[string]any{"bin": "cli.js", "dependencies": map[string]string{"g": address}}, nil)
			for _, old := range []bool{false, true} {
				s := store(t, r.URL, "npm_config_git="+git, "npm_config_https_proxy="+proxy, "npm_config_noproxy=127.0.0.1", "npm_config_strict_ssl=false")
				if old {
					oldNpm(t, s)
				}
				_, err := s.Resolve(t.Context(), npx("tool", ""), nil)
				if err == nil || !strings.Contains(err.Error(), "registry") || strings.Contains(err.Error(), s.Dir) {
					t.Errorf("old %t: error %v", old, err)
				}
				if ran, err := os.ReadFile(mark); err == nil {
					t.Fatalf("old %t: it started %s", old, ran)
				}
			}
		})
	}
	if len(asked) > 0 {
		t.Errorf("the host of repositories was asked for %s", <-asked)
	}
}

// A lockfile cannot give one package for another, nor leave one unpinned that is fetched.
func TestForgedTree(t *testing.T) {
	r := newRegistry(t)
	cli := map[string]string{"cli.js": "console.log('fine')"}
	r.publish("good", "1.0.0", map[string]any{"bin": "cli.js"}, cli)
	r.publish("evil", "1.0.0", map[string]any{"bin": "cli.js"}, map[string]string{"cli.js": "console.log('evil')"})
	r.publish("hidden", "1.0.0", nil, nil)
	r.publish("tool", "1.0.0", map[string]any{"bin": "cli.js", "dependencies": map[string]string{"hidden": "*"}}, cli)
	s := store(t, r.URL)
	integrity := make(map[string]string)
	for _, name := range []string{"good", "evil", "hidden", "tool"} {
		integrity[name] = r.packages[name]["1.0.0"]["dist"].(map[string]any)["integrity"].(string)
	}
	install(t, s, resolve(t, s, npx("evil", "")), "") // which puts it into npm's cache
	entryOf := func(name, integrity string) entry {
		return entry{Name: name, Version: "1.0.0", Integrity: integrity}
	}
	top := func(name string) entry { return entry{Dependencies: map[string]string{name: "1.0.0"}} }
	with := func(e entry, needs string, bundled ...string) entry {
		e.Dependencies, e.Bundled = map[string]string{"hidden": needs}, bundled
		return e
	}
	for name, tt := range map[string]struct {
		packages map[string]entry
		want     string
	}{
		"alias of the package":    {map[string]entry{"": top("good"), "node_modules/good": entryOf("evil", integrity["evil"])}, "it is another package, evil"},
		"content of another":      {map[string]entry{"": top("good"), "node_modules/good": entryOf("", integrity["evil"])}, "integrity mismatch"},
		"content of another name": {map[string]entry{"": top("tool"), "node_modules/tool": with(entryOf("", integrity["tool"]), "npm:good@*"), "node_modules/hidden": entryOf("good", integrity["evil"])}, "integrity mismatch"},
		"not bundled by any": {map[string]entry{
			"": top("tool"), "node_modules/tool": with(entryOf("", integrity["tool"]), "*"), "node_modules/tool/node_modules/hidden": {Version: "1.0.0", InBundle: true},
		}, "strong checksum"},
	} {
		t.Run(name, func(t *testing.T) {
			forged := &tree{Packages: tt.packages}
			p := &lockfile.Package{Manager: "npx", Version: "1.0.0", Tree: forged.String()}
			for p.Name = range tt.packages[""].Dependencies {
				p.Integrity = forged.root(p.Name).Integrity
			}
			before := len(places(t, s))
			_, err := s.Install(t.Context(), p, "", nil)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v", err)
			}
			if got := places(t, s); len(got) != before {
				t.Errorf("there is %q", got)
			}
		})
	}
	// Who says of a package that it bundles something gets what is in it, and no more.
	lie := &tree{Packages: map[string]entry{
		"": top("tool"), "node_modules/tool": with(entryOf("", integrity["tool"]), "*", "hidden"), "node_modules/tool/node_modules/hidden": {Version: "1.0.0", InBundle: true},
	}}
	install(t, s, &lockfile.Package{Manager: "npx", Name: "tool", Version: "1.0.0", Integrity: integrity["tool"], Tree: lie.String()}, "")
	if slices.Contains(r.asked, "/hidden") || slices.Contains(r.asked, "/tarballs/hidden-1.0.0.tgz") {
		t.Errorf("it fetched what is not pinned: %q", r.asked)
	}
	// An alias of something that is needed is none of that.
	r.publish("user", "1.0.0", map[string]any{"bin": "cli.js", "dependencies": map[string]string{"other": "npm:hidden@1"}}, cli)
	install(t, s, resolve(t, s, npx("user", "")), "")
}

// What lies in a place must call itself as the tree says, also under another name.
func TestIsNamed(t *testing.T) {
	forged := &tree{Packages: map[string]entry{"": {}, "node_modules/@a/b": {}, "node_modules/@a/b/node_modules/alias": {Name: "real"}, "node_modules/absent": {Optional: true}}}
	for _, tt := range []struct{ outer, inner, want string }{
		{"@a/b", "real", ""}, {"b", "real", "instead of @a/b"}, {"@a/b", "alias", "instead of real"}, {"@a/b", "evil", "instead of real"},
	} {
		dir := t.TempDir()
		for place, name := range map[string]string{"node_modules/@a/b": tt.outer, "node_modules/@a/b/node_modules/alias": tt.inner} {
			if err := os.MkdirAll(filepath.Join(dir, place), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := writeManifestNamed(filepath.Join(dir, place), name); err != nil {
				t.Fatal(err)
			}
		}
		if err := forged.isNamed(dir); (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s, %s: error %v", tt.outer, tt.inner, err)
		}
	}
}

func writeManifestNamed(dir, name string) error {
	return os.WriteFile(filepath.Join(dir, manifestName), []byte(`{"name":"`+name+`","version":"1.0.0"}`), 0o600)
}
