package packages

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/internal/sandbox/landlock"
	"github.com/perstack-go/perstack/internal/testkit"
)

// An attacker is a server that counts its connections. It should have none.
type attacker struct {
	address string
	met     atomic.Int32
}

func newAttacker(t *testing.T) *attacker {
	t.Helper()
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = socket.Close() })
	a := &attacker{address: socket.Addr().String()}
	go func() {
		for {
			c, err := socket.Accept()
			if err != nil {
				return
			}
			a.met.Add(1)
			_ = c.Close()
		}
	}()
	return a
}

// npm connects to the registry, whatever a package or the registry names.
func TestOtherHosts(t *testing.T) {
	evil := newAttacker(t)
	http1 := "http://" + evil.address + "/x.tgz"
	needs := func(kind, address string) func(*registry) {
		return func(r *registry) {
			r.publish("tool", "1.0.0", map[string]any{kind: map[string]string{"g": address}}, nil)
		}
	}
	tarball := func(at string) func(*registry) {
		return func(r *registry) {
			r.publish("tool", "1.0.0", map[string]any{"bin": "cli.js"}, map[string]string{"cli.js": ""})
			r.packages["tool"]["1.0.0"]["dist"].(map[string]any)["tarball"] = at
		}
	}
	for name, tt := range map[string]struct {
		publish func(*registry)
		refused string
	}{
		"http dependency":     {needs("dependencies", http1), evil.address},
		"https dependency":    {needs("dependencies", "https://"+evil.address+"/x.tgz"), evil.address},
		"optional dependency": {needs("optionalDependencies", http1), evil.address},
		"private address":     {needs("dependencies", "http://169.254.169.254/latest/x.tgz"), "169.254.169.254:80"},
		"other spelling":      {needs("dependencies", "http://2130706433:"+port(evil.address)+"/x.tgz"), evil.address},
		"name":                {needs("dependencies", "https://attacker.invalid/x.tgz"), "attacker.invalid:443"},
		"tarball":             {tarball(http1), evil.address},
		"tarball by https":    {tarball("https://" + evil.address + "/x.tgz"), evil.address},
		"redirect": {func(r *registry) {
			tarball(r.URL + "/moved")(r)
			r.moved = map[string]string{"/moved": http1}
		}, evil.address},
		"redirect of the index": {func(r *registry) { r.moved = map[string]string{"/tool": "http://" + evil.address + "/tool"} }, evil.address},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRegistry(t)
			tt.publish(r)
			s := store(t, r.URL, "npm_config_noproxy=127.0.0.1,localhost", "NO_PROXY=*", "no_proxy=127.0.0.1")
			if err := os.WriteFile(filepath.Join(sandboxHome(s), ".npmrc"), []byte("noproxy=127.0.0.1,invalid\nproxy=null\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			locked, err := s.Resolve(t.Context(), npx("tool", ""), nil)
			if err == nil {
				_, err = s.Install(t.Context(), locked, "", nil)
			}
			if err == nil || !strings.Contains(err.Error(), "it needs something from "+tt.refused+", which is not a registry of your npm configuration") {
				t.Errorf("error %v", err)
			}
			if got := places(t, s); len(got) > 0 {
				t.Errorf("there is %q", got)
			}
			if n := evil.met.Load(); n > 0 {
				t.Fatalf("%d connections to the other server", n)
			}
		})
	}
}

func port(address string) string { return address[strings.LastIndexByte(address, ':')+1:] }

func sandboxHome(s *Store) string { return strings.TrimPrefix(s.Environ[1], "HOME=") }

// Files can come from a host that the user adds, and a scope from a registry of its own.
func TestConfiguredHosts(t *testing.T) {
	r, files := newRegistry(t), newRegistry(t)
	publishHello(r)
	publishHello(files)
	dist := r.packages["@acme/tool"]["1.1.0"]["dist"].(map[string]any)
	dist["tarball"] = strings.Replace(dist["tarball"].(string), r.URL, files.URL, 1)
	s := store(t, r.URL)
	s.Hosts = []string{strings.TrimPrefix(files.URL, "http://")}
	if got := output(t, s, install(t, s, resolve(t, s, npx("@acme/tool", "1.1.0")), "")); got != "hello\n" {
		t.Errorf("it says %q", got)
	}
	if !slices.ContainsFunc(files.asked, func(path string) bool { return strings.HasPrefix(path, "/tarballs/") }) {
		t.Errorf("the other host was asked for %q", files.asked)
	}

	empty := newRegistry(t)
	empty.publish("greeting", "1.0.0", nil, map[string]string{"index.js": "module.exports = 'hello'"})
	own := newRegistry(t)
	publishHello(own)
	s = store(t, empty.URL, "SCOPE=acme")
	address := strings.Replace(own.URL, "http://", "http://user:secret@", 1)
	if err := os.WriteFile(filepath.Join(sandboxHome(s), ".npmrc"), []byte("; comment\n@acme:registry = "+address+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if locked := resolve(t, s, npx("@acme/tool", "")); locked.Version != "1.1.0" {
		t.Errorf("version %s", locked.Version)
	}
}

// npm reaches the registry through the proxy of the user, if there is one.
func TestUserProxy(t *testing.T) {
	for name, variables := range map[string]func(proxy string) []string{
		"npm":       func(p string) []string { return []string{"npm_config_https_proxy=" + p} },
		"npm plain": func(p string) []string { return []string{"NPM_CONFIG_PROXY=" + p} },
		"variable":  func(p string) []string { return []string{"HTTP_PROXY=" + p} },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRegistry(t)
			publishHello(r)
			var asked atomic.Int32
			proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
				if user, password, ok := parseBasic(q.Header.Get("Proxy-Authorization")); !ok || user != "me" || password != "secret" || q.URL.Host != "registry.test" {
					http.Error(w, "no", http.StatusForbidden)
					return
				}
				asked.Add(1)
				r.ServeHTTP(w, q)
			}))
			t.Cleanup(proxy.Close)
			for _, versions := range r.packages {
				for _, manifest := range versions {
					dist := manifest["dist"].(map[string]any)
					dist["tarball"] = strings.Replace(dist["tarball"].(string), r.URL, "http://registry.test", 1)
				}
			}
			address, _ := url.Parse(proxy.URL)
			address.User = url.UserPassword("me", "secret")
			s := store(t, "http://registry.test/", variables(address.String())...)
			if got := output(t, s, install(t, s, resolve(t, s, npx("@acme/tool", "")), "")); got != "hello\n" || asked.Load() == 0 {
				t.Errorf("it says %q after %d requests", got, asked.Load())
			}
		})
	}
}

func parseBasic(header string) (user, password string, ok bool) {
	return (&http.Request{Header: http.Header{"Authorization": {header}}}).BasicAuth()
}

// A program that is started from a package has neither the settings of npm nor its proxy.
func TestStartedGetsNeither(t *testing.T) {
	r := newRegistry(t)
	r.publish("tool", "1.0.0", map[string]any{"bin": "cli.js"}, map[string]string{
		"cli.js": "console.log(Object.keys(process.env).filter(k => /npm_|uv_|proxy/i.test(k)).join())",
	})
	s := store(t, r.URL, "npm_config__auth=c2VjcmV0", "UV_INDEX_URL=https://user:secret@index.test")
	if got := output(t, s, install(t, s, resolve(t, s, npx("tool", "")), "")); got != "\n" {
		t.Errorf("it has %q", got)
	}
}

// Where the kernel can enforce it, an npm that ignores its proxy reaches nothing.
func TestProxyIgnored(t *testing.T) {
	if err := landlock.Available(); err != nil {
		testkit.Missing(t, err.Error())
	}
	evil := newAttacker(t)
	s := store(t, "http://"+evil.address)
	dir := t.TempDir()
	script(t, filepath.Join(dir, "npm"), `exec node -e "require('net').connect(`+port(evil.address)+`, '127.0.0.1').on('error', e => { console.error('npm error', e.code); process.exit(1) }).on('connect', () => process.exit(0))"`)
	s.Environ[0] = "PATH=" + dir + string(filepath.ListSeparator) + os.Getenv("PATH")
	if _, err := s.npm(t.Context(), dir, "install"); err == nil || !strings.Contains(err.Error(), "EACCES") {
		t.Errorf("error %v", err)
	}
}

func TestServersIn(t *testing.T) {
	for list, want := range map[string][]string{
		"": nil, "https://Index.Example./simple": {"index.example:443"}, "corp=http://10.0.0.1:8080/ https://user:p=w@b.test/x": {"10.0.0.1:8080", "b.test:443"},
		"/wheels,https://c.test": {"c.test:443"}, "http://[::1]:81": {"[::1]:81"}, "file:///x": nil, "ftp://x.test": nil,
	} {
		if diff := cmp.Diff(want, serversIn(list)); diff != "" {
			t.Errorf("%q: %s", list, diff)
		}
	}
}

// The hint about a host helps: for npm, a host that is allowed does not allow an address.
func TestRefusedHint(t *testing.T) {
	for manager, want := range map[string]string{
		"npm": `and was not contacted; a dependency that is an address is always refused, but if a registry keeps its packages there, add "x.example:443" to packageHosts in config.toml`,
		"uv":  `and was not contacted; if you trust it, add "x.example:443" to packageHosts in config.toml`,
	} {
		if err := (&refusedError{manager, []string{"x.example:443"}}).Error(); !strings.HasSuffix(err, want) {
			t.Errorf("%s: %s", manager, err)
		}
	}
}
