package serve_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/skills/mcp/serve"
	"github.com/perstack-go/perstack/rawjson"
	"github.com/perstack-go/perstack/skill"
)

// tools is a skill whose tools do what a client must be able to cope with.
type tools struct {
	mu      sync.Mutex
	begun   chan string // a call of "wait" or "meet" has begun
	waiting int         // calls of "wait" that run
	most    int         // of them at once
	stopped []string    // calls of "wait" that were told to end
	met     sync.WaitGroup
	closed  int
}

func (s *tools) Name() string { return "tools" }

func (s *tools) Tools(context.Context) ([]skill.Tool, error) {
	var list []skill.Tool
	for _, name := range []string{"zeta", "echo", "wait", "meet", "note", "parts", "odd", "broken", "boom", "alpha"} {
		list = append(list, skill.Tool{Name: name, InputSchema: rawjson.Value(`{"type":"object"}`)})
	}
	return list, nil
}

func (s *tools) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed++
	return nil
}

func (s *tools) Call(ctx context.Context, call event.ToolCall) (event.ToolResult, error) {
	text := func(t string) event.Part { return event.Part{Type: event.TextPart, Text: t} }
	switch call.ToolName {
	case "wait":
		s.mu.Lock()
		s.waiting++
		s.most = max(s.most, s.waiting)
		s.mu.Unlock()
		s.begun <- call.ID
		<-ctx.Done()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.waiting--
		s.stopped = append(s.stopped, call.ID)
		return event.ToolResult{Result: []event.Part{text("stopped")}, IsError: true}, nil
	case "meet": // each waits for the other
		s.met.Done()
		s.met.Wait()
	case "note":
		skill.Report(ctx, "half done")
		skill.Report(ctx, "nearly done")
	case "parts":
		return event.ToolResult{Result: []event.Part{
			text("{}"),
			{Type: event.ImageInlinePart, EncodedData: "aW1hZ2U=", MIMEType: "image/png"},
			{Type: event.FileInlinePart, EncodedData: "ZmlsZQ==", MIMEType: "application/pdf"},
		}}, nil
	case "odd":
		return event.ToolResult{Result: []event.Part{{Type: event.ImageURLPart, URL: "https://example.com/x.png"}}}, nil
	case "broken":
		return event.ToolResult{}, errors.New("transport closed")
	case "boom":
		panic("boom")
	}
	return event.ToolResult{Result: []event.Part{text(string(call.Args))}}, nil
}

// wires are the two streams of a server.
type wires struct {
	in   io.WriteCloser // to the server
	out  io.ReadCloser  // from it
	done chan error     // how it ended
}

// start serves a skill over pipes.
func start(ctx context.Context, t *testing.T, s skill.Skill, filter skill.Filter) *wires {
	t.Helper()
	fromClient, in := io.Pipe()
	out, toClient := io.Pipe()
	w := &wires{in: in, out: out, done: make(chan error, 1)}
	go func() {
		err := serve.Run(ctx, s, serve.Options{
			Name: "@perstack/base", Version: "1.2.3", In: fromClient, Out: toClient, Filter: filter,
			Log: slog.New(slog.DiscardHandler),
		})
		toClient.Close()
		w.done <- err
	}()
	t.Cleanup(func() { in.Close(); out.Close() })
	return w
}

// connect returns a session of the library's own client.
func connect(t *testing.T, w *wires, opts *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, opts)
	session, err := client.Connect(t.Context(), &mcp.IOTransport{Reader: w.out, Writer: w.in, MaxLineLength: 100 << 20}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return session
}

// An answer is a message from the server, as far as tests look at it.
type answer struct {
	ID     rawjson.Value `json:"id"`
	Method string        `json:"method"`
	Result rawjson.Value `json:"result"`
	Error  *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

const hello = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
`

// converse sends hello and lines, closes the stream and returns the answers but the one
// to hello, which may come behind them.
func converse(t *testing.T, s skill.Skill, lines ...string) []answer {
	t.Helper()
	w := start(t.Context(), t, s, skill.Filter{})
	go func() {
		_, _ = io.WriteString(w.in, hello+strings.Join(lines, "\n")+"\n")
		_ = w.in.Close()
	}()
	all := read(t, w.out)
	if err := <-w.done; err != nil {
		t.Errorf("the server ended with %v", err)
	}
	i := slices.IndexFunc(all, func(a answer) bool { return string(a.ID) == "0" })
	if i < 0 || all[i].Error != nil {
		t.Fatalf("no answer to initialize: %+v", all)
	}
	return slices.Delete(all, i, i+1)
}

func read(t *testing.T, out io.Reader) (all []answer) {
	t.Helper()
	in := bufio.NewReader(out)
	for {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) && len(line) == 0 {
			return all
		}
		var a answer
		if err := json.Unmarshal(bytes.TrimSpace(line), &a); err != nil {
			t.Fatalf("%q on the stream: %v", line, err)
		}
		all = append(all, a)
	}
}
