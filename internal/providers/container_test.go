package providers_test

import (
	"encoding/base64"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/egress"
	"github.com/perstack-go/perstack/internal/providers"
	"github.com/perstack-go/perstack/internal/providers/modeltest"
	"github.com/perstack-go/perstack/internal/testkit/llm"
	"github.com/perstack-go/perstack/internal/testkit/llm/gemini"
	"github.com/perstack-go/perstack/model"
)

// Whatever is packed opens where there is nothing but the bundle, and works there: all of
// it goes through the egress proxy, with its password, to the hosts that the bundle
// names, and to no others. So a list of these hosts is neither too short nor too long.
func TestBundleWorksInAContainer(t *testing.T) {
	seen := map[string]bool{}
	for name, m := range containerCases() {
		seen[m.provider] = true
		t.Run(name, func(t *testing.T) {
			s := newInternet(t)
			trap := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				t.Errorf("%s %s went another way", r.Method, r.Host)
			}))
			defer trap.Close()
			listener := &tunnels{to: s.address}
			proxy := httptest.NewServer(listener)
			defer proxy.Close()

			p, c := m.pack(t, s.roots, trap.URL)
			var err error
			if c.Proxy, err = url.Parse(proxy.URL); err != nil {
				t.Fatal(err)
			}
			c.Proxy.User = url.UserPassword("perstack", "token-of-the-proxy")
			opened, err := providers.OpenTeam(p.Unpack(c), []*expert.Expert{{Key: "a"}, {Key: "b"}})
			if err != nil {
				t.Fatal(err)
			}
			got, _, err := modeltest.Ask(t.Context(), t, opened, &model.Request{Expert: "b", Messages: modeltest.User(modeltest.Text("Hello"))(nil)})
			if err != nil || got.Text != "ok" {
				t.Fatalf("%+v, %v", got, err)
			}
			if !slices.Equal(p.URLs, m.urls) {
				t.Errorf("the bundle has %q, want %q", p.URLs, m.urls)
			}
			if err := providers.CheckReachable(m.provider, p.URLs); err != nil {
				t.Error(err)
			}
			list, err := egress.ParseAllowlist(providers.Hosts(p.URLs))
			if err != nil {
				t.Fatal(err)
			}
			var asked []string
			for _, line := range listener.asked {
				words := strings.SplitN(line, " ", 3)
				host, port, _ := strings.Cut(words[1], ":")
				parsed, err := egress.ParseHost(host)
				if words[0] != "CONNECT" || port != "443" || err != nil || !list.Allows(parsed) ||
					words[2] != "Basic "+base64.StdEncoding.EncodeToString([]byte("perstack:token-of-the-proxy")) {
					t.Errorf("the egress proxy was asked %q, and leads to %q", line, p.URLs)
				}
				asked = append(asked, parsed)
			}
			slices.Sort(asked)
			if asked = slices.Compact(asked); !slices.Equal(asked, providers.Hosts(m.urls)) {
				t.Errorf("spoke to %q, want %q", asked, m.urls)
			}
			slices.Sort(s.hosts)
			if beyond := slices.Compact(s.hosts); !slices.Equal(beyond, asked) {
				t.Errorf("the egress proxy was asked for %q, and servers for %q", asked, beyond)
			}
		})
	}
	for _, provider := range model.Providers() {
		if !seen[provider] {
			t.Errorf("%s was not tried", provider)
		}
	}
}

// A bundle has what its model needs and nothing else of the user's: no key of another
// provider, no token of another program, and not the way to the user's own proxy, which
// is said apart.
func TestBundleHasNothingElse(t *testing.T) {
	const upstream = "http://me:pass@proxy.example:3128"
	for name, m := range containerCases() {
		t.Run(name, func(t *testing.T) {
			p, _ := m.pack(t, nil, upstream)
			want := slices.Collect(maps.Keys(m.env))
			if m.home != "" && runtime.GOOS == "windows" {
				want = append(want, "APPDATA")
			} else if m.home != "" {
				want = append(want, "HOME")
			}
			slices.Sort(want)
			if got := slices.Sorted(maps.Keys(p.Variables)); !slices.Equal(got, want) {
				t.Errorf("the bundle has %q, want %q", got, want)
			}
			for name, v := range p.Variables {
				if v.Value == "canary" || v.File != "" || strings.Contains(v.Value, "pass") {
					t.Errorf("%s is %+v", name, v)
				}
			}
			if len(p.Files) != len(m.files) {
				t.Errorf("%d files, want %d", len(p.Files), len(m.files))
			}
			if said := m.provider != "replay"; said != (p.Upstream == upstream) || !said && p.Upstream != "" {
				t.Errorf("the upstream is %q", p.Upstream)
			}
		})
	}
}

// What is fetched for a provider is requested from the proxy too, by its name: no program looks
// names up in a container, and the egress proxy takes no addresses.
func TestDownloadsGoThroughTheEgressProxy(t *testing.T) {
	for name, leads := range map[string]bool{"led": true, "refused": false} {
		t.Run(name, func(t *testing.T) {
			s := newInternet(t)
			listener := &tunnels{to: s.address}
			proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if !leads && r.Host == "files.example.com:443" {
					w.WriteHeader(http.StatusForbidden)
					return
				}
				listener.ServeHTTP(w, r)
			}))
			defer proxy.Close()
			p, c := containerCases()["ollama"].pack(t, s.roots, "")
			var err error
			if c.Proxy, err = url.Parse(proxy.URL); err != nil {
				t.Fatal(err)
			}
			m, err := providers.Open(p.Unpack(c))
			if err != nil {
				t.Fatal(err)
			}
			said := modeltest.User(modeltest.Text("Read."), event.Part{Type: event.FileURLPart, MIMEType: "text/plain", URL: "https://files.example.com/notes.txt"})
			if _, _, err := modeltest.Ask(t.Context(), t, m, &model.Request{Messages: said(nil)}); err != nil {
				t.Fatal(err)
			}
			led := slices.ContainsFunc(listener.asked, func(line string) bool { return strings.HasPrefix(line, "CONNECT files.example.com:443") })
			all := s.Requests()
			if led != leads || len(all) != 1 || strings.Contains(string(all[0].Raw), notes) != leads {
				t.Errorf("asked %q, then sent %s", listener.asked, all[0].Raw)
			}
			if told := strings.Contains(string(all[0].Raw), "the proxy does not lead to its server"); told == leads {
				t.Errorf("the model was told so: %t", told)
			}
		})
	}
}

// An egress proxy that refuses, or is gone, says so without its password; and what is not https
// does not get there at all.
func TestEgressProxyKeepsItsPassword(t *testing.T) {
	const token = "token-of-the-proxy"
	refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect {
			t.Errorf("the egress proxy was asked to %s %s", r.Method, r.URL)
		}
		w.WriteHeader(http.StatusForbidden)
	}))
	defer refuses.Close()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	here := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s %s went around the egress proxy", r.Method, r.URL)
	}))
	defer here.Close()
	account := filepath.Join(t.TempDir(), "account.json")
	if err := os.WriteFile(account, gemini.ServiceAccount(googleTokens, llm.Key), 0o600); err != nil {
		t.Fatal(err)
	}
	vertex := map[string]string{"GOOGLE_VERTEX_PROJECT": "p", "GOOGLE_VERTEX_LOCATION": "eu"}
	named := maps.Clone(vertex)
	named["GOOGLE_APPLICATION_CREDENTIALS"] = account
	metadata := maps.Clone(vertex)
	metadata["GCE_METADATA_HOST"] = strings.TrimPrefix(here.URL, "http://")
	for name, tt := range map[string]struct {
		provider string
		env      map[string]string
		proxy    string
		want     string
	}{
		"refused":          {"openai", map[string]string{"OPENAI_API_KEY": llm.Key}, refuses.URL, "the egress proxy does not allow it"},
		"refused, token":   {"google-vertex", named, refuses.URL, "the token server cannot be reached; the egress proxy does not allow it"},
		"gone":             {"openai", map[string]string{"OPENAI_API_KEY": llm.Key}, gone.URL, "the egress proxy does not answer"},
		"gone, token":      {"google-vertex", named, gone.URL, "the egress proxy does not answer"},
		"plain":            {"ollama", map[string]string{"OLLAMA_BASE_URL": here.URL}, refuses.URL, "its address is not https"},
		"plain, with key":  {"openai", map[string]string{"OPENAI_API_KEY": llm.Key, "OPENAI_BASE_URL": here.URL}, refuses.URL, "its address is not https"},
		"plain, for token": {"google-vertex", metadata, refuses.URL, "there are no credentials"},
		"another proxy":    {"openai", map[string]string{"OPENAI_API_KEY": llm.Key, "PERSTACK_PROXY_URL": here.URL}, refuses.URL, "the egress proxy does not allow it"},
		"no address":       {"openai", map[string]string{"OPENAI_API_KEY": llm.Key}, "socks5://127.0.0.1:1", "is not an address like http://host:port"},
	} {
		t.Run(name, func(t *testing.T) {
			proxy, err := url.Parse(tt.proxy)
			if err != nil {
				t.Fatal(err)
			}
			proxy.User = url.UserPassword("perstack", token)
			m, err := providers.Open(providers.Config{
				Provider: tt.provider, Model: model.DefaultModel(tt.provider), Proxy: proxy, Variables: func(name string) providers.Variable { return providers.Variable{Value: tt.env[name]} },
			})
			if err == nil {
				_, _, err = modeltest.Ask(t.Context(), t, m, &model.Request{Expert: "b", Messages: modeltest.User(modeltest.Text("Hello"))(nil)})
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
			for _, secret := range []string{token, base64.StdEncoding.EncodeToString([]byte("perstack:" + token))} {
				if err != nil && strings.Contains(err.Error(), secret) {
					t.Errorf("the error shows the password: %v", err)
				}
			}
		})
	}
}

// What CheckReachable lets through, the proxy takes for a name; what the proxy does not, is
// said before anything starts.
func TestContainerCheckAgreesWithTheProxy(t *testing.T) {
	for _, host := range []string{
		"api.example.com", "API.Example.COM", "api.example.com.", "api.example.com..", "a_b.example.com", "xn--bcher-kva.example", "-a.example.com", "a-.example.com",
		"a.example.123", "a.example.1com", "8.8.8.8", "0x08080808", "134744072", "[2606:4700::1]", "a..example.com", strings.Repeat("a", 64) + ".example.com",
		strings.Repeat("abcdefg.", 32) + "example.com", "b\u00fccher.example", "a.example.com%20",
	} {
		_, err := egress.ParseHost(strings.Trim(host, "[]"))
		if open := providers.CheckReachable("x", []string{"https://" + host + "/v1"}) == nil; open != (err == nil) {
			t.Errorf("%s: open %t, but the proxy says %v", host, open, err)
		}
	}
}
