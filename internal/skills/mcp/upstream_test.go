package mcp_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Each row is a reason for code of ours in place of the SDK's. When an update of the SDK
// makes a row fail, delete that code and the row, and change the package comment.
func TestUpstreamFaults(t *testing.T) {
	for _, tt := range []struct {
		fault, ours string
		isThere     func(t *testing.T) bool
	}{
		{"ending the SSE stream with the context of Connect", "sseConn (remotesse.go)", sseEndsWithConnect},
		{"losing SSE events that arrive together with the first one", "sseConn (remotesse.go)", sseLosesEvents},
		{"not sending the protocol version over a wrapped connection", "httpConn.agreed (remotehttp.go)", func(t *testing.T) bool { return !overHTTP(t, wrapped).version }},
		{"not opening the server's own stream over a wrapped connection", "httpConn.listen (remotehttp.go)", func(t *testing.T) bool { return !overHTTP(t, wrapped).stream }},
		{"ending a stdio session because of one line that is no message", "pipe (pipe.go)", stdioEndsAtBadLine},
		{"accepting a member that is given twice", "frame.Parse (frame/frame.go)", decodes(`{"jsonrpc":"2.0","id":1,"method":"a","method":"b"}`)},
		{"cutting an id of 1.5 to 1", "frame.Parse (frame/frame.go)", decodes(`{"jsonrpc":"2.0","id":1.5,"result":{}}`)},
		{"refusing a whole result for one content of a new type", "pending.canned (guard.go) and result.go",
			refuses[sdk.CallToolResult](`{"content":[{"type":"text","text":"a"},{"type":"hologram"}]}`)},
		{"refusing a whole list of tools for one bad definition", "pending.canned (guard.go) and list.go",
			refuses[sdk.ListToolsResult](`{"tools":[{"name":"good","inputSchema":{"type":"object"}},{"name":7}]}`)},
	} {
		t.Run(tt.fault, func(t *testing.T) {
			if !tt.isThere(t) {
				t.Errorf("the SDK fixed %s, our replacement %s can go", tt.fault, tt.ours)
			}
		})
	}
}

// streaming is a server of the older transport that sends events, and then waits.
func streaming(t *testing.T, events string, wait func(r *http.Request)) *sdk.SSEClientTransport {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, events)
		w.(http.Flusher).Flush()
		wait(r)
	}))
	t.Cleanup(server.Close)
	return &sdk.SSEClientTransport{Endpoint: server.URL, HTTPClient: server.Client()}
}

const endpointEvent = "event: endpoint\ndata: /messages\n\n"

func sseEndsWithConnect(t *testing.T) bool {
	ended := make(chan bool, 1)
	transport := streaming(t, endpointEvent, func(r *http.Request) {
		select {
		case <-r.Context().Done():
			ended <- true
		case <-time.After(2 * time.Second):
			ended <- false
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	connection, err := transport.Connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	cancel()
	return <-ended
}

func sseLosesEvents(t *testing.T) bool {
	message := `{"jsonrpc":"2.0","method":"notifications/message","params":{}}`
	transport := streaming(t, endpointEvent+"event: message\ndata: "+message+"\n\n", func(*http.Request) {})
	connection, err := transport.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	_, err = connection.Read(t.Context())
	return err != nil
}

// A wrapper is what the guard is to the SDK: a connection of another type.
type wrapper struct{ sdk.Connection }

type wrapping struct{ transport sdk.Transport }

func (w wrapping) Connect(ctx context.Context) (sdk.Connection, error) {
	connection, err := w.transport.Connect(ctx)
	return wrapper{connection}, err
}

func wrapped(t sdk.Transport) sdk.Transport { return wrapping{t} }

type heard struct{ version, stream bool }

// overHTTP pings a server and returns what the server heard.
func overHTTP(t *testing.T, wrap func(sdk.Transport) sdk.Transport) heard {
	t.Helper()
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server {
		return sdk.NewServer(&sdk.Implementation{Name: "s", Version: "1"}, nil)
	}, nil)
	requests := make(chan heard, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		isPing := strings.Contains(string(body), `"ping"`)
		requests <- heard{version: isPing && r.Header.Get("Mcp-Protocol-Version") != "", stream: r.Method == http.MethodGet}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { // the SDK may have streams open
		server.CloseClientConnections()
		server.Close()
	})
	client := sdk.NewClient(&sdk.Implementation{Name: "c", Version: "1"}, nil)
	transport := wrap(&sdk.StreamableClientTransport{Endpoint: server.URL, HTTPClient: server.Client()})
	session, err := client.Connect(t.Context(), transport, &sdk.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		t.Fatal(err)
	}
	if err := session.Ping(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	var all heard
	for len(requests) > 0 {
		one := <-requests
		all.version, all.stream = all.version || one.version, all.stream || one.stream
	}
	return all
}

func stdioEndsAtBadLine(t *testing.T) bool {
	lines := "INFO listening\n" + `{"jsonrpc":"2.0","method":"notifications/message","params":{}}` + "\n"
	transport := &sdk.IOTransport{Reader: io.NopCloser(strings.NewReader(lines)), Writer: discard{}}
	connection, err := transport.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	_, err = connection.Read(t.Context()) // to a session of the SDK, any error of Read is the end
	return err != nil
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) Close() error                { return nil }

// decodes reports whether the SDK takes a text for a message.
func decodes(text string) func(*testing.T) bool {
	return func(*testing.T) bool {
		_, err := jsonrpc.DecodeMessage([]byte(text))
		return err == nil
	}
}

// refuses reports whether the SDK cannot read a result.
func refuses[T any](text string) func(*testing.T) bool {
	return func(*testing.T) bool {
		return json.Unmarshal([]byte(text), new(T)) != nil
	}
}

// Over a connection of its own the SDK does both, so the rows about wrapping can fail.
func TestUpstreamUnwrapped(t *testing.T) {
	if got := overHTTP(t, func(own sdk.Transport) sdk.Transport { return own }); !got.version || !got.stream {
		t.Errorf("heard %+v", got)
	}
}
