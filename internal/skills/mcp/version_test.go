package mcp

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Every version of the protocol that the library knows is spoken, with a real server
// that knows no other.
func TestVersions(t *testing.T) {
	for _, version := range sdk.SupportedProtocolVersions() {
		t.Run(version, func(t *testing.T) {
			server := sdk.NewServer(&sdk.Implementation{Name: "real", Version: "1"}, &sdk.ServerOptions{
				SupportedProtocolVersions: []string{version},
			})
			add := func(name string) {
				server.AddTool(&sdk.Tool{Name: name, InputSchema: map[string]any{"type": "object"}}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
					return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: name + " was done"}}}, nil
				})
			}
			add("work")
			requests, in := io.Pipe()
			answers, out := io.Pipe()
			session, err := server.Connect(t.Context(), &sdk.IOTransport{Reader: requests, Writer: out}, nil)
			if err != nil {
				t.Fatal(err)
			}
			changed := make(chan struct{}, 10)
			s, err := join(t, newPipe(t.Context(), answers, in), func(o *Options) { o.Changed = func() { changed <- struct{}{} } })
			if err != nil {
				t.Fatal(err)
			}
			if got := s.attempt.server.session.InitializeResult().ProtocolVersion; got != version {
				t.Errorf("version %s was agreed on", got)
			}
			if text, isError, err := work(t.Context(), s); text != "work was done" || isError || err != nil {
				t.Errorf("%q, %t, %v", text, isError, err)
			}
			add("more")
			<-changed
			if tools, err := s.Tools(t.Context()); err != nil || len(tools) != 2 {
				t.Errorf("%+v, %v", tools, err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			_ = in.Close()
			_ = session.Close()
			_ = answers.Close()
		})
	}
}

// Old servers take the first pending of the newer protocol in many ways.
func TestOldServers(t *testing.T) {
	ways := map[string]string{
		"a method not found":  `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`,
		"invalid params":      `{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"no"}}`,
		"not initialized":     `{"jsonrpc":"2.0","id":%s,"error":{"code":0,"message":"server not initialized"}}`,
		"an error of nothing": `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no %s"}}`,
		"another version":     `{"jsonrpc":"2.0","id":%s,"error":{"code":-32022,"message":"no","data":{"supported":["2025-06-18"]}}}`,
		"a version unknown":   `{"jsonrpc":"2.0","id":%s,"result":{"supportedVersions":["1999-01-01"],"capabilities":{}}}`,
		"an empty result":     `{"jsonrpc":"2.0","id":%s,"result":{}}`,
		"nonsense":            `{"jsonrpc":"2.0","id":%s,"result":[1,2]}`,
		"silence":             ``,
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				connection, _ := play(t, func(m message, send func(string, ...any)) {
					switch {
					case m.Method == "server/discover" && way == "":
					case m.Method == "server/discover":
						send(way, m.ID)
					case m.Method == "tools/call":
						send(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"done"}]}}`, m.ID)
					default:
						polite(ignore)(m, send)
					}
				})
				s, err := join(t, connection, nil)
				if err != nil {
					t.Fatal(err)
				}
				if text, _, err := work(t.Context(), s); text != "done" || err != nil {
					t.Errorf("%q, %v", text, err)
				}
			})
		})
	}
}

func ignore(message, func(string, ...any)) {}

// A server that greets wrongly is an error that says so.
func TestBadGreetings(t *testing.T) {
	for result, want := range map[string]string{
		`{"protocolVersion":"2031-01-01","capabilities":{}}`: "unsupported protocol version",
		`{"capabilities":{}}`:                                "unsupported protocol version",
		`{"protocolVersion":5}`:                              "unmarshal",
		`[]`:                                                 "unmarshal",
	} {
		connection, _ := play(t, func(m message, send func(string, ...any)) {
			if m.Method == "initialize" {
				send(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
				return
			}
			polite(ignore)(m, send)
		})
		if _, err := join(t, connection, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", result, err)
		}
	}
}

// A server without the capability has no tools, and is not asked for them.
func TestNoTools(t *testing.T) {
	connection, got := play(t, func(m message, send func(string, ...any)) {
		if m.Method == "initialize" {
			send(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2024-11-05","capabilities":{"prompts":{}},"serverInfo":{"name":"s","version":"1"}}}`, m.ID)
			return
		}
		polite(ignore)(m, send)
	})
	s, err := join(t, connection, nil)
	if err != nil {
		t.Fatal(err)
	}
	if tools, err := s.Tools(t.Context()); len(tools) != 0 || err != nil {
		t.Errorf("%+v, %v", tools, err)
	}
	for _, m := range got() {
		if m.Method == "tools/list" {
			t.Error("it was asked for its tools")
		}
	}
	// What we offer a server is nothing.
	for _, m := range got() {
		if m.Method == "initialize" && !strings.Contains(string(m.Params), `"capabilities":{}`) {
			t.Errorf("we offer %s", m.Params)
		}
	}
}
