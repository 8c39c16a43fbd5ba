package skills

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
)

// far is an MCP server behind HTTP that wants a token.
func far(t *testing.T, token string) *httptest.Server {
	t.Helper()
	server := sdk.NewServer(&sdk.Implementation{Name: "far", Version: "1"}, nil)
	type words struct {
		Text string `json:"text"`
	}
	sdk.AddTool(server, &sdk.Tool{Name: "echo"}, func(_ context.Context, _ *sdk.CallToolRequest, in words) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: in.Text}}}, nil, nil
	})
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+token {
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// While a job plans, nothing is sent to a remote server.
func TestRemoteWhilePlanning(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		http.Error(w, "no", http.StatusForbidden)
	}))
	defer server.Close()
	remote := "type = 'mcpHttpSkill'\nendpoint = '" + server.URL + "/mcp'\nallowPrivateEndpoint = true\n"
	y := newFixture(t)
	e := load(t, head+"[experts.x.skills.far]\n"+remote)
	box, err := y.Open(t.Context(), engine.SkillRequest{Expert: e, Plan: true})
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	if _, _, ok := box.Lookup("proposePlan"); !ok || asked.Load() > 0 {
		t.Errorf("asked %d times; a plan can be proposed: %t", asked.Load(), ok)
	}
	e = load(t, head+"[experts.x.skills.'@perstack/base']\n"+remote)
	if _, err := y.Open(t.Context(), engine.SkillRequest{Expert: e, Plan: true}); err == nil || !strings.Contains(err.Error(), "is on another machine, and the job only plans") || asked.Load() > 0 {
		t.Errorf("asked %d times: %v", asked.Load(), err)
	}
	if _, err := y.Open(t.Context(), engine.SkillRequest{Expert: load(t, head+"[experts.x.skills.far]\n"+remote)}); err == nil || asked.Load() == 0 {
		t.Errorf("without a plan, asked %d times: %v", asked.Load(), err)
	}
}

// A remote server is reached with the headers of its skill, in which its own variables
// stand; one on this machine only if the skill says that it may be.
func TestRemote(t *testing.T) {
	const token = "${OTHER}-9fKx2LmQ8vTz4Wb8"
	server := far(t, token)
	skill := "[experts.x.skills.far]\ntype = 'mcpHttpSkill'\nendpoint = '" + server.URL + "/mcp'\nallowPrivateEndpoint = true\n" +
		"requiredEnv = ['FAR_TOKEN']\nheaders = { Authorization = 'Bearer ${FAR_TOKEN}' }\n"
	y := newFixture(t)
	y.env(func(name string) string { return map[string]string{"FAR_TOKEN": token}[name] })
	e := load(t, head+skill)
	box := y.open(t, e)
	if r := call(t, box, "echo", `{"text":"hi"}`); event.FirstText(r.Result) != "hi" {
		t.Errorf("%+v", r)
	}
	if !slices.Contains(y.reports(), "connected far") {
		t.Errorf("reports %q", y.reports())
	}

	// The same address without the permission, which no file can ask for.
	private := *e.Skills[len(e.Skills)-1]
	private.AllowPrivateEndpoint = false
	e.Skills[len(e.Skills)-1] = &private
	if _, err := y.start(t.Context(), e); err == nil || !strings.Contains(err.Error(), `skill "far"`) {
		t.Errorf("without allowPrivateEndpoint: %v", err)
	}

	// A wrong token is the server's own refusal.
	private.AllowPrivateEndpoint = true
	y.env(func(string) string { return "wrong" })
	if _, err := y.start(t.Context(), e); err == nil || !strings.Contains(err.Error(), "403") {
		t.Errorf("with a wrong token: %v", err)
	}
}
