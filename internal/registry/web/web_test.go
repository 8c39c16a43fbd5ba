package web_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/definition"
	"github.com/perstack-go/perstack/internal/registry/httpapi"
	"github.com/perstack-go/perstack/internal/registry/server"
	"github.com/perstack-go/perstack/internal/registry/web"
	"github.com/perstack-go/perstack/internal/testkit/realregistry"
)

// start serves a registry with its pages.
func start(t *testing.T) *realregistry.Registry {
	t.Helper()
	return realregistry.Start(t, realregistry.Options{HTTP: func(o *httpapi.Options) {
		pages, err := web.New(web.Options{Registry: o.Registry, Logger: slog.New(slog.DiscardHandler), URL: "https://registry.example"})
		if err != nil {
			t.Fatal(err)
		}
		o.Pages = pages
	}})
}

// define returns a definition that can be published.
func define(key string, change func(*definition.Definition)) *definition.Definition {
	name, version, _ := strings.Cut(key[1:], "@")
	d := &definition.Definition{
		Schema: definition.Schema, Name: key[:1] + name, Version: version, MinRuntimeVersion: "v1.0", Description: "Looks things up.", Instruction: "Look it up.",
		Skills: map[string]definition.Skill{expert.BaseSkill: {Type: expert.StdioSkill, Command: "npx", PackageName: expert.BaseSkill}},
	}
	if change != nil {
		change(d)
	}
	return d
}

// publish publishes definitions as @acme.
func publish(t *testing.T, r *realregistry.Registry, all ...*definition.Definition) {
	t.Helper()
	by, err := r.Core.Authenticate(t.Context(), r.Key("acme", server.Team), netip.MustParseAddr("127.0.0.1"))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range all {
		if _, err = r.Core.Publish(t.Context(), by, api.Publish{Content: d.Encode()}, server.PublishOptions{}); err != nil {
			t.Fatalf("%s: %v", d.Key(), err)
		}
	}
}

// team publishes an Expert in two versions, with what it delegates to.
func team(t *testing.T, r *realregistry.Registry) {
	publish(t, r,
		define("@acme/finder@1.0.0", nil),
		define("@acme/researcher@1.0.0", func(d *definition.Definition) {
			d.Delegates = []string{"@acme/finder"}
			d.Extensions.Readme = "# Use\n\nAsk it *anything*."
		}),
		define("@acme/researcher@1.1.0", func(d *definition.Definition) {
			d.Delegates = []string{"@acme/finder"}
			d.Instruction = "Look it up twice."
			d.Extensions.Keywords = []string{"science"}
			d.Skills["web"] = definition.Skill{Type: expert.StdioSkill, Command: "npx", PackageName: "web-search@2.1.0", RequiredEnv: []string{"SEARCH_TOKEN"}}
		}),
	)
}

func get(t *testing.T, r *realregistry.Registry, method, path string) (status int, header http.Header, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, r.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := r.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, response.Header, string(text)
}

func TestPages(t *testing.T) {
	r := start(t)
	if _, _, body := get(t, r, http.MethodGet, "/"); !strings.Contains(body, "Nothing is published here yet.") {
		t.Error("an empty registry:", body)
	}
	team(t, r)
	for _, tt := range []struct {
		path   string
		status int
		want   []string
		not    []string
	}{
		{"/", 200, []string{`href="/e/@acme/researcher"`, "1.1.0", `href="/o/acme"`}, []string{"Nothing is published"}},
		{"/?q=science", 200, []string{"@acme/researcher", `value="science"`}, []string{"@acme/finder"}},
		{"/?q=nothing-like-this", 200, []string{"No Expert has these words"}, []string{"@acme/"}},
		{"/e/@acme/researcher", 200, []string{"Look it up twice.", "SEARCH_TOKEN", "web-search@2.1.0", "<svg", "/compare/1.0.0...1.1.0", "registry audit https://registry.example"}, []string{"The latest version is"}},
		{"/e/%40acme%2Fresearcher@1.0.0", 200, []string{"<h3>Use</h3>", "Ask it <em>anything</em>", "The latest version is"}, []string{"SEARCH_TOKEN"}},
		{"/e/@acme/finder", 200, []string{"Delegated to by", `href="/e/@acme/researcher"`}, []string{"<svg"}},
		{"/e/@acme/researcher/compare/1.0.0...1.1.0", 200, []string{"SEARCH_TOKEN", `class="added" dir="auto">&#43;Look it up twice.`, `class="removed" dir="auto">-Look it up.`}, nil},
		{"/e/@acme/researcher/compare/1.0.0...1.0.0", 200, []string{"Both can do the same.", "Both say the same."}, nil},
		{"/o/acme", 200, []string{"@acme/researcher", "@acme/finder"}, nil},
		{"/log", 200, []string{"publish", "name @acme/researcher", "registry.example/log"}, nil},
		{"/log?before=1", 200, []string{`id="leaf-0"`}, []string{`id="leaf-1"`}},
		{"/static/style.css", 200, []string{"prefers-color-scheme"}, nil},
		{"/e/@acme/none", 404, []string{"Not Found", "Expert not found"}, nil},
		{"/e/@acme/researcher@9.9.9", 404, nil, nil},
		{"/e/@acme/researcher/compare/1.0.0...x", 404, nil, nil},
		{"/e/..%2f..%2fx", 404, nil, nil},
		{"/o/none", 404, nil, nil},
		{"/static/../web.go", 404, nil, nil},
		{"/nothing", 404, []string{"There is no such page"}, nil},
	} {
		t.Run(tt.path, func(t *testing.T) {
			status, header, body := get(t, r, http.MethodGet, tt.path)
			if status != tt.status {
				t.Fatalf("status %d:\n%s", status, body)
			}
			if csp := header.Get("Content-Security-Policy"); !strings.HasPrefix(csp, "default-src 'none'; style-src 'self';") || strings.Contains(csp, "unsafe") {
				t.Errorf("policy %q", csp)
			}
			for _, want := range tt.want {
				if !strings.Contains(body, want) {
					t.Errorf("%q is missing in:\n%s", want, body)
				}
			}
			for _, not := range tt.not {
				if strings.Contains(body, not) {
					t.Errorf("%q is in:\n%s", not, body)
				}
			}
		})
	}
	if status, header, _ := get(t, r, http.MethodPost, "/"); status != http.StatusMethodNotAllowed || header.Get("Allow") == "" {
		t.Errorf("a change: %d", status)
	}
	if status, _, body := get(t, r, http.MethodGet, api.V1+"/nothing"); status != http.StatusNotFound || !strings.HasPrefix(body, "{") {
		t.Errorf("the API answers with a page: %d %s", status, body)
	}
}

// Whatever was published: a page has our elements and attributes, and no address but ours and those that it
// shows.
func TestHostileContent(t *testing.T) {
	const hostile = `"><script>alert(1)</script><img src=x onerror=alert(1)><a href="javascript:alert(1)">x</a>{{.}}</pre></main>`
	r := start(t)
	publish(t, r, define("@acme/evil@1.0.0", func(d *definition.Definition) {
		d.Description, d.Instruction = hostile, hostile+strings.Repeat("long", 2000)
		d.Extensions.Readme = hostile + "\n\n[click](javascript:alert(1)) [fine](https://elsewhere.example/?a=1&b=2)\n\n| a |\n|---|\n| <b onclick=x> |\n"
		d.Extensions.License, d.Extensions.Keywords = hostile, []string{"key"}
		d.Skills["x"] = definition.Skill{Type: expert.StdioSkill, Command: "npx", PackageName: "x@1.0.0", Description: hostile, Rule: hostile}
	}), define("@acme/evil@1.0.1", nil))
	for _, path := range []string{"/", "/?q=" + "%22%3E%3Cscript%3Ealert(1)%3C/script%3E", "/e/@acme/evil@1.0.0", "/e/@acme/evil/compare/1.0.0...1.0.1", "/o/acme", "/log", "/e/%22%3E%3Cscript%3E"} {
		_, _, body := get(t, r, http.MethodGet, path)
		z := html.NewTokenizer(strings.NewReader(body))
		for kind := z.Next(); kind != html.ErrorToken; kind = z.Next() {
			token := z.Token()
			if kind != html.StartTagToken && kind != html.SelfClosingTagToken {
				continue
			}
			if token.Data == "script" || token.Data == "img" || token.Data == "b" || token.Data == "style" || token.Data == "iframe" {
				t.Errorf("%s: element %s", path, token.Data)
			}
			for _, a := range token.Attr {
				switch {
				case strings.HasPrefix(a.Key, "on"), a.Key == "style", a.Key == "src":
					t.Errorf("%s: attribute %s", path, a.Key)
				case a.Key == "href" && strings.HasPrefix(a.Val, "https://elsewhere.example/"):
					if !strings.Contains(token.String(), `rel="nofollow ugc`) {
						t.Errorf("%s: %s", path, token)
					}
				case a.Key == "href" && !strings.HasPrefix(a.Val, "/") && a.Val != "#main":
					t.Errorf("%s: address %s", path, a.Val)
				}
			}
		}
	}
}

// A private Expert is on no page.
func TestPrivate(t *testing.T) {
	r := start(t)
	by, err := r.Core.Authenticate(t.Context(), r.Key("acme", server.Team), netip.MustParseAddr("127.0.0.1"))
	if err != nil {
		t.Fatal(err)
	}
	hidden := api.Publish{Content: define("@acme/hidden@1.0.0", nil).Encode(), Visibility: api.Private}
	if _, err = r.Core.Publish(t.Context(), by, hidden, server.PublishOptions{}); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{"/": 200, "/?q=hidden": 200, "/e/@acme/hidden": 404, "/e/@acme/hidden@1.0.0": 404, "/o/acme": 200, "/log": 200} {
		if status, _, body := get(t, r, http.MethodGet, path); status != want || strings.Contains(body, "@acme/hidden") {
			t.Errorf("%s: %d\n%s", path, status, body)
		}
	}
}

// What a page shows of what anybody published or asked for is bounded.
func TestBoundedPages(t *testing.T) {
	r := start(t)
	tools := func(word string) func(d *definition.Definition) {
		return func(d *definition.Definition) { d.Instruction = strings.Repeat(word+"\n", 5_000) }
	}
	publish(t, r, define("@acme/long@1.0.0", tools("a")), define("@acme/long@1.1.0", tools("b")))
	status, _, body := get(t, r, http.MethodGet, "/e/@acme/long/compare/1.0.0...1.1.0")
	if lines := strings.Count(body, "<span class="); status != http.StatusOK || lines != 2000 || !strings.Contains(body, "There are more lines.") {
		t.Errorf("%d: %d lines", status, lines)
	}
	for path, want := range map[string]int{"/?q=" + strings.Repeat("a", 256): http.StatusOK, "/?q=" + strings.Repeat("a", 257): http.StatusBadRequest} {
		if status, _, _ := get(t, r, http.MethodGet, path); status != want {
			t.Errorf("%d characters: %d", len(path), status)
		}
	}
}
