package serve

import (
	"context"
	"io"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/skill"
)

// idle is a skill that counts how often it is closed.
type idle struct{ closed *int }

func (idle) Name() string                                { return "idle" }
func (idle) Tools(context.Context) ([]skill.Tool, error) { return nil, nil }
func (idle) Call(context.Context, event.ToolCall) (event.ToolResult, error) {
	return event.ToolResult{}, nil
}
func (i idle) Close() error { *i.closed++; return nil }

// A session without requests ends after half an hour, and not before; each request
// resets the time.
func TestIdleSessionsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		closed := 0
		s := newSessions(t.Context(), func() skill.Skill { return idle{&closed} }, Options{Name: "n", Version: "1", Log: slog.New(slog.DiscardHandler)})
		defer s.endAll()
		send := func(id, body string) (int, string) {
			r := httptest.NewRequestWithContext(t.Context(), "POST", "/mcp", strings.NewReader(body))
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Accept", "application/json, text/event-stream")
			if id != "" {
				r.Header.Set("Mcp-Session-Id", id)
			}
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			if _, err := io.ReadAll(w.Body); err != nil {
				t.Fatal(err)
			}
			return w.Code, w.Header().Get("Mcp-Session-Id")
		}
		code, id := send("", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
		if code != 200 || id == "" {
			t.Fatalf("initialize: %d, session %q", code, id)
		}
		const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
		for range 3 {
			time.Sleep(idleTime - time.Second)
			if code, _ := send(id, ping); code != 200 {
				t.Fatalf("a session in use: %d", code)
			}
		}
		time.Sleep(idleTime + time.Second)
		synctest.Wait()
		if code, _ := send(id, ping); code != 404 || closed != 1 {
			t.Errorf("an idle session: %d, closed %d times", code, closed)
		}
	})
}

// What could not be served at once is refused, and counted out again.
func TestInFlight(t *testing.T) {
	var l inFlight
	if !l.begin(maxOpenBytes) || l.begin(1) {
		t.Error("the bytes are not counted")
	}
	l.resize(maxOpenBytes, 10)
	for range maxOpen - 1 {
		if !l.begin(1) {
			t.Fatal("the limit is not reached")
		}
	}
	if l.begin(0) {
		t.Error("the requests are not counted")
	}
	l.end(10)
	if !l.begin(1) {
		t.Error("what was given back cannot be taken")
	}
}
