package serve_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/perstack-go/perstack/internal/skills/mcp/serve"
	"github.com/perstack-go/perstack/skill"
)

func TestIdentity(t *testing.T) {
	for _, version := range []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"} {
		request := strings.Replace(hello, "2025-06-18", version, 1)
		s := &tools{}
		w := start(t.Context(), t, s, skill.Filter{})
		go func() {
			_, _ = w.in.Write([]byte(request))
			_ = w.in.Close()
		}()
		want := `{"capabilities":{"tools":{"listChanged":true}},"protocolVersion":"` + version + `","serverInfo":{"name":"@perstack/base","version":"1.2.3"}}`
		if all := read(t, w.out); len(all) != 1 || string(all[0].Result) != want {
			t.Errorf("%s: %s, want %s", version, all[0].Result, want)
		}
		if err := <-w.done; err != nil || s.closed != 1 {
			t.Errorf("ended with %v, closed %d times", err, s.closed)
		}
	}
}

// What is filtered out is neither listed nor called; the rest stays in order.
func TestPickAndOmit(t *testing.T) {
	tests := []struct {
		filter skill.Filter
		want   string
	}{
		{skill.Filter{}, "zeta echo wait meet note parts odd broken boom alpha"},
		{skill.Filter{Pick: []string{"alpha", "zeta"}}, "zeta alpha"},
		{skill.Filter{Omit: []string{"wait", "meet", "note", "parts", "odd", "broken", "boom"}}, "zeta echo alpha"},
		{skill.Filter{Pick: []string{"zeta", "echo"}, Omit: []string{"echo"}}, "zeta"},
		{skill.Filter{Pick: []string{"nothing"}}, ""},
	}
	for _, tt := range tests {
		session := connect(t, start(t.Context(), t, &tools{}, tt.filter), nil)
		list, err := session.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, tool := range list.Tools {
			names = append(names, tool.Name)
		}
		if got := strings.Join(names, " "); got != tt.want {
			t.Errorf("%+v: %s, want %s", tt.filter, got, tt.want)
		}
		for _, name := range []string{"zeta", "echo", "alpha", "nothing"} {
			_, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: map[string]any{}})
			if offered := slices.Contains(names, name); offered != (err == nil) {
				t.Errorf("%+v: call of %s: %v", tt.filter, name, err)
			}
		}
		if err := session.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestResults(t *testing.T) {
	tests := []struct{ params, want string }{
		{`{"name":"echo","arguments":{"a":[1,"é"]}}`, `{"content":[{"type":"text","text":"{\"a\":[1,\"é\"]}"}]}`},
		{`{"name":"echo"}`, `{"content":[{"type":"text","text":"{}"}]}`},
		{`{"name":"broken"}`, `{"content":[{"type":"text","text":"Error: transport closed"}],"isError":true}`},
		{`{"name":"boom"}`, `{"content":[{"type":"text","text":"Error: the tool boom failed inside: boom"}],"isError":true}`},
		{`{"name":"odd"}`, `{"content":[{"type":"text","text":"Error: the result holds a imageUrlPart, which cannot be sent"}],"isError":true}`},
		{`{"name":"parts"}`, `{"content":[{"type":"text","text":"{}"},{"type":"image","mimeType":"image/png","data":"aW1hZ2U="},` +
			`{"type":"resource","resource":{"uri":"urn:perstack:part:2","mimeType":"application/pdf","blob":"ZmlsZQ=="}}]}`},
	}
	for _, tt := range tests {
		all := converse(t, &tools{}, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":`+tt.params+`}`)
		if len(all) != 1 || string(all[0].ID) != "7" || string(all[0].Result) != tt.want {
			t.Errorf("%s: %+v\n got %s\nwant %s", tt.params, all, all[0].Result, tt.want)
		}
	}
	all := converse(t, &tools{}, `{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"gone","arguments":{}}}`)
	if len(all) != 1 || all[0].Error == nil || all[0].Error.Code != -32602 || !strings.Contains(all[0].Error.Message, `unknown tool "gone"`) {
		t.Errorf("unknown tool: %+v", all)
	}
}

func TestProgress(t *testing.T) {
	var notes []string
	seen := make(chan bool, 2)
	w := start(t.Context(), t, &tools{}, skill.Filter{})
	session := connect(t, w, &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
		p := req.Params
		notes = append(notes, fmt.Sprintf("%v %g %s", p.ProgressToken, p.Progress, p.Message))
		seen <- true
	}})
	params := &mcp.CallToolParams{Name: "note", Arguments: map[string]any{}}
	if _, err := session.CallTool(t.Context(), params); err != nil { // no notes were requested
		t.Fatal(err)
	}
	params.SetProgressToken("p1")
	if _, err := session.CallTool(t.Context(), params); err != nil {
		t.Fatal(err)
	}
	<-seen
	<-seen
	if got := strings.Join(notes, ", "); got != "p1 1 half done, p1 2 nearly done" {
		t.Errorf("notes: %s", got)
	}
	if err := session.Close(); err != nil {
		t.Error(err)
	}
}

// A client sees no secret: not in results, notes or errors, and not in a file.
func TestRedaction(t *testing.T) {
	requests := hello
	for id, call := range []string{
		`{"name":"echo","arguments":{"key":"hunter2"}}`,
		`{"_meta":{"progressToken":"p"},"name":"note","arguments":{}}`,
		`{"name":"parts"}`,
		`{"name":"broken"}`,
	} {
		requests += fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":%s}`+"\n", id+1, call)
	}
	var out strings.Builder
	hide := strings.NewReplacer("hunter2", "[hidden]", "aW1hZ2U=", "[hidden]", "half", "[hidden]", "transport", "[hidden]")
	err := serve.Run(t.Context(), &tools{}, serve.Options{
		Name: "x", Version: "1", In: strings.NewReader(requests), Out: &out, Redact: hide.Replace, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	got := out.String()
	for _, secret := range []string{"hunter2", "aW1hZ2U=", "half", "transport"} {
		if strings.Contains(got, secret) {
			t.Errorf("the client sees %s: %s", secret, got)
		}
	}
	for _, part := range []string{`{\"key\":\"[hidden]\"}`, "[hidden] done", "Error: [hidden] closed", "its data contains a secret"} {
		if !strings.Contains(got, part) {
			t.Errorf("%q is missing: %s", part, got)
		}
	}
}

// A client that cancels a call stops that call and no other.
func TestCancel(t *testing.T) {
	s := &tools{begun: make(chan string, 2)}
	session := connect(t, start(t.Context(), t, s, skill.Filter{}), nil)
	wait := &mcp.CallToolParams{Name: "wait", Arguments: map[string]any{}}
	one, cancel := context.WithCancel(t.Context())
	first, second := make(chan error, 1), make(chan error, 1)
	go func() { _, err := session.CallTool(one, wait); first <- err }()
	stopping := <-s.begun
	two, cancelSecond := context.WithCancel(t.Context())
	go func() { _, err := session.CallTool(two, wait); second <- err }()
	<-s.begun
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled call: %v", err)
	}
	for { // the server stops it when it hears of it
		s.mu.Lock()
		stopped := slices.Clone(s.stopped)
		s.mu.Unlock()
		if len(stopped) > 0 {
			if !slices.Equal(stopped, []string{stopping}) {
				t.Errorf("stopped %v, want %s", stopped, stopping)
			}
			break
		}
	}
	if _, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{}}); err != nil {
		t.Errorf("the server serves no more: %v", err)
	}
	cancelSecond()
	<-second
	if err := session.Close(); err != nil {
		t.Error(err)
	}
}

func TestParallelCalls(t *testing.T) {
	s := &tools{}
	s.met.Add(2)
	session := connect(t, start(t.Context(), t, s, skill.Filter{}), nil)
	done := make(chan error, 2)
	for range 2 {
		go func() {
			_, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "meet", Arguments: map[string]any{}})
			done <- err
		}()
	}
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if err := session.Close(); err != nil {
		t.Error(err)
	}
}

// A client that closes the stream in the middle of a call ends the server: the call is
// stopped, gets its answer, and that is no failure.
func TestEndOfStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &tools{begun: make(chan string, 1)}
		all := converse(t, s, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait"}}`)
		if len(s.stopped) != 1 || s.closed != 1 {
			t.Errorf("stopped %v, closed %d times", s.stopped, s.closed)
		}
		if len(all) != 1 || string(all[0].Result) != `{"content":[{"type":"text","text":"stopped"}],"isError":true}` {
			t.Errorf("answers %+v", all)
		}
	})
}

var errEnough = errors.New("enough")

// A client of the newest protocol that listens for news does not hold up the end.
func TestListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		w := start(t.Context(), t, &tools{}, skill.Filter{})
		session := connect(t, w, &mcp.ClientOptions{ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {}})
		if _, err := session.ListTools(t.Context(), nil); err != nil {
			t.Error(err)
		}
		if err := session.Close(); err != nil {
			t.Error(err)
		}
		if err := <-w.done; err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took != 0 { // of the bubble's clock
			t.Errorf("the server waited %v for its end", took)
		}
	})
}

// The program that runs the server can end it; running calls are stopped, and answered.
func TestCancelledServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &tools{begun: make(chan string, 1)}
		ctx, cancel := context.WithCancelCause(t.Context())
		w := start(ctx, t, s, skill.Filter{})
		go func() {
			_, _ = w.in.Write([]byte(hello + `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait"}}` + "\n"))
		}()
		go func() {
			<-s.begun
			cancel(errEnough)
		}()
		if all := read(t, w.out); len(all) != 2 || string(all[1].Result) != `{"content":[{"type":"text","text":"stopped"}],"isError":true}` {
			t.Errorf("answers %+v", all)
		}
		if err := <-w.done; !errors.Is(err, errEnough) {
			t.Errorf("ended with %v", err)
		}
		if len(s.stopped) != 1 || s.closed != 1 {
			t.Errorf("stopped %v, closed %d times", s.stopped, s.closed)
		}
	})
}

// A client that neither reads nor closes cannot keep a cancelled server alive.
func TestDeafClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		w := start(ctx, t, &tools{}, skill.Filter{})
		go func() { _, _ = w.in.Write([]byte(hello)) }()
		synctest.Wait() // the answer to hello waits for a reader
		cancel(errEnough)
		if err := <-w.done; !errors.Is(err, errEnough) {
			t.Errorf("ended with %v", err)
		}
		w.out.Close() // lets the write end: a bubble waits for its goroutines
		w.in.Close()
	})
}
