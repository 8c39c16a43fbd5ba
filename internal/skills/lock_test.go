package skills

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/egress"
	"github.com/perstack-go/perstack/internal/lockfile"
	"github.com/perstack-go/perstack/internal/skills/mcp"
	"github.com/perstack-go/perstack/internal/testkit/evil"
	"github.com/perstack-go/perstack/rawjson"
)

// install makes a lock of what the servers of an Expert offer now.
func (y *fixture) install(t *testing.T, e *expert.Expert) *lockfile.Lock {
	t.Helper()
	locked := &lockfile.Expert{Key: e.Key, Name: e.Name}
	for _, k := range e.Servers() {
		s, err := y.Discover(t.Context(), "x", k, nil, y.req.Report)
		if err != nil {
			t.Fatal(err)
		}
		locked.Skills = append(locked.Skills, s)
	}
	return &lockfile.Lock{Experts: []*lockfile.Expert{locked}}
}

func TestDiscover(t *testing.T) {
	program, y := evil.Program(t), newFixture(t)
	e := load(t, head+server(program, "calc", "lazyInit = true\npick = ['echo']\n", "good"))
	lock := y.install(t, e)
	s := lock.Experts[0].Skills[0]
	var got []string
	for _, tool := range s.Tools {
		got = append(got, tool.Name)
		if again, err := lockfile.ParseTool(tool.Definition); err != nil || len(tool.Digest) != 64 || tool.Digest != again.Digest {
			t.Errorf("%s: digest %q, %v", tool.Name, tool.Digest, err)
		}
	}
	if !slices.Equal(got, []string{"echo", "add", "fail"}) {
		t.Errorf("tools %q; what pick leaves out is locked as well", got)
	}
	k, _ := e.Skill("calc")
	if s.Name != "calc" || s.Digest != k.Connection() || s.Package != nil {
		t.Errorf("%+v", s)
	}
}

// One reader: what a lockfile holds of a tool is what a live server offers, however odd
// its definition is. What one of them refuses, the other does not have.
func TestLiveIsLocked(t *testing.T) {
	const schema = `"inputSchema":{"type":"object","properties":{"b":{"maximum":1.0},"a":{}}}`
	var all []string
	for i, more := range []string{
		``, `"title":5`, `"title":null`, `"title":"T","annotations":{"title":"other"}`, `"annotations":{"title":"A"}`, `"annotations":{"title":7,"readOnlyHint":true}`,
		`"description":["x"]`, `"description":null`, `"description":"d\u200bd"`, `"annotations":{"readOnlyHint":true}`, `"annotations":{"readOnlyHint":"true"}`,
		`"annotations":{"readOnlyHint":1,"idempotentHint":true}`, `"annotations":{"idempotentHint":true}`, `"annotations":[true]`, `"annotations":"no"`,
		`"annotations":{"READONLYHINT":true}`, `"outputSchema":5`, `"outputSchema":{"type":"object"},"icons":[1]`, `"Title":"upper"`,
	} {
		if more != "" {
			more = "," + more
		}
		all = append(all, fmt.Sprintf(`{"name":"tool%d",%s%s}`, i, schema, more))
	}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     rawjson.Value `json:"id"`
			Method string        `json:"method"`
		}
		if r.Method != http.MethodPost || json.UnmarshalRead(r.Body, &m) != nil {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		switch m.Method {
		case "initialize":
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}}`, m.ID)
		case "tools/list":
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[%s]}}`, m.ID, strings.Join(all, ","))
		case "notifications/initialized":
			w.WriteHeader(http.StatusAccepted)
		default:
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, m.ID)
		}
	}))
	t.Cleanup(web.Close)
	origin, err := url.Parse(web.URL)
	if err != nil {
		t.Fatal(err)
	}
	s := mcp.New(mcp.Options{
		Name:   "odd",
		Remote: &mcp.Remote{Endpoint: web.URL, Client: egress.Client(egress.Policy{Origin: origin, AllowPrivate: true})},
		Report: func(event.Body) {},
		Redact: func(text string) string { return text },
		Now:    time.Now,
		Log:    slog.New(slog.DiscardHandler),
	})
	defer s.Close()
	live, err := s.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	definitions, err := s.Definitions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tools := make([]lockfile.Tool, len(definitions))
	for i, d := range definitions {
		if tools[i], err = lockfile.ParseTool(d); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(live, LockedTools(&lockfile.Skill{Tools: tools})); diff != "" {
		t.Errorf("live and locked differ:\n%s", diff)
	}
	if len(live) != len(all)-2 { // a title and a description that are no text
		t.Errorf("%d tools of %d", len(live), len(all))
	}
	for _, tool := range live {
		if want := map[string]string{"tool3": "T", "tool4": "A"}[tool.Name]; tool.Title != want {
			t.Errorf("%s has the title %q, want %q", tool.Name, tool.Title, want)
		}
		if want := tool.Name == "tool9" || tool.Name == "tool12"; tool.Repeatable != want {
			t.Errorf("%s: repeatable %t", tool.Name, tool.Repeatable)
		}
	}
}

// With a lockfile nothing is started until a tool is called.
func TestLockedStartsAtFirstUse(t *testing.T) {
	program, y := evil.Program(t), newFixture(t)
	e := load(t, head+server(program, "calc", "", "good"))
	y.Lock = y.install(t, e)
	y.told = nil
	box := y.open(t, e)
	if got := y.reports(); !slices.Equal(got, []string{"connected " + expert.BaseSkill}) {
		t.Errorf("before the first call: %q", got)
	}
	if !slices.Contains(names(box), "add") {
		t.Errorf("tools %q", names(box))
	}
	if r := call(t, box, "add", `{"a":40,"b":2}`); event.FirstText(r.Result) != "42" {
		t.Errorf("%+v", r)
	}
	if got := y.reports(); !slices.Contains(got, "connected calc") {
		t.Errorf("after the first call: %q", got)
	}
}

// M12: a server that offers something else than when it was installed ends the run, and
// its tool is not called.
func TestRugPull(t *testing.T) {
	program, y := evil.Program(t), newFixture(t)
	e := load(t, head+server(program, "calc", "", "rug-pull", "--state", filepath.Join(y.dir, "state")))
	y.Lock = y.install(t, e)
	box := y.open(t, e)
	if r, err := box.Call(t.Context(), event.ToolCall{ID: "c", ToolName: "echo", Args: rawjson.Value(`{"text":"hi"}`)}); err == nil && !r.IsError {
		t.Errorf("the call gave %+v", r)
	}
	if err := <-y.stopped; !strings.Contains(err.Error(), "~ echo") {
		t.Errorf("error %v does not show the difference", err)
	}
}

// A lock that does not fit what is declared starts nothing.
func TestLockDoesNotFit(t *testing.T) {
	program, y := evil.Program(t), newFixture(t)
	lock := y.install(t, load(t, head+server(program, "calc", "", "good")))
	for name, toml := range map[string]string{
		"another skill":   server(program, "other", "", "good"),
		"another command": server(program, "calc", "", "shadow"),
	} {
		y.Lock = lock
		if _, err := y.start(t.Context(), load(t, head+toml)); !errors.As(err, new(*LockError)) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	y.Lock = &lockfile.Lock{}
	if _, err := y.start(t.Context(), load(t, head+server(program, "calc", "", "good"))); !errors.As(err, new(*LockError)) {
		t.Errorf("another expert: error %v", err)
	}
	// The lock names another package than the file.
	e := load(t, head+server("npx", "p", "", "@a/b"))
	k, _ := e.Skill("p")
	for _, p := range []*lockfile.Package{nil, {Manager: "npx", Name: "@evil/b", Version: "1.0.0"}, {Manager: "uvx", Name: "@a/b"}} {
		y.Lock = &lockfile.Lock{Experts: []*lockfile.Expert{{Key: "x", Skills: []*lockfile.Skill{{Name: "p", Digest: k.Connection(), Package: p}}}}}
		if _, err := y.start(t.Context(), e); !errors.As(err, new(*LockError)) {
			t.Errorf("package %+v: error %v", p, err)
		}
	}
}
