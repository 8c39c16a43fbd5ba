package approval

import (
	"bytes"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/rawjson"
)

// A View is what a person sees before they answer a request. Everything in it is safe to print, and
// nothing is cut.
type View struct {
	Title    string // the question
	Sections []Section
}

// A Section is one part of a [View].
type Section struct {
	Label string
	// Lines together are the content. A command goes from one line to the next within its words.
	Lines []string
	// Block says that the lines are a text by themselves, such as a diff.
	Block bool
}

// Render describes a request. What decides comes first, and what the model wrote about it last.
// redact replaces each secret with [redacted: NAME]; it can be nil. The view has [NAME].
func Render(a *event.Approval, redact func(string) string) View {
	if redact == nil {
		redact = func(text string) string { return text }
	}
	r := renderer{redact: redact, view: View{Title: title(a.Effect.Kind)}}
	r.who(a)
	r.effect(a)
	r.add("Rule", r.line(a.Rule))
	if a.Why != "" {
		r.add("Why", r.line(a.Why))
	}
	r.block("The model's words, which can be wrong or deceive you", a.Said)
	return r.view
}

// Scopes returns for how long a user can allow a request, the shortest first.
func Scopes(a *event.Approval) []string {
	if a.Once || a.Effect.Kind == event.PlanEffect {
		return []string{event.ScopeOnce}
	}
	return []string{event.ScopeOnce, event.ScopeJob, event.ScopeProject}
}

func title(kind event.EffectKind) string {
	switch kind {
	case event.CommandEffect:
		return "Allow this command?"
	case event.FileEffect:
		return "Allow this change?"
	case event.HostEffect:
		return "Allow a connection to this host, which the sandbox blocks?"
	case event.PathEffect:
		return "Allow commands to read this directory, which is outside of the sandbox?"
	case event.PlanEffect:
		return "Accept this plan?"
	}
	return "Allow this tool call?"
}

type renderer struct {
	redact func(string) string
	view   View
}

func (r *renderer) add(label string, lines ...string) {
	r.view.Sections = append(r.view.Sections, Section{Label: label, Lines: lines})
}

func (r *renderer) block(label, text string) {
	if text != "" {
		text = strings.TrimSuffix(text, "\n")
		r.view.Sections = append(r.view.Sections, Section{Label: label, Lines: terminal.Show(r.hide(text)), Block: true})
	}
}

// who says which Expert calls, and what holds the effects of the call.
func (r *renderer) who(a *event.Approval) {
	var experts []string
	for _, key := range a.Experts {
		experts = append(experts, r.line(key))
	}
	r.add("Expert", strings.Join(experts, " > "))
	if a.Effect.Kind == event.PlanEffect {
		return // nothing is carried out yet
	}
	switch a.Sandbox {
	case "", string(expert.SandboxOff):
		r.add("Sandbox", "none"+unlimited[a.Effect.Kind])
	default:
		r.add("Sandbox", r.line(a.Sandbox))
	}
}

// unlimited says what a call without a sandbox can do.
var unlimited = map[event.EffectKind]string{
	event.CommandEffect: ": the command can do whatever you can do",
	event.FileEffect:    ": file tools work in the workspace only",
}

// effect shows every field that an effect has, whatever its kind is. A call that they do not
// describe is shown with its arguments.
func (r *renderer) effect(a *event.Approval) {
	e, described := a.Effect, false
	show := func(label, value string) {
		if value != "" {
			r.add(label, r.words(value)...)
		}
	}
	if len(e.Argv) > 0 {
		described = e.Kind == event.CommandEffect
		r.add("Command", r.words(e.Argv...)...)
	}
	if show("Program", e.Program); e.Program == "" && e.Kind == event.CommandEffect {
		r.add("Program", "not found")
	}
	show("Directory", e.Dir)
	if len(e.Env) > 0 {
		r.add("Variables", r.words(e.Env...)...)
	}
	show("Path", e.Path)
	show("Named", e.Named)
	show("Host", e.Host)
	r.block("Change", e.Diff)
	r.block("Plan", e.Plan)
	switch e.Kind {
	case event.FileEffect:
		described = e.Diff != ""
	case event.HostEffect, event.PathEffect, event.PlanEffect:
		described = e.Host+e.Path+e.Plan != ""
	}
	for _, name := range slices.Sorted(maps.Keys(e.Unknown)) { // of a later version
		r.add("Also", r.member(name, e.Unknown[name])...)
	}
	if e.Kind == event.PathEffect {
		r.add("Note", "from the next call on, commands of this Expert can read all of it", "the command printed this path, and it can print any path")
	}
	if e.Kind != event.CommandEffect && e.Kind != event.PlanEffect || !described {
		show("Tool", a.Call.ToolName)
		show("Skill", a.Call.SkillName)
	}
	if !described {
		r.add("Arguments", r.arguments(a.Call.Args)...)
	}
}

// line shows a text on one line.
func (r *renderer) line(text string) string { return terminal.ShowLine(r.hide(text)) }

// marker is how a redacted secret looks.
var marker = regexp.MustCompile(`\[redacted: ([A-Za-z0-9_.-]+)\]`)

// hide replaces secrets with their names.
func (r *renderer) hide(text string) string {
	if redacted := r.redact(text); redacted != text {
		return marker.ReplaceAllString(redacted, "[$1]")
	}
	return text
}

// words quotes each word. They follow each other on one line. A word of several lines has lines of
// its own, and so has one with letters that are written from right to left: some terminals would
// show the words around it in another order.
func (r *renderer) words(words ...string) (lines []string) {
	var current strings.Builder
	flush := func() {
		if current.Len() > 0 {
			lines = append(lines, current.String())
			current.Reset()
		}
	}
	for i, word := range words {
		quoted := r.quote(word)
		if i < len(words)-1 {
			quoted[len(quoted)-1] += " "
		}
		if len(quoted) == 1 && !strings.ContainsFunc(word, fromRight) {
			current.WriteString(quoted[0])
			continue
		}
		flush()
		lines = append(lines, quoted...)
	}
	flush()
	return lines
}

func fromRight(r rune) bool {
	return unicode.In(r, unicode.Hebrew, unicode.Arabic, unicode.Syriac, unicode.Thaana, unicode.Nko, unicode.Samaritan, unicode.Mandaic, unicode.Adlam, unicode.Mende_Kikakui, unicode.Hanifi_Rohingya)
}

// quote returns the lines of a quoted word. The names of secrets are outside of the quotes: a word
// that only looks like such a name has it inside.
func (r *renderer) quote(word string) []string {
	redacted := r.redact(word)
	if redacted == word {
		return terminal.QuoteLines(word)
	}
	lines := []string{""}
	text := func(part string) {
		if part != "" {
			quoted := terminal.QuoteLines(part)
			lines[len(lines)-1] += quoted[0]
			lines = append(lines, quoted[1:]...)
		}
	}
	from := 0
	for _, at := range marker.FindAllStringSubmatchIndex(redacted, -1) {
		text(redacted[from:at[0]])
		lines[len(lines)-1] += "[" + redacted[at[2]:at[3]] + "]"
		from = at[1]
	}
	text(redacted[from:])
	return lines
}

// arguments shows the members of a JSON object, in their order. A name that is there twice is shown
// twice.
func (r *renderer) arguments(args rawjson.Value) (lines []string) {
	d := jsontext.NewDecoder(bytes.NewReader(args), jsontext.AllowDuplicateNames(true))
	if d.PeekKind() != '{' {
		return r.value(args)
	}
	_, err := d.ReadToken()
	for err == nil && d.PeekKind() != '}' {
		var name jsontext.Token
		var value jsontext.Value
		if name, err = d.ReadToken(); err != nil {
			break
		}
		key := name.String()
		if value, err = d.ReadValue(); err == nil {
			lines = append(lines, r.member(key, rawjson.Value(value))...)
		}
	}
	if err == nil {
		_, err = d.ReadToken()
	}
	switch {
	case err != nil:
		return r.words(string(args))
	case len(lines) == 0:
		return []string{"none"}
	}
	return lines
}

func (r *renderer) member(name string, value rawjson.Value) []string {
	lines := r.value(value)
	lines[0] = strings.Join(r.words(name), "") + ": " + lines[0]
	return lines
}

// value shows a JSON value on one line, and a text on a line for each of its lines.
func (r *renderer) value(value rawjson.Value) []string {
	var text string
	if json.Unmarshal(value, &text) == nil && jsontext.Value(value).Kind() == '"' {
		return r.quote(text)
	}
	v := jsontext.Value(r.redact(string(value)))
	changed := string(v) != string(value)
	if err := v.Format(jsontext.AllowDuplicateNames(true), jsontext.SpaceAfterColon(true), jsontext.SpaceAfterComma(true)); err != nil {
		return r.quote(string(value))
	}
	shown := terminal.Escape(string(v))
	if changed {
		shown = marker.ReplaceAllString(shown, "[$1]")
	}
	return []string{shown}
}

// A Row is one line of a [View] in text. A terminal that breaks it begins the other lines with Rest.
type Row struct{ Head, Text, Rest string }

// labelWidth fits the labels of all sections that are not blocks.
const labelWidth = len("Arguments") + 1

// Rows lays out the sections. Only labels are at the left edge, so that no content can look like
// another section.
func (v View) Rows() (rows []Row) {
	const bar = "  | "
	for _, s := range v.Sections {
		if s.Block {
			rows = append(rows, Row{Head: s.Label + ":"})
			for _, line := range s.Lines {
				rows = append(rows, Row{Head: bar, Text: line, Rest: bar})
			}
			continue
		}
		blank := strings.Repeat(" ", labelWidth)
		head := fmt.Sprintf("%-*s", labelWidth, s.Label)
		for _, line := range s.Lines {
			rows = append(rows, Row{head, line, blank})
			head = blank
		}
	}
	return rows
}

// Text is the view as plain text, with a line feed at the end of each line.
func (v View) Text() string {
	var out strings.Builder
	out.WriteString(v.Title + "\n")
	for _, r := range v.Rows() {
		out.WriteString(r.Head + r.Text + "\n")
	}
	return out.String()
}
