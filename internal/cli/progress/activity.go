package progress

import (
	"cmp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/event"
)

// Lengths after which texts are cut, in characters.
const (
	pathCut        = 60
	cwdCut         = 40
	destinationCut = 30
	commandCut     = 100
	argsCut        = 80
	headCut        = 40 // of arguments above a result
	listed         = 3  // todos of a kind
)

// activity returns the row of a.
func (p *Printer) activity(a event.Activity) row {
	switch a.Type {
	case event.ActivityQuery:
		return p.prose(row{bullet: cyan, label: "Query"}, a.Text, plain)
	case event.ActivityRetry:
		return row{bullet: yellow, label: "Retry", body: p.head(cmp.Or(a.Message, a.Error), plain)}
	case event.ActivityComplete:
		if a.DelegatedBy != nil {
			return p.prose(row{bullet: green, label: "Run Results"}, a.Text, plain)
		}
		return row{bullet: green, label: "Run Results", body: whole(a.Text, plain), whole: true}
	case event.ActivityError:
		return row{bullet: red, label: cmp.Or(a.ErrorName, "Error"), body: opening(cmp.Or(a.Error, "Unknown error"), plain)}
	case event.ActivityRemark:
		return p.prose(row{label: "Message"}, a.Text, plain)
	case event.ActivityAnswer:
		return p.prose(row{bullet: cyan, label: "Answer", summary: a.ToolName}, a.Text, plain)
	case event.ActivityStopped:
		return row{bullet: yellow, label: "Stopped", body: whole(stopped(a), plain), whole: true}
	case event.ActivityDelegate:
		query, _ := json.Marshal(map[string]string{"query": cut(p.hide(a.Query), argsCut)}, jsontext.AllowInvalidUTF8(true))
		return row{bullet: yellow, label: a.DelegateExpertKey, body: []line{{string(query), plain}}}
	case event.ActivityDelegationComplete:
		return p.returned(a)
	case event.ActivityProviderTool:
		return row{bullet: green, label: "Provider Ran", summary: cmp.Or(a.ToolName, "a tool")}
	case event.ActivityInteractiveTool:
		return row{bullet: yellow, label: "Interactive: " + a.ToolName, body: question(a.Args), whole: true}
	}
	return p.tool(a)
}

func stopped(a event.Activity) string {
	switch a.Reason {
	case event.StoppedByMaxSteps:
		return "The step limit was reached."
	case event.StoppedByLimit:
		return reached(a.Message)
	}
	return cmp.Or(a.Message, "interrupted")
}

// reached says which limit ended a Run. The numbers stand in the row before.
func reached(limit string) string {
	switch limit {
	case event.LimitTokens:
		return "The limit on tokens was reached."
	case event.LimitCost:
		return "The limit on the cost was reached."
	case event.LimitDuration:
		return "The time was up."
	case event.LimitDepth:
		return "Too many Experts delegated to one another in a row."
	case event.LimitLoop:
		return "It went in a circle."
	case event.LimitWorkspace:
		return "The workspace grew too large."
	}
	return "The limit was reached: " + cmp.Or(limit, "unknown")
}

// tool returns the row of a tool call. A failure takes the place of the body: what was
// not read or written is of no interest. Only a command says itself why it failed.
func (p *Printer) tool(a event.Activity) row {
	r := p.toolRow(a)
	if a.Error == "" {
		r.bullet = cmp.Or(r.bullet, green)
		return r
	}
	if a.HasUnknownOutcome() {
		return unknown(a, r)
	}
	r.bullet = red
	message := a.Error
	if !strings.HasPrefix(strings.ToLower(message), "error") {
		message = "Error: " + message // the colour alone must not say so
	}
	r.body = p.head(message, red)
	if a.Type == event.ActivityExec {
		r.body = slices.Concat(r.body, p.tail(a))
	}
	return r
}

// unknown turns r into the row of a call whose outcome nobody knows. The label says so,
// since a person may have to look before the run goes on.
func unknown(a event.Activity, r row) row {
	return row{bullet: yellow, label: r.label + " (outcome unknown)", summary: r.summary, body: whole(a.Error, plain), whole: true}
}

func (p *Printer) toolRow(a event.Activity) row {
	file := shortPath(a.Path, pathCut)
	switch a.Type {
	case event.ActivityAttemptCompletion:
		switch {
		case a.Error != "":
			return row{label: "Completion Failed"}
		case len(a.RemainingTodos) > 0:
			return row{bullet: yellow, label: "Completion Blocked",
				body: []line{{plural(len(a.RemainingTodos), "remaining task"), plain}}}
		}
		return row{label: "Completion Accepted"}
	case event.ActivityTodo:
		return p.todo(a)
	case event.ActivityClearTodo:
		return row{label: "Todo", summary: "Cleared"}
	case event.ActivityReadTextFile:
		r := row{label: "Read Text File", summary: file}
		if a.From != nil && a.To != nil {
			r.summary += lineRange(*a.From, *a.To)
		}
		if a.Content != nil {
			r.body = p.head(*a.Content, plain)
		}
		return r
	case event.ActivityWriteTextFile:
		return row{label: "Write Text File", summary: file, body: p.marked("+", a.Text, green)}
	case event.ActivityAppendTextFile:
		return row{label: "Append Text File", summary: file, body: p.marked("+", a.Text, green)}
	case event.ActivityEditTextFile:
		return row{label: "Edit Text File", summary: file,
			body: append(p.marked("-", a.OldText, red), p.marked("+", a.NewText, green)...)}
	case event.ActivityDeleteFile:
		return row{label: "Delete", summary: file, body: []line{{"Removed", plain}}}
	case event.ActivityDeleteDirectory:
		r := row{label: "Delete Dir", summary: file, body: []line{{"Removed", plain}}}
		if a.Recursive != nil && *a.Recursive {
			r.body[0].text += " (recursive)"
		}
		return r
	case event.ActivityMoveFile:
		return row{label: "Move", summary: shortPath(a.Source, pathCut),
			body: []line{{"→ " + shortPath(a.Destination, destinationCut), plain}}}
	case event.ActivityCreateDirectory:
		return row{label: "Mkdir", summary: file, body: []line{{"Created", plain}}}
	case event.ActivityListDirectory:
		return row{label: "List", summary: file, body: p.entries(a.Items)}
	case event.ActivityGetFileInfo:
		return row{label: "Info", summary: file, body: []line{{"Fetched", plain}}}
	case event.ActivityReadPDFFile:
		return row{label: "PDF", summary: file, body: []line{{"Read", plain}}}
	case event.ActivityReadImageFile:
		return row{label: "Image", summary: file, body: []line{{"Read", plain}}}
	case event.ActivityExec:
		return p.exec(a)
	}
	return p.general(a)
}

// general returns the row of a tool that we know nothing about, as all tools of servers
// are: what it was asked in short, and how its answer begins.
func (p *Printer) general(a event.Activity) row {
	if a.ToolName == "think" && strings.HasPrefix(a.SkillName, event.BaseSkill) && a.Error == "" {
		return p.prose(row{label: "Think"}, thought(a.Args), dim)
	}
	if a.ToolName == "healthCheck" && strings.HasPrefix(a.SkillName, event.BaseSkill) && len(a.Args) <= len("{}") {
		return row{label: "Health Check"}
	}
	r := row{label: cmp.Or(a.ToolName, string(a.Type)), summary: p.arguments(a, headCut), body: p.head(said(a.Result), plain)}
	if p.opts.Verbose {
		r.summary = strings.TrimSpace(a.SkillName + " " + r.summary)
	}
	return r
}

// arguments returns the arguments of a call, if there are any, in at most n characters.
// Secrets go before the cut: half of one would not be known any more.
func (p *Printer) arguments(a event.Activity, n int) string {
	text := compact(a.Args)
	if text == "{}" {
		return ""
	}
	return cut(p.hide(text), n)
}

// said returns the result of a tool as text. Of an image or a file it has the type.
func said(parts []event.Part) string {
	var texts []string
	for _, part := range parts {
		switch part.Type {
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
