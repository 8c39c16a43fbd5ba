//go:build unix

package test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/internal/testkit/evil"
	"github.com/perstack-go/perstack/internal/testkit/llm"
	"github.com/perstack-go/perstack/internal/testkit/node"
	"github.com/perstack-go/perstack/rawjson"
)

// S2: a server that wants a login, is none, or sends us elsewhere ends the run before a
// model is asked. The words say what to do, and the token goes nowhere else.
func TestRemoteRefused(t *testing.T) {
	const token = "tok-9fKx2LmQ8vTz4Wb8"
	var mu sync.Mutex
	var reached []string // what came to the other server
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		reached = append(reached, r.Method+" "+r.Header.Get("Authorization"))
	}))
	defer other.Close()
	login := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+other.URL+`/.well-known/oauth-protected-resource"`)
		w.WriteHeader(http.StatusUnauthorized)
	}
	tests := map[string]struct {
		serve http.HandlerFunc
		want  string
	}{
		"a wrong token": {login, "the server refuses access (401 Unauthorized); check the token in headers"},
		"a login":       {login, "the server asks for a login (OAuth), which this version cannot do; pass a token with headers"},
		"a redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL+"/mcp", http.StatusTemporaryRedirect)
		}, "which is another server; give the URL where it ends, if you trust it"},
		"a web page": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<h1>Welcome</h1>")
		}, "the server sent a web page: this is not the address of an MCP server; check the endpoint"},
		"an endpoint elsewhere": {func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodGet { // the older transport only
				w.WriteHeader(http.StatusMethodNotAllowed)
				return
			}
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "event: endpoint\ndata: %s/messages\n\n", other.URL)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}, "may be reached"},
	}
	for name, tt := range tests {
		for _, kind := range []string{"mcpHttpSkill", "mcpSseSkill"} {
			if name == "an endpoint elsewhere" && kind == "mcpHttpSkill" {
				continue
			}
			t.Run(name+" "+kind, func(t *testing.T) {
				server := httptest.NewServer(tt.serve)
				defer server.Close()
				dir, header := t.TempDir(), "Authorization"
				if name == "a login" {
					header = "X-Key" // no token of that kind was sent
				}
				write(t, filepath.Join(dir, "cassette.toml"), "[[turn]]\ntext = \"never asked\"\n")
				write(t, filepath.Join(dir, "perstack.toml"), fmt.Sprintf(`[provider]
providerName = "replay"
[provider.setting]
cassette = "cassette.toml"
[experts.user]
instruction = "Use the tools."
[experts.user.skills.far]
type = %q
endpoint = "%s/mcp"
allowPrivateEndpoint = true
requiredEnv = ["FAR_TOKEN"]
headers = { %s = "Bearer ${FAR_TOKEN}" }
`, kind, server.URL, header))
				cmd := exec.Command("perstack", "run", "user", "go")
				cmd.Dir, cmd.Env = dir, append(cmd.Environ(), "FAR_TOKEN="+token)
				var out, errs bytes.Buffer
				cmd.Stdout, cmd.Stderr = &out, &errs
				code := exitCode(t, cmd.Run())
				if code != 1 || !strings.Contains(errs.String(), `skill "far"`) || !strings.Contains(errs.String(), tt.want) {
					t.Errorf("exit code %d: %s", code, errs.String())
				}
				if strings.Contains(out.String()+errs.String(), token) {
					t.Error("the token is shown")
				}
				if strings.Contains(out.String(), "never asked") || !strings.Contains(out.String(), string("stopRunByError")) {
					t.Errorf("the run continued: %s", out.String())
				}
			})
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if len(reached) != 0 {
		t.Errorf("the other server got %q", reached)
	}
}

// With a lockfile a remote server is not even reached before the first call, over each
// transport; when it is, it is compared with the lock.
func TestNPMInstallRemote(t *testing.T) {
	for _, tt := range []struct{ transport, skill, path string }{
		{"streamableHttp", "mcpHttpSkill", "/mcp"},
		{"sse", "mcpSseSkill", "/sse"},
	} {
		t.Run(tt.transport, func(t *testing.T) {
			p := newNPMProject(t)
			var mu sync.Mutex
			requests, backend := 0, fmt.Sprintf("127.0.0.1:%d", p.serveEverything(t, tt.transport))
			proxy := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
				mu.Lock()
				defer mu.Unlock()
				requests++
				r.SetURL(&url.URL{Scheme: "http", Host: backend})
			}}
			front := httptest.NewServer(proxy)
			t.Cleanup(front.Close)
			t.Cleanup(front.CloseClientConnections)
			seen := func() int {
				mu.Lock()
				defer mu.Unlock()
				defer func() { requests = 0 }()
				return requests
			}
			skills := fmt.Sprintf(`[experts.user.skills.everything]
type = %q
endpoint = "%s%s"
allowPrivateEndpoint = true
`, tt.skill, front.URL, tt.path)
			p.run(t, skills) // writes the project
			if seen() == 0 {
				t.Error("without a lockfile the server was not asked for its tools")
			}
			if stdout, stderr, code := p.perstack(t, "install"); code != 0 || !strings.Contains(stdout, "Found") {
				t.Fatalf("exit code %d\n%s%s", code, stdout, stderr)
			}
			if seen() == 0 {
				t.Error("install asked no server")
			}
			p.run(t, skills)
			if n := seen(); n != 0 {
				t.Errorf("a run that calls no tool made %d requests", n)
			}
			o := p.run(t, skills, toolCall{"echo", "echo", `{"message":"it is me"}`})
			o.expect(t, "echo", false, "it is me")
			o.connected(t, "everything")

			// Another server answers there now.
			later := httptest.NewServer(http.NotFoundHandler())
			defer later.Close()
			mu.Lock()
			backend = strings.TrimPrefix(later.URL, "http://")
			mu.Unlock()
			front.CloseClientConnections()
			o = p.run(t, skills, toolCall{"echo", "echo", `{"message":"it is me"}`})
			o.expect(t, "echo", true, "everything")
		})
	}
}

// A real server with a long call under way: an interrupt ends call, server and run.
func TestNPMInterrupted(t *testing.T) {
	p := newNPMProject(t)
	write(t, filepath.Join(p.dir, "cassette.toml"), `[[turn]]
[[turn.call]]
tool = "trigger-long-running-operation"
argsText = '{"duration":3000,"steps":30000}'
[[turn]]
text = "Done."
`)
	write(t, filepath.Join(p.dir, "perstack.toml"), `[provider]
providerName = "replay"
[provider.setting]
cassette = "cassette.toml"
[experts.user]
instruction = "Use the tools."
[experts.user.skills.everything]
type = "mcpStdioSkill"
command = "npx"
packageName = "`+node.Everything+"@"+p.Version(t, node.Everything)+`"
`)
	cmd := exec.Command("perstack", "run", "user", "go")
	cmd.Dir, cmd.Env = p.dir, p.environ
	var out, errs lines
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	out.wait(t, `"`+string("toolProgress")+`"`)
	interrupt(t, cmd)
	if code := exitCode(t, cmd.Wait()); code != 130 {
		t.Errorf("exit code %d, want 130: %s", code, errs.String())
	}
	if !strings.Contains(out.String(), `"`+string("skillDisconnected")+`"`) {
		t.Error("the server was not left")
	}
}

// A model is shown the tools that pick and omit leave, under the names that are
// offered, with what servers hide in their texts made visible.
func TestModelSeesTools(t *testing.T) {
	script, err := llm.Parse("script", []byte("[[turn]]\ntext = \"Done.\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	base, stop := llm.New(script).Serve()
	defer stop()
	target, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var sent []byte
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: target.Scheme, Host: target.Host})
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		sent = body
		mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(w, r)
	}))
	defer front.Close()

	dir, program := t.TempDir(), evil.Program(t)
	write(t, filepath.Join(dir, "perstack.toml"), fmt.Sprintf(`model = "claude-sonnet-4-5"
[provider]
providerName = "anthropic"
[experts.user]
instruction = "Use the tools."
[experts.user.skills."@perstack/base"]
type = "mcpStdioSkill"
pick = ["attemptCompletion"]
[experts.user.skills.hidden]
type = "mcpStdioSkill"
command = %q
args = ["poisoned-unicode"]
pick = ["echo", "add"]
omit = ["add"]
[experts.user.skills."my skill"]
type = "mcpStdioSkill"
command = %q
args = ["poisoned-terminal"]
omit = ["fail"]
toolPrefix = true
`, program, program))
	cmd := exec.Command("perstack", "run", "user", "go", "--output", "text")
	cmd.Dir = dir
	cmd.Env = append(cmd.Environ(), "HOME="+dir, "ANTHROPIC_API_KEY="+llm.Key, "ANTHROPIC_BASE_URL="+front.URL+target.Path)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var request struct {
		Tools []struct {
			Name        string        `json:"name"`
			Description string        `json:"description"`
			Schema      rawjson.Value `json:"input_schema"`
		} `json:"tools"`
	}
	mu.Lock()
	defer mu.Unlock()
	if err := json.Unmarshal(sent, &request); err != nil {
		t.Fatal(err)
	}
	shown := make(map[string]string)
	var names []string
	for _, tool := range request.Tools {
		names = append(names, tool.Name)
		shown[tool.Name] = tool.Description
	}
	if want := []string{"attemptCompletion", "echo", "my_skill__echo", "my_skill__add"}; !slices.Equal(names, want) {
		t.Errorf("the model is shown %q, want %q", names, want)
	}
	if got := shown["echo"]; !strings.Contains(got, "<U+200B><U+2060><U+202E><U+E0072>") {
		t.Errorf("what is hidden is not shown: %q", got)
	}
	if got := shown["my_skill__echo"]; !strings.Contains(got, "<U+001B>") {
		t.Errorf("what steers a terminal is not shown: %q", got)
	}
	for _, bad := range []string{"\u200b", "\u2060", "\u202e", "\x1b", `\u001b`, `\u200b`, "\U000e0072"} {
		if bytes.Contains(sent, []byte(bad)) {
			t.Errorf("%q is in the request", bad)
		}
	}
}

// The program itself, and not only its parts: a client without the token, or that uses another name
// or is a web page, gets nothing; and it listens for this machine alone.
func TestHTTPServerGuard(t *testing.T) {
	s := serveHTTP(t, t.TempDir())
	const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	send := func(change func(*http.Request)) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url, strings.NewReader(initialize))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+s.token)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		change(r)
		response, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, string(body)
	}
	for name, tt := range map[string]struct {
		change func(*http.Request)
		code   int
	}{
		"as it should be": {func(*http.Request) {}, 200},
		"no token":        {func(r *http.Request) { r.Header.Del("Authorization") }, 401},
		"a wrong token":   {func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+strings.Repeat("A", 32)) }, 401},
		"another name":    {func(r *http.Request) { r.Host = "evil.example" }, 403},
		"a page":          {func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") }, 403},
		"a file":          {func(r *http.Request) { r.Header.Set("Origin", "null") }, 403},
	} {
		if code, body := send(tt.change); code != tt.code || (code == 200) != strings.Contains(body, "serverInfo") {
			t.Errorf("%s: status %d, want %d: %s", name, code, tt.code, body)
		}
	}

	at, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addresses {
		ip := a.(*net.IPNet).IP
		if ip.IsLoopback() || ip.To4() == nil {
			continue
		}
		if c, err := new(net.Dialer).DialContext(t.Context(), "tcp", net.JoinHostPort(ip.String(), at.Port())); err == nil {
			c.Close()
			t.Errorf("it listens on %s, too", ip)
		}
	}
}

func interrupt(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
}
