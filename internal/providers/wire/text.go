package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/wording"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/rawjson"
)

// Marshal encodes what goes into a body. Text that is no UTF-8 is repaired. What cannot be
// encoded is a raw value that was not checked, which must not end a job: instead makes what is
// sent in its place, of a line that says so. Without instead there is nothing in its place.
func Marshal(v any, instead func(line string) any) []byte {
	data, err := json.Marshal(v, jsontext.AllowInvalidUTF8(true))
	switch {
	case err == nil:
		return data
	case instead == nil:
		return nil
	}
	return Marshal(instead(LeftOut("part", err.Error())), nil)
}

// Quote writes s as JSON.
func Quote(s string) rawjson.Value {
	quoted, _ := jsontext.AppendQuote(nil, s) // its error is about characters that it replaced
	return quoted
}

// JoinLines returns the text parts among parts, one below the other: an instruction.
func JoinLines(parts []event.Part) string {
	var texts []string
	for i := range parts {
		if parts[i].Type == event.TextPart {
			texts = append(texts, parts[i].Text)
		}
	}
	return strings.Join(texts, "\n")
}

// Object returns arguments that every API takes: an object, and nothing else.
func Object(args rawjson.Value) rawjson.Value {
	if args.Kind() != '{' || !args.IsValid() {
		return rawjson.Value("{}")
	}
	return args
}

// Identifier makes an id or a name of letters, digits, _ and -, with at most so many
// characters. Other providers have other characters in theirs; each becomes its number,
// so that two ids do not become one.
func Identifier(s string, most int) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, "_%x_", r)
		}
	}
	if b.Len() == 0 {
		return "unnamed"
	}
	return b.String()[:min(b.Len(), most)]
}

// ToolName is the name of a tool as an API takes it: letters, digits, _ and -, a letter or
// _ first, at most so many characters. Servers name their tools as they like; another name
// becomes one that ends in its digest, so that two never become one.
func ToolName(name string, most int) string {
	if len(name) <= most && isPlain(name) && !isDigested(name) {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	mark := "_x" + hex.EncodeToString(sum[:4])
	text := Identifier(name, most-len(mark)-1)
	if !isPlain(text) {
		text = "_" + text
	}
	return text + mark
}

// isPlain reports whether every API takes a name as it is.
func isPlain(name string) bool {
	for i, c := range []byte(name) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '_':
		case i > 0 && (c >= '0' && c <= '9' || c == '-'):
		default:
			return false
		}
	}
	return name != ""
}

// isDigested reports whether a name ends as those that [ToolName] makes. A server that gives a
// tool such a name gets one that is digested once more.
func isDigested(name string) bool {
	const mark = len("_x01234567")
	end, ok := strings.CutPrefix(name[max(len(name)-mark, 0):], "_x")
	return ok && len(end) == mark-2 && strings.TrimLeft(end, "0123456789abcdef") == ""
}

// A ToolForm is how an API writes a tool: an object that begins with its name and its
// description, and has its schema behind them.
type ToolForm struct {
	Open, Schema, Close string // what stands before each of them, and behind all

	// Fit makes of a tool's schema what the API takes. If it returns nil, the schema is left out.
	Fit func(rawjson.Value) rawjson.Value

	MaxName        int
	MaxDescription int // in characters; the API refuses a longer one. 0: no limit
}

// Write writes tools as the elements of a list.
func (f *ToolForm) Write(tools []model.Tool) (text []byte) {
	for i, t := range tools {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(append(text, f.Open+`"name":`...), Quote(ToolName(t.Name, f.MaxName))...)
		if t.Description != "" { // some refuse an empty one
			if f.MaxDescription > 0 {
				t.Description = wording.CutRunes(t.Description, f.MaxDescription, " …")
			}
			text = append(append(text, `,"description":`...), Quote(t.Description)...)
		}
		if schema := f.Fit(t.InputSchema); schema != nil {
			text = append(append(text, f.Schema...), schema...)
		}
		text = append(text, f.Close...)
	}
	return text
}

// AsError makes words say that a tool failed, for APIs that have no other place for it.
func AsError(words string) string {
	switch {
	case strings.TrimSpace(words) == "":
		return "Error"
	case strings.HasPrefix(strings.ToLower(words), "error:"):
		return words
	}
	return "Error: " + words
}

// Names are the names of a request's tools.
type Names struct {
	Tools []model.Tool
	Most  int // characters that the API takes

	own map[string]string // by what was sent
}

// Own is the name of the tool that a model calls by the name it was sent. A name that was
// never sent stays as it is; the engine tells the model.
func (n *Names) Own(sent string) string {
	if n.own == nil { // made once: an answer may have thousands of calls
		n.own = make(map[string]string, len(n.Tools))
		for _, t := range n.Tools {
			name := ToolName(t.Name, n.Most)
			if _, taken := n.own[name]; !taken {
				n.own[name] = t.Name
			}
		}
	}
	if own, ok := n.own[sent]; ok {
		return own
	}
	return sent
}
