package serve

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/rawjson"
	"github.com/perstack-go/perstack/skill"
)

// A caller calls the tools of a toolbox for the client.
type caller struct {
	box    *skill.Toolbox
	redact func(string) string
	log    *slog.Logger
	count  atomic.Int64
	slots  chan struct{} // has a value for each running call
}

// parallel is how many calls can run in parallel, as in a run: results can be large.
const parallel = 16

// call calls a tool. Every failure becomes a result that a model can read.
func (d *caller) call(ctx context.Context, req *mcp.CallToolRequest) (result *mcp.CallToolResult, err error) {
	defer func() {
		if p := recover(); p != nil {
			d.log.Error("panic in a tool", "tool", req.Params.Name, "value", p, "stack", string(debug.Stack()))
			result, err = d.failed(fmt.Sprintf("the tool %s failed inside: %v", req.Params.Name, p)), nil
		}
	}()
	select {
	case d.slots <- struct{}{}:
		defer func() { <-d.slots }()
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return d.failed("the call was stopped before it began"), nil
	}
	call := event.ToolCall{
		ID:       fmt.Sprintf("call-%d", d.count.Add(1)),
		ToolName: req.Params.Name,
		Args:     rawjson.Value(req.Params.Arguments),
	}
	if len(call.Args) == 0 {
		call.Args = rawjson.Value("{}")
	}
	if token := req.Params.GetProgressToken(); token != nil {
		ctx = skill.WithProgress(ctx, d.notes(ctx, req.Session, token))
	}
	answer, callErr := d.box.Call(ctx, call)
	if callErr != nil {
		return d.failed(callErr.Error()), nil
	}
	return d.translate(answer), nil
}

func (d *caller) failed(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: d.redact("Error: " + text)}}, IsError: true}
}

// notes returns a function that sends progress notes to the client.
func (d *caller) notes(ctx context.Context, session *mcp.ServerSession, token any) skill.Progress {
	var mu sync.Mutex
	sent := 0.0 // must grow from note to note
	return func(_, message string) {
		mu.Lock()
		defer mu.Unlock()
		sent++
		// A note that is not delivered must not stop the tool.
		_ = session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Message: d.redact(message), Progress: sent})
	}
}

// translate turns the parts of a result into contents, one for one.
func (d *caller) translate(r event.ToolResult) *mcp.CallToolResult {
	result := &mcp.CallToolResult{Content: []mcp.Content{}, IsError: r.IsError}
	for i, p := range r.Result {
		content, err := d.contentOf(p, i)
		if err != nil {
			return d.failed(err.Error())
		}
		result.Content = append(result.Content, content)
	}
	return result
}

func (d *caller) contentOf(p event.Part, place int) (mcp.Content, error) {
	if d.redact(p.EncodedData) != p.EncodedData { // a part of a file cannot be replaced
		return nil, errors.New("a part of the result was left out, because its data contains a secret")
	}
	switch p.Type {
	case event.TextPart:
		return &mcp.TextContent{Text: d.redact(p.Text)}, nil
	case event.ImageInlinePart, event.FileInlinePart:
		data, err := base64.StdEncoding.DecodeString(p.EncodedData)
		if err != nil {
			return nil, fmt.Errorf("the result holds a damaged %s: %w", p.Type, err)
		}
		if p.Type == event.ImageInlinePart {
			return &mcp.ImageContent{Data: data, MIMEType: p.MIMEType}, nil
		}
		// A resource needs a URI. This one cannot be fetched: the bytes are in the result.
		return &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{
			URI: fmt.Sprintf("urn:perstack:part:%d", place), MIMEType: p.MIMEType, Blob: data,
		}}, nil
	}
	return nil, fmt.Errorf("the result holds a %s, which cannot be sent", p.Type)
}
