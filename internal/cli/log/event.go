package log

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/event"
)

// Lengths after which texts are cut, in characters.
const (
	queryCut   = 60
	resultCut  = 40
	answerCut  = 80
	messageCut = 100
	dataCut    = 1000 // of a provider's own call, which may hold a whole picture
)

// event prints one event, in full form, and the tool results that it brought. The journal
// has it in lean form, which names the Runs of delegates.
func (p *printer) event(e, lean event.Event, brought []event.ToolResult) {
	where := fmt.Sprintf("[Step %d]", e.StepNumber)
	if e.IsRuntime() {
		where = "[Runtime]"
	}
	p.write(fmt.Sprintf("%s %-23s %s\n", where, e.Type(), e.Time().Format(time.TimeOnly)))
	if b, ok := lean.Body.(event.CallDelegate); ok && len(b.Delegates) > 0 {
		p.delegates(e, b.Delegates)
	} else {
		p.details(e)
	}
	for _, r := range brought {
		p.result(r)
	}
	if end, ok := endOf(e.Body); ok && end.Checkpoint != nil {
		p.field("  Checkpoint", end.Checkpoint.ID)
	}
	p.blank()
}

func (p *printer) details(e event.Event) {
	switch b := e.Body.(type) {
	case event.StartRun:
		p.startRun(e, b)
	case event.CallTools:
		p.said(b.NewMessage)
		p.providerRan(e)
		p.calls(b.ToolCalls)
	case event.CallDelegate:
		for _, c := range b.ToolCalls {
			p.field("  Delegate to", c.SkillName)
			if p.verbose {
				p.text("    ", "Args: ", "", string(c.Args), 0)
			}
		}
	case event.CallInteractiveTool:
		if b.ToolCall != nil {
			p.line("  Question: [" + b.ToolCall.SkillName + "] " + b.ToolCall.ToolName)
			p.text("    ", "Args: ", "", string(b.ToolCall.Args), answerCut)
		}
	case event.Retry:
		p.providerRan(e)
		p.text("  ", "Reason: ", "", reason(b.Reason), answerCut)
		if b.DelayMS > 0 {
			p.field("  Delay", seconds(float64(b.DelayMS)/1000))
		}
	case event.CompleteRun:
		p.providerRan(e)
		if b.Text != nil {
			p.text("  ", "Result: ", "", *b.Text, answerCut)
		}
	case event.StopRunByError:
		p.field("  Error", b.Error.Name)
		p.field("  Message", b.Error.Message)
		p.field("  Retryable", fmt.Sprint(b.Error.IsRetryable))
	default:
		p.notes(e.Body)
	}
}

// notes prints the events of which a line says all.
func (p *printer) notes(body event.Body) {
	switch b := body.(type) {
	case event.StopRunByLimit:
		p.field("  Limit", b.Limit)
	case event.StopRunByInterrupt:
		p.field("  Reason", b.Reason)
	case event.LimitWarning:
		p.field("  Limit", limitWords(b))
		if p.verbose && b.NewMessage != nil {
			p.text("  ", "Message: ", `"`, b.NewMessage.Text(), 0)
		}
	case event.DefinitionChanged:
		p.field("  Expert", fmt.Sprintf("%s, %s → %s", b.Expert, cut(b.Before, 12), cut(b.After, 12)))
	case event.ModelFallback:
		p.field("  Model", fmt.Sprintf("%s → %s (%s)", b.From, b.To, b.Reason))
	case event.ProxyAccess:
		p.field("  Access", fmt.Sprintf("%s %s:%d", b.Action, b.Domain, b.Port))
		p.given("  Gate", b.Who())
		p.given("  Reason", b.Why())
	case event.SandboxCheck:
		if why, skipped := b.Skipped(); skipped {
			p.field("  Check", fmt.Sprintf("%s, skipped: %s", b.Check, why))
			break
		}
		p.field("  Check", fmt.Sprintf("%s, ok: %t", b.Check, b.OK))
		p.given("  Found", b.Message)
	case event.DockerBuildProgress:
		p.field("  Image", fmt.Sprintf("%s %s %s", b.Service, b.Stage, b.Message))
	case event.DockerContainerStatus:
		p.field("  Container", fmt.Sprintf("%s %s %s", b.Service, b.Status, b.Message))
	}
}

func (p *printer) startRun(e event.Event, b event.StartRun) {
	for _, m := range b.InputMessages {
		if m.Type == event.UserMessage {
			p.text("  ", "Query: ", `"`, m.Text(), queryCut)
			break
		}
	}
	if b.From != nil && b.From.RunID == e.RunID {
		p.field("  Resumes", "checkpoint "+b.From.CheckpointID)
	}
}

func (p *printer) calls(calls []event.ToolCall) {
	if !p.verbose {
		var names []string
		for _, c := range calls {
			names = append(names, headline(c))
		}
		p.field("  Tools", strings.Join(names, ", "))
		return
	}
	for _, c := range calls {
		p.line("  [" + c.SkillName + "] " + c.ToolName)
		p.text("    ", "Args: ", "", string(c.Args), 0)
	}
}

// providerRan prints what the provider ran itself. What it returned is not shown: mostly
// nobody but the provider can read it.
func (p *printer) providerRan(e event.Event) {
	calls := e.ProviderCalls()
	if len(calls) == 0 {
		return
	}
	if !p.verbose {
		var names []string
		for _, c := range calls {
			names = append(names, providerTool(c))
		}
		p.field("  Provider ran", strings.Join(names, ", "))
		return
	}
	for _, c := range calls {
		p.line("  Provider ran " + providerTool(c))
		p.text("    ", "Call: ", "", cut(string(c.ProviderData), dataCut), 0)
	}
}

func providerTool(c event.Part) string { return cmp.Or(c.ToolName, "a tool") }

// said prints what the model said together with its calls, and when everything is
// asked for, what it thought.
func (p *printer) said(m *event.Message) {
	if thought := m.Thinking(); thought != "" && p.verbose {
		p.text("  ", "Reasoning: ", "", thought, 0)
	}
	if text := m.Text(); strings.TrimSpace(text) != "" {
		p.text("  ", "Message: ", `"`, strings.TrimSpace(text), answerCut)
	}
}

// endOf returns what the events at the end of a step have in common.
func endOf(body event.Body) (event.End, bool) {
	switch b := body.(type) {
	case event.ContinueToNextStep:
		return b.End, true
	case event.CompleteRun:
		return b.End, true
	case event.StopRunByInteractiveTool:
		return b.End, true
	case event.StopRunByDelegate:
		return b.End, true
	case event.StopRunByExceededMaxSteps:
		return b.End, true
	case event.StopRunByError:
		return b.End, true
	case event.StopRunByLimit:
		return b.End, true
	case event.StopRunByInterrupt:
		return b.End, true
	}
	return event.End{}, false
}

// reason shows the JSON text of a retry as words.
func reason(text string) string {
	var r struct {
		Error   string `json:"error"`
		Message string `json:"message"`
	}
	if json.Unmarshal([]byte(text), &r) != nil || r.Error == "" {
		return text
	}
	return strings.TrimSuffix(r.Error+": "+r.Message, ": ")
}
