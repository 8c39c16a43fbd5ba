package serve

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// connection exists because the SDK gives up running calls when the client closes its
// stream: a script that writes its requests and closes would get no answers.
func TestUpstreamGivesUpCalls(t *testing.T) {
	server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "slow", InputSchema: map[string]any{"type": "object"}}, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(300 * time.Millisecond):
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "finished"}}}, nil
		}
	})
	requests := strings.Join([]string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"slow","arguments":{}}}`,
	}, "\n") + "\n"
	var out bytes.Buffer
	_ = server.Run(t.Context(), &mcp.IOTransport{Reader: io.NopCloser(strings.NewReader(requests)), Writer: nopCloser{&out}})
	if strings.Contains(out.String(), "finished") {
		t.Error("the SDK fixed giving up calls when the stream ends, the waiting in our connection (connection.go) can go")
	}
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }
