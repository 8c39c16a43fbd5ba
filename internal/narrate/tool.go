package narrate

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/wording"
	"github.com/perstack-go/perstack/rawjson"
)

// Describe returns the row of a call that has no result yet: what it is, and what it is
// about as far as the arguments tell.
func Describe(c event.ToolCall) Row {
	r := toolRow(c, event.ToolResult{}, "")
	r.State, r.Body = Pending, nil
	if isCompletion(c) {
		r.Label = "Completion"
	}
	return r
}

// The labels of calls that some programs treat in their own way.
const (
	RunLabel        = "Run"                 // a command
	CompletionLabel = "Completion Accepted" // the work is complete
)

// toolRow returns the row of a call with that result. A failure takes the place of the
// body, since nothing was read or written; only a command has more to say about it.
func toolRow(c event.ToolCall, result event.ToolResult, workspace string) Row {
	skill := cmp.Or(c.SkillName, result.SkillName)
	r := Row{Kind: Tool, SkillName: skill, Args: c.Args, Output: resultText(result.Result), Slow: true}
	base := strings.HasPrefix(skill, event.BaseSkill)
	args, out := parse(c.Args), parse([]byte(event.FirstText(result.Result)))
	switch {
	case base && r.fromBaseTool(c.ToolName, args, out, workspace):
		r.Slow = c.ToolName == "exec" // the others work on single files
		if plain := event.FirstText(result.Result); out == nil && plain != "" {
			r.Body = []Text{{Text: plain}}
		}
	case base && c.ToolName == "think" && result.ErrorText() == "":
		r.Label, r.Slow = "Think", false
		r.Body = []Text{{cmp.Or(args.text("thought"), compact(c.Args)), Quiet, Prose}}
	case skill == event.PlanSkill:
		r.Label, r.Slow = "Plan", false
		r.Body = []Text{{Text: cmp.Or(r.Output, args.text("plan")), Show: Whole}}
	case base && c.ToolName == "healthCheck":
		r.Label, r.Slow = "Health Check", false
	default:
		r.Label, r.Summary, r.Slow = cmp.Or(c.ToolName, "tool"), arguments(c.Args), !base
		r.Body = []Text{{Text: r.Output}}
	}
	switch message := result.ErrorText(); {
	case message == "":
	case message == event.UnknownOutcome:
		r.State, r.Label, r.Body = Unknown, r.Label+" (outcome unknown)", []Text{{Text: message, Show: Whole}}
	default:
		if !strings.HasPrefix(strings.ToLower(message), "error") {
			message = "Error: " + message // the colour alone must not say so
		}
		r.State, r.Body = Failed, []Text{{Text: message, Style: Bad}}
		if isCompletion(c) {
			r.Label = "Completion Failed"
		}
		if c.ToolName == "exec" && base {
			r.Body = append(r.Body, lastOutput(out))
		}
	}
	return r
}

// plainTools are the base tools of which a path says enough.
var plainTools = map[string]struct{ label, outcome string }{
	"deleteFile":      {"Delete", "Removed"},
	"createDirectory": {"Mkdir", "Created"},
	"getFileInfo":     {"Info", "Fetched"},
	"readPdfFile":     {"PDF", "Read"},
	"readImageFile":   {"Image", "Read"},
}

// fromBaseTool fills in the row of a tool of the base skill. It reports false, and changes
// nothing, for a tool that it does not know.
func (r *Row) fromBaseTool(tool string, args, out members, workspace string) bool {
	r.Summary = args.text("path")
	if t, ok := plainTools[tool]; ok {
		r.Label, r.Body = t.label, text(t.outcome)
		return true
	}
	switch tool {
	case event.CompletionTool:
		r.Label = CompletionLabel
		if n := len(get[[]rawjson.Value](out, "remainingTodos")); n > 0 {
			r.Label, r.State, r.Body = "Completion Blocked", Warning, text(wording.Count(n, "remaining task"))
		}
	case "todo":
		r.Label = "Todo"
		r.fromTodo(args, out)
	case "clearTodo":
		r.Label, r.Summary = "Todo", "Cleared"
	case "readTextFile":
		r.Label, r.Body = "Read", text(out.text("content"))
		from, ok := whole(args["from"])
		if to, also := whole(args["to"]); ok && also {
			r.Summary += fmt.Sprintf(" #%d-%d", from, to)
		}
	case "writeTextFile":
		r.Label, r.Body = "Write", styled(args.text("text"), Added)
	case "appendTextFile":
		r.Label, r.Body = "Append", styled(args.text("text"), Added)
	case "editTextFile":
		r.Label = "Edit"
		r.Body = append(styled(args.text("oldText"), Removed), styled(args.text("newText"), Added)...)
	case "deleteDirectory":
		r.Label, r.Body = "Delete Dir", text("Removed")
		if get[bool](args, "recursive") {
			r.Body = text("Removed (recursive)")
		}
	case "moveFile":
		r.Label, r.Summary = "Move", args.text("source")
		r.Body = text("→ " + args.text("destination"))
	case "listDirectory":
		r.Label, r.Body = "List", text(entries(out))
	case "glob":
		r.Label, r.Summary, r.Body = "Glob", args.text("pattern"), text(strings.Join(out.texts("files"), "\n"))
	case "grep":
		n, _ := whole(out["matches"])
		r.Label, r.Summary = "Grep", args.text("pattern")
		files := wording.Count(len(get[[]rawjson.Value](out, "files")), "file")
		if !get[bool](args, "filesOnly") {
			files = wording.Count(int(n), "matching line") + " in " + files
		}
		r.Body = text(files)
	case "exec":
		r.Label, r.Summary = RunLabel, ""
		if command := args.text("command"); command != "" {
			r.Argv = append([]string{command}, args.texts("args")...)
		}
		r.Dir = within(workspace, args.text("cwd"))
		r.Body = text(printed(cmp.Or(out.text("output"), out.text("stdout"), out.text("stderr"))))
	default:
		r.Summary = ""
		return false
	}
	return true
}

// fromTodo tells what changed in the list. Completed entries are named by number, so their
// titles come from the list that the tool returned; an entry without a number counts by
// its place.
func (r *Row) fromTodo(args, out members) {
	titles := make(map[int64]string)
	for i, raw := range get[[]rawjson.Value](out, "todos") {
		entry := parse(raw)
		id, ok := whole(entry["id"])
		if !ok {
			id = int64(i)
		}
		titles[id] = entry.text("title")
	}
	var parts, added, completed []string
	for _, title := range args.texts("newTodos") {
		added = append(added, "○ "+title)
	}
	for _, raw := range get[[]rawjson.Value](args, "completedTodos") {
		if id, ok := whole(raw); ok {
			completed = append(completed, "✓ "+cmp.Or(titles[id], fmt.Sprintf("task %d", id)))
		}
	}
	if len(added) > 0 {
		parts = append(parts, "Added "+wording.Count(len(added), "task"))
	}
	if len(completed) > 0 {
		parts = append(parts, "Completed "+wording.Count(len(completed), "task"))
	}
	r.Summary = cmp.Or(strings.Join(parts, ", "), "No changes")
	r.Body = []Text{{strings.Join(added, "\n"), Plain, List}, {strings.Join(completed, "\n"), Plain, List}}
}

func entries(out members) string {
	var lines []string
	for _, raw := range get[[]rawjson.Value](out, "items") {
		entry, symbol := parse(raw), "📄 "
		if entry.text("type") == "directory" {
			symbol = "📁 "
		}
		lines = append(lines, symbol+strings.ReplaceAll(entry.text("name"), "\n", " "))
	}
	return strings.Join(lines, "\n")
}

// within returns where a command runs, seen from the workspace: "" for the workspace itself.
func within(workspace, dir string) string {
	if dir == "" {
		return ""
	}
	dir = path.Clean(dir)
	if workspace != "" {
		if dir == workspace {
			return ""
		}
		dir = strings.TrimPrefix(dir, strings.TrimSuffix(workspace, "/")+"/")
	}
	if dir == "." {
		return ""
	}
	return dir
}

// printed returns the lines of a program's output that are not blank.
func printed(output string) string {
	var lines []string
	for l := range strings.Lines(output) {
		if l = strings.TrimRight(l, " \t\r\n"); l != "" {
			lines = append(lines, l)
		}
	}
	return strings.Join(lines, "\n")
}

// lastOutput is what a command printed before it failed: the reason is mostly at the end,
// and on standard error.
func lastOutput(out members) Text {
	text := cmp.Or(printed(out.text("stderr")), printed(out.text("stdout")), printed(out.text("output")))
	return Text{Text: text, Show: Tail}
}

// resultText returns the result of a tool as text. Of an image or a file it has the type.
func resultText(parts []event.Part) string {
	var texts []string
	for i := range parts {
		switch part := &parts[i]; part.Type {
		case event.TextPart:
			texts = append(texts, strings.Trim(part.Text, "\r\n"))
		case event.ImageURLPart, event.FileURLPart:
			texts = append(texts, part.URL)
		default:
			texts = append(texts, "("+cmp.Or(part.MIMEType, string(part.Type))+")")
		}
	}
	return strings.Trim(strings.Join(texts, "\n"), "\r\n")
}

// arguments returns the arguments of a call on one line, or "" if there are none.
func arguments(args rawjson.Value) string {
	if text := compact(args); text != "{}" {
		return text
	}
	return ""
}

// compact returns JSON on one line. Anything else is shown as it is.
func compact(v rawjson.Value) string {
	v = v.Clone()
	if (*jsontext.Value)(&v).Compact(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)) != nil || len(v) == 0 {
		return strings.Join(strings.Fields(string(v)), " ")
	}
	return string(v)
}

// question shows the arguments of an interactive tool as the user reads them: one member a
// line, and text as text.
func question(args rawjson.Value) []Text {
	dec := jsontext.NewDecoder(strings.NewReader(string(args)), jsontext.AllowInvalidUTF8(true))
	plain := []Text{{Text: compact(args), Show: Whole}}
	if token, err := dec.ReadToken(); err != nil || token.Kind() != '{' {
		return plain
	}
	var texts []Text
	for dec.PeekKind() == '"' {
		token, err := dec.ReadToken()
		if err != nil {
			return plain
		}
		name := token.String() // the token is gone after the next read
		value, err := dec.ReadValue()
		if err != nil {
			return plain
		}
		text := compact(rawjson.Value(value))
		if s, ok := decode[string](rawjson.Value(value)); ok {
			text = s
		}
		texts = append(texts, Text{Text: name + ": " + text, Show: Whole})
	}
	return texts
}
