package mcp

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/event"
)

const (
	png = "\x89PNG\r\n\x1a\n rest"
	pdf = "%PDF-1.7 rest"
)

func b64(data string) string { return base64.StdEncoding.EncodeToString([]byte(data)) }

// M1, M8, C10: there is nothing a server can answer that is not turned into something a
// model can read. A path is text.
func TestConvert(t *testing.T) {
	image := event.Part{Type: event.ImageInlinePart, MIMEType: "image/png", EncodedData: b64(png)}
	file := event.Part{Type: event.FileInlinePart, MIMEType: "application/pdf", EncodedData: b64(pdf)}
	tests := []struct {
		name, raw string
		want      []event.Part
		isError   bool
	}{
		{"text", `{"content":[{"type":"text","text":"a"},{"type":"text","text":""}]}`, []event.Part{text("a"), text("")}, false},
		{"nothing", `{}`, nil, false},
		{"no content", `{"content":[]}`, nil, false},
		{"null", `{"content":null,"structuredContent":null,"isError":null}`, nil, false},
		{"an error", `{"content":[{"type":"text","text":"bad"}],"isError":true}`, []event.Part{text("bad")}, true},
		{"an error of another type", `{"content":[],"isError":"yes"}`, nil, true},
		{"structured only", `{"structuredContent":{"a": [1.0]}}`, []event.Part{text(`{"a": [1.0]}`)}, false},
		{"structured too", `{"content":[{"type":"text","text":"a"}],"structuredContent":{"a":1}}`, []event.Part{text("a")}, false},
		{"image", `{"content":[{"type":"image","data":"` + b64(png) + `","mimeType":"image/png"}]}`, []event.Part{image}, false},
		{"image of no type", `{"content":[{"type":"image","data":"` + b64(png) + `"}]}`, []event.Part{image}, false},
		{"image of a wrong type", `{"content":[{"type":"image","data":"` + b64(pdf) + `","mimeType":"image/png"}]}`, []event.Part{file}, false},
		{"image that is none", `{"content":[{"type":"image","data":"` + b64("root:x:0:0") + `","mimeType":"image/png"}]}`,
			[]event.Part{text("[image image/png (10 bytes) was left out: models see PNG, JPEG, GIF and WebP images and PDF files only]")}, false},
		{"image without data", `{"content":[{"type":"image","mimeType":"image/png"}]}`, []event.Part{text("[image image/png was left out: its data are damaged]")}, false},
		{"damaged image", `{"content":[{"type":"image","data":"%%","mimeType":"image/png"}]}`, []event.Part{text("[image image/png was left out: its data are damaged]")}, false},
		{"audio", `{"content":[{"type":"audio","data":"AAAA","mimeType":"audio/wav"}]}`, []event.Part{text("[audio of type audio/wav (3 bytes) was left out: this client cannot hear]")}, false},
		{"a link", `{"content":[{"type":"resource_link","uri":"file:///etc/passwd","name":"users","mimeType":"text/plain"}]}`,
			[]event.Part{text("[resource: file:///etc/passwd, users, text/plain]")}, false},
		{"resource with text", `{"content":[{"type":"resource","resource":{"uri":"a:b","text":"content"}}]}`, []event.Part{text("content")}, false},
		{"resource with both", `{"content":[{"type":"resource","resource":{"uri":"a:b","text":"","blob":"AAAA"}}]}`, []event.Part{text("")}, false},
		{"resource with a file", `{"content":[{"type":"resource","resource":{"uri":"a:b","blob":"` + b64(pdf) + `"}}]}`, []event.Part{file}, false},
		{"resource with text in bytes", `{"content":[{"type":"resource","resource":{"uri":"a:b","mimeType":"text/plain","blob":"` + b64("text") + `"}}]}`, []event.Part{text("text")}, false},
		{"resource with bytes", `{"content":[{"type":"resource","resource":{"uri":"a:b","blob":"AAAA"}}]}`,
			[]event.Part{text("[resource a:b (3 bytes) was left out: models see PNG, JPEG, GIF and WebP images and PDF files only]")}, false},
		{"resource with nothing", `{"content":[{"type":"resource","resource":{"uri":"a:b"}}]}`, []event.Part{text("[the resource a:b has no content]")}, false},
		{"no resource", `{"content":[{"type":"resource"}]}`, []event.Part{text("[a resource without content was left out]")}, false},
		{"unknown kind", `{"content":[{"type":"hologram","data":"x"},{"type":"text","text":"a"}]}`,
			[]event.Part{text("[content of type hologram was left out: this client does not know it]"), text("a")}, false},
		{"no kind", `{"content":[{}]}`, []event.Part{text("[content of type unknown was left out: this client does not know it]")}, false},
		{"pieces that are none", `{"content":[5,null,"a",[]]}`, []event.Part{
			text("[a piece that is no object was left out]"), text("[content of type unknown was left out: this client does not know it]"),
			text("[a piece that is no object was left out]"), text("[a piece that is no object was left out]")}, false},
		{"content that is no list", `{"content":"a"}`, []event.Part{text("[content that is no list was left out]")}, false},
		{"wrong types", `{"content":[{"type":"text","text":5}]}`, []event.Part{text("")}, false},
		{"more input", `{"resultType":"input_required","inputRequests":{}}`, []event.Part{text("Error: the tool asks for more input, which cannot be given here")}, true},
		{"a number", `7`, []event.Part{text("Error: the server answered with something that is no result of a tool")}, true},
		{"twice", `{"content":[],"content":[]}`, []event.Part{text("Error: the server answered with something that is no result of a tool")}, true},
		{"a file to be handed over", `{"content":[{"type":"text","text":"{\"path\":\"/etc/hostname\",\"mimeType\":\"image/png\",\"size\":1}"}]}`,
			[]event.Part{text(`{"path":"/etc/hostname","mimeType":"image/png","size":1}`)}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, isError := convert([]byte(tt.raw), asIs)
			if diff := cmp.Diff(tt.want, got); diff != "" || isError != tt.isError {
				t.Errorf("error %t\n%s", isError, diff)
			}
		})
	}
}

// M10: a result has limits, and says what was left out.
func TestConvertLimits(t *testing.T) {
	result := func(pieces ...map[string]any) []byte {
		raw, err := json.Marshal(map[string]any{"content": pieces})
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	long := "begin" + strings.Repeat("é", maxResultText) + "end"
	got, _ := convert(result(map[string]any{"type": "text", "text": long}, map[string]any{"type": "text", "text": "more"}), asIs)
	if len(got) != 2 || len(got[0].Text) > maxResultText+100 || !strings.HasPrefix(got[0].Text, "begin") || !strings.HasSuffix(got[0].Text, "end") ||
		!strings.Contains(got[0].Text, "bytes left out") || !strings.Contains(got[1].Text, "4 bytes of text were left out") {
		t.Errorf("%d parts, %d bytes, %q", len(got), len(got[0].Text), got[len(got)-1].Text)
	}
	exact := strings.Repeat("x", maxResultText)
	if got, _ := convert(result(map[string]any{"type": "text", "text": exact}), asIs); got[0].Text != exact {
		t.Error("a text that fits is cut")
	}
	half := map[string]any{"type": "image", "data": b64(png + strings.Repeat("x", maxResultMedia/2))}
	got, _ = convert(result(half, half), asIs)
	if len(got) != 2 || got[0].Type != event.ImageInlinePart || !strings.Contains(got[1].Text, "a result may have 10485760 bytes") {
		t.Errorf("%d parts, %s, %q", len(got), got[0].Type, got[1].Text)
	}
	many := make([]map[string]any, maxContents+5)
	for i := range many {
		many[i] = map[string]any{"type": "text", "text": "x"}
	}
	if got, _ := convert(result(many...), asIs); len(got) != maxContents+1 || got[maxContents].Text != "[all pieces behind the first 1000 were left out]" {
		t.Errorf("%d parts, %q", len(got), got[len(got)-1].Text)
	}
}

// Whatever a result is, its parts are within the limits and of kinds that models know.
func FuzzConvert(f *testing.F) {
	for _, seed := range []string{
		`{}`, `null`, `{"content":[{"type":"text","text":"a"}]}`, `{"content":[{"type":"image","data":"iVBORw0KGgo="}],"isError":true}`,
		`{"content":[{"type":"resource","resource":{"blob":"JVBERi0="}},{"type":"audio"},{"type":"resource_link"}],"structuredContent":[]}`,
		"{\"content\":\"\xff\"}", `{"content":[[[[]]]],"resultType":"input_required"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		parts, _ := convert(raw, asIs)
		size := 0
		for _, p := range parts {
			size += len(p.Text)
			switch p.Type {
			case event.TextPart:
			case event.ImageInlinePart, event.FileInlinePart:
				if _, err := base64.StdEncoding.DecodeString(p.EncodedData); err != nil || p.MIMEType == "" {
					t.Errorf("%+v", p)
				}
			default:
				t.Errorf("a part of type %s", p.Type)
			}
		}
		if len(parts) > maxContents+1 || size > maxResultText+2000*(maxContents+1) {
			t.Errorf("%d parts with %d bytes", len(parts), size)
		}
		if _, err := json.Marshal(parts); err != nil { // UTF-8, for one
			t.Error(err)
		}
	})
}
