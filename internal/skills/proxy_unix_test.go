//go:build unix

package skills

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/testkit/evil"
)

// proxyNames are the variables by which programs find a proxy.
var proxyNames = []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"}

// environOf starts a server that first writes its environment down.
func environOf(t *testing.T, y *fixture, more string) []string {
	t.Helper()
	file := filepath.Join(y.dir, "environment")
	y.open(t, load(t, head+server("sh", "web", more, "-c", "env >"+file+"; exec "+evil.Program(t)+" good")))
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(string(data), "\n")
}

// Each server is shown its own listener, whatever the user's variables say; commands that of
// the base skill.
func TestListeners(t *testing.T) {
	y := newFixture(t)
	y.Parts.Environ = append(y.Parts.Environ, "HTTPS_PROXY=http://corporate:3128", "NO_PROXY=*")
	y.env(func(name string) string { return "http://mine:1" })
	listener := func(skill string) string { return "http://perstack:token-of-" + skill + "@10.9.8.7:4001" }
	y.Parts.Container = &engine.Container{
		Proxies: map[string]string{},
		Env:     map[string]string{"NPM_TOKEN": "handed", "HTTP_PROXY": "http://other:1"},
	}
	for _, name := range []string{"web", expert.BaseSkill} {
		y.Parts.Container.Proxies[engine.ProxyName("x", name)] = listener(name)
	}

	got := environOf(t, y, "requiredEnv = ['CORPORATE_URL']\n")
	for _, name := range proxyNames {
		if want := name + "=" + listener("web"); !slices.Contains(got, want) {
			t.Errorf("the server lacks %s: %q", want, got)
		}
	}
	for _, want := range []string{"NO_PROXY=localhost,127.0.0.1,::1", "no_proxy=localhost,127.0.0.1,::1", "CORPORATE_URL=http://mine:1"} {
		if !slices.Contains(got, want) {
			t.Errorf("the server lacks %s: %q", want, got)
		}
	}
	if slices.Contains(got, "NPM_TOKEN=handed") {
		t.Error("the server was given what belongs to commands")
	}

	box := y.open(t, load(t, head))
	said := fmt.Sprint(call(t, box, "exec", `{"command":"env","env":{"HTTPS_PROXY":"http://elsewhere:1"}}`).Result)
	for _, name := range proxyNames {
		if want := name + "=" + listener("@perstack/base"); !strings.Contains(said, want) {
			t.Errorf("commands lack %s: %s", want, said)
		}
	}
	if !strings.Contains(said, "NPM_TOKEN=handed") || strings.Contains(said, "token-of-web") || strings.Contains(said, "elsewhere") {
		t.Errorf("commands see %s", said)
	}
}

// Without listeners nothing is set, and what is harmless of the user's own proxy stays.
func TestNoListeners(t *testing.T) {
	y := newFixture(t)
	y.Parts.Environ = []string{"PATH=" + os.Getenv("PATH"), "HTTPS_PROXY=http://user:password@corporate:3128"}
	var seen []string
	for _, v := range environOf(t, y, "") {
		if strings.Contains(strings.ToUpper(v), "PROXY") {
			seen = append(seen, v)
		}
	}
	if !slices.Equal(seen, []string{"HTTPS_PROXY=http://corporate:3128"}) {
		t.Errorf("the server sees %q", seen)
	}
}

// Remote servers are asked of the proxy, and nothing else is dialled.
func TestRemoteThroughAProxy(t *testing.T) {
	y := newFixture(t)
	proxy, asked := refusingProxy(t)
	y.Parts.Container = &engine.Container{Proxy: proxy.String()}
	_, err := y.start(t.Context(), load(t, head+"[experts.x.skills.far]\ntype = 'mcpHttpSkill'\nendpoint = 'https://mcp.example.com/mcp'\n"))
	if err == nil || !strings.Contains(err.Error(), "the proxy refuses mcp.example.com:443") {
		t.Errorf("error %v", err)
	}
	if got := <-asked; got != "CONNECT mcp.example.com:443" {
		t.Errorf("the proxy was asked %q", got)
	}
}
