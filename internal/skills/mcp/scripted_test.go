package mcp

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/rawjson"
)

// A message is one that a server under test gets.
type message struct {
	ID     rawjson.Value `json:"id"`
	Method string        `json:"method"`
	Params rawjson.Value `json:"params"`
	Error  rawjson.Value `json:"error"`
}

// A script answers a message by what it sends, or says nothing.
type script func(m message, send func(format string, args ...any))

// play makes a connection to a server that follows a script.
func play(t *testing.T, s script) (connection *pipe, got func() []message) {
	t.Helper()
	requests, in := io.Pipe()
	answers, out := io.Pipe()
	var mu sync.Mutex
	var all []message
	go func() {
		lines := bufio.NewScanner(requests)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var m message
			if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
				t.Errorf("we sent %q: %v", lines.Text(), err)
			}
			mu.Lock()
			all = append(all, m)
			mu.Unlock()
			s(m, func(format string, args ...any) { fmt.Fprintf(out, format+"\n", args...) })
		}
		_ = out.Close()
	}()
	t.Cleanup(func() {
		_ = in.Close()
		_ = answers.Close()
	})
	return newPipe(t.Context(), answers, in), func() []message {
		mu.Lock()
		defer mu.Unlock()
		return append([]message(nil), all...)
	}
}

// polite answers what every server answers, in the older way, and leaves the rest to s.
func polite(s script) script {
	return func(m message, send func(string, ...any)) {
		switch m.Method {
		case "server/discover":
			send(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"method not found"}}`, m.ID)
		case "initialize":
			send(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}`, m.ID)
		case "tools/list":
			send(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"work","inputSchema":{"type":"object"}}]}}`, m.ID)
		default:
			s(m, send)
		}
	}
}

// newSkill adds functions that do nothing to what a test sets.
func newSkill(o Options) *Skill {
	if o.Report == nil {
		o.Report = func(event.Body) {}
	}
	if o.Stop == nil {
		o.Stop = func(error) {}
	}
	if o.Changed == nil {
		o.Changed = func() {}
	}
	if o.Redact == nil {
		o.Redact = asIs
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.Now = time.Now
	return New(o)
}

// joined makes a skill of a connection, as a start would.
func join(t *testing.T, connection sdk.Connection, set func(*Options)) (*Skill, error) {
	t.Helper()
	o := Options{Name: "scripted"}
	if set != nil {
		set(&o)
	}
	s := newSkill(o)
	s.life, s.end = context.WithCancel(context.WithoutCancel(t.Context()))
	sv := s.newServer(s.life, "server")
	ctx, cancel := context.WithTimeout(t.Context(), s.o.StartTimeout)
	defer cancel()
	var clock timing
	if err := sv.handshake(ctx, connection, &clock, ""); err != nil {
		return nil, err
	}
	var err error
	if sv.first, err = sv.list(ctx); err != nil {
		_ = sv.stop(errEnded)
		return nil, err
	}
	done := make(chan struct{})
	close(done)
	s.attempt = &attempt{done: done, server: sv}
	go sv.watch()
	if err := s.admit(sv); err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, nil
}

func joinScript(t *testing.T, s script, set func(*Options)) (*Skill, func() []message) {
	t.Helper()
	connection, got := play(t, polite(s))
	sk, err := join(t, connection, set)
	if err != nil {
		t.Fatal(err)
	}
	return sk, got
}

func work(ctx context.Context, s *Skill) (string, bool, error) {
	r, err := s.Call(ctx, event.ToolCall{ID: "c1", ToolName: "work"})
	return event.FirstText(r.Result), r.IsError, err
}

func asIs(text string) string { return text }

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }
