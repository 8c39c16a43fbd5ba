package serve

import (
	"bytes"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	wire "github.com/perstack-go/perstack/internal/skills/mcp/frame"
	"github.com/perstack-go/perstack/internal/wording"
	"github.com/perstack-go/perstack/rawjson"
	"github.com/perstack-go/perstack/skill"
)

// describe returns a tool for the protocol.
func describe(t skill.Tool) *mcp.Tool {
	hints := &mcp.ToolAnnotations{ReadOnlyHint: t.ReadOnly, IdempotentHint: t.Repeatable}
	if t.ReadOnly {
		hints.DestructiveHint = new(false) // true by default
	}
	return &mcp.Tool{
		Name:        t.Name,
		Title:       t.Title,
		Description: t.Description,
		InputSchema: withDialect(t.InputSchema),
		Annotations: hints,
	}
}

// withDialect adds the draft to a schema that does not name one.
func withDialect(schema rawjson.Value) rawjson.Value {
	const dialect = `{"$schema":"http://json-schema.org/draft-07/schema#"`
	schema = schema.Clone()
	var members map[string]rawjson.Value
	if (*jsontext.Value)(&schema).Compact() != nil || json.Unmarshal(schema, &members) != nil || members["$schema"] != nil {
		return schema
	}
	rest := bytes.TrimPrefix(schema, []byte("{"))
	if len(members) > 0 {
		rest = append([]byte(","), rest...)
	}
	return append(rawjson.Value(dialect), rest...)
}

// methods are those of a server of tools. The library has others, for features that are not
// offered here.
var methods = []string{"initialize", "ping", "server/discover", listenMethod, "tools/list", "tools/call"}

// listenMethod subscribes to changes. There are none here, but clients subscribe.
const listenMethod = "subscriptions/listen"

// onlyTools refuses every other request.
func onlyTools(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if !slices.Contains(methods, method) && !strings.HasPrefix(method, "notifications/") {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "there is no method " + strconv.Quote(wording.Cut(method, wire.MaxShown)) + " here, only tools are served"}
		}
		return next(ctx, method, req)
	}
}

// inOrder makes the library list the tools in the order of an Expert.
func inOrder(tools []skill.Tool) mcp.Middleware {
	place := make(map[string]int)
	for i, t := range tools {
		place[t.Name] = i
	}
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			result, err := next(ctx, method, req)
			if list, ok := result.(*mcp.ListToolsResult); ok && list != nil {
				slices.SortFunc(list.Tools, func(a, b *mcp.Tool) int { return place[a.Name] - place[b.Name] })
			}
			return result, err
		}
	}
}
