package base_test

import (
	"context"
	"encoding/base64"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/skills/base"
	"github.com/perstack-go/perstack/internal/workspace"
	"github.com/perstack-go/perstack/rawjson"
	"github.com/perstack-go/perstack/skill"
)

// says is a skill that answers every call with the same result.
type says struct{ result event.ToolResult }

func (s says) Name() string                                { return event.BaseSkill }
func (s says) Tools(context.Context) ([]skill.Tool, error) { return nil, nil }
func (s says) Close() error                                { return nil }
func (s says) Call(_ context.Context, call event.ToolCall) (event.ToolResult, error) {
	r := s.result
	r.ID, r.ToolName = call.ID, call.ToolName
	return r, nil
}

const png = "\x89PNG\r\n\x1a\nand more"

// handing asks a foreign base skill that answers with text.
func handing(t *testing.T, dir, tool, text string) event.ToolResult {
	t.Helper()
	return handingParts(t, dir, tool, event.Part{Type: event.TextPart, Text: text})
}

func handingParts(t *testing.T, dir, tool string, parts ...event.Part) event.ToolResult {
	t.Helper()
	files, err := workspace.Open(dir, workspace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { files.Close() })
	inner := says{event.ToolResult{Result: parts}}
	r, err := base.Foreign(inner, files, nil).Call(t.Context(), event.ToolCall{ID: "c", ToolName: tool, Args: rawjson.Value(`{"path":"asked.png"}`)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func described(t *testing.T, path string) string {
	t.Helper()
	text, err := json.Marshal(map[string]any{"path": path, "mimeType": "image/png", "size": 1})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestForeignHandsOver(t *testing.T) {
	dir := t.TempDir()
	for name, data := range map[string]string{"a.png": png, "b.pdf": "%PDF-1.7"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		tool, path string
		kind       event.PartType
		data       string
	}{
		{"readImageFile", "a.png", event.ImageInlinePart, png},
		{"readImageFile", filepath.Join(dir, "a.png"), event.ImageInlinePart, png},
		{"readPdfFile", "b.pdf", event.FileInlinePart, "%PDF-1.7"},
	}
	for _, tt := range tests {
		r := handing(t, dir, tt.tool, described(t, tt.path))
		if r.IsError || len(r.Result) != 2 {
			t.Errorf("%s %s: %+v", tt.tool, tt.path, r)
			continue
		}
		if p := r.Result[1]; p.Type != tt.kind || p.EncodedData != base64.StdEncoding.EncodeToString([]byte(tt.data)) {
			t.Errorf("%s %s: %+v", tt.tool, tt.path, p)
		}
	}
}

// The other program names files that are none of its business, or not what it says.
func TestForeignIsNotBelieved(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	for path, data := range map[string]string{
		filepath.Join(outside, "secret.png"): png + "secret",
		filepath.Join(dir, ".env"):           "KEY=secret",
		filepath.Join(dir, "key.png"):        "secret, and no picture",
		filepath.Join(dir, "huge.png"):       png + strings.Repeat("x", 15<<20),
	} {
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{filepath.Join(outside, "secret.png"), "../secret.png", ".env", "key.png", "huge.png", "/etc/hostname", "absent.png"} {
		r := handing(t, dir, "readImageFile", described(t, path))
		if !r.IsError || len(r.Result) != 1 || strings.Contains(r.Result[0].Text, "and no picture") {
			t.Errorf("%s: %+v", path, r)
		}
	}
}

// C6: what does not describe a file, and what other tools say, is passed on unchanged.
func TestForeignPassesOn(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.png"), []byte(png), 0o600); err != nil {
		t.Fatal(err)
	}
	for tool, text := range map[string]string{
		"readTextFile": described(t, "a.png"),
		"readPdfFile":  `{"path":"a.png","mimeType":"image/png"}`,
	} {
		if r := handing(t, dir, tool, text); r.IsError || len(r.Result) != 1 || r.Result[0].Text != text {
			t.Errorf("%s: %+v", tool, r)
		}
	}
	for _, text := range []string{"no JSON", "", "[]", `{"path":"a.png","size":1}`, `{"path":1,"mimeType":"image/png","size":1}`,
		`{"path":"a.png","mimeType":"image/png","size":"1"}`, `{"path":"a.png","path":"b.png","mimeType":"image/png","size":1}`} {
		if r := handing(t, dir, "readImageFile", text); r.IsError || len(r.Result) != 1 || r.Result[0].Text != text {
			t.Errorf("%q: %+v", text, r)
		}
	}
	// The description of a file is all there is, or it is none.
	file := event.Part{Type: event.TextPart, Text: described(t, "a.png")}
	for name, parts := range map[string][]event.Part{
		"no part":              nil,
		"two files":            {file, file},
		"a file, and words":    {file, {Type: event.TextPart, Text: "and more"}},
		"words, and a file":    {{Type: event.TextPart, Text: "look:"}, file},
		"no text, but a place": {{Type: event.ImageURLPart, Text: file.Text, URL: "https://x.example/"}},
	} {
		if r := handingParts(t, dir, "readImageFile", parts...); r.IsError || !reflect.DeepEqual(r.Result, parts) {
			t.Errorf("%s: %+v", name, r)
		}
	}
}
