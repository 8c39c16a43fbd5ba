package progress

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/event"
)

func lineRange(from, to int64) string { return fmt.Sprintf(" #%d-%d", from, to) }

// todo tells what changed in the list. Completed entries are named by number, so their
// titles come from the list that the tool returned.
func (p *Printer) todo(a event.Activity) row {
	var parts []string
	if n := len(a.NewTodos); n > 0 {
		parts = append(parts, "Added "+plural(n, "task"))
	}
	if n := len(a.CompletedTodos); n > 0 {
		parts = append(parts, "Completed "+plural(n, "task"))
	}
	if parts == nil {
		parts = []string{"No changes"}
	}
	titles := make(map[int64]string)
	for _, t := range a.Todos {
		titles[t.ID] = t.Title
	}
	var completed []string
	for _, id := range a.CompletedTodos {
		title, ok := titles[id]
		if !ok {
			title = fmt.Sprintf("task %d", id)
		}
		completed = append(completed, title)
	}
	return row{label: "Todo", summary: strings.Join(parts, ", "),
		body: append(p.list("○ ", a.NewTodos), p.list("✓ ", completed)...)}
}

func (p *Printer) entries(items []event.DirectoryItem) []line {
	var lines []line
	for _, item := range items[:min(len(items), p.opts.Lines)] {
		symbol := "📄 "
		if item.Type == "directory" {
			symbol = "📁 "
		}
		lines = append(lines, line{symbol + item.Name, plain})
	}
	return more(lines, len(items))
}

// question shows the arguments of an interactive tool as what they are to the user: a
// question and what belongs to it, one member a line and text as text.
func question(args jsontext.Value) []line {
	dec := jsontext.NewDecoder(strings.NewReader(string(args)), jsontext.AllowInvalidUTF8(true))
	if token, err := dec.ReadToken(); err != nil || token.Kind() != '{' {
		return whole(compact(args), plain)
	}
	var lines []line
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return whole(compact(args), plain)
		}
		prefix := name.String() + ": " // the token is gone after the next read
		value, err := dec.ReadValue()
		if err != nil {
			return whole(compact(args), plain)
		}
		var text string
		if json.Unmarshal(value, &text, jsontext.AllowInvalidUTF8(true)) != nil || value.Kind() != '"' {
			text = compact(value)
		}
		lines = append(lines, whole(prefix+text, plain)...)
	}
	return lines
}

// thought returns what the think tool was called with: text, in a wrapping that is of
// no interest.
func thought(args jsontext.Value) string {
	var a struct {
		Thought string `json:"thought"`
	}
	if json.Unmarshal(args, &a, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)) != nil || a.Thought == "" {
		return compact(args)
	}
	return a.Thought
}

// compact returns JSON on one line. What is none is shown as it is.
func compact(v jsontext.Value) string {
	v = v.Clone()
	if v.Compact(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)) != nil || len(v) == 0 {
		return strings.Join(strings.Fields(string(v)), " ")
	}
	return string(v)
}
