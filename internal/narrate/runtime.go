package narrate

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/wording"
	"github.com/perstack-go/perstack/job"
)

// runtime takes in an event about the runtime: what concerns the safety of the job, and
// what else happens around its Runs.
func (b *batch) runtime() {
	switch body := b.event.Body.(type) {
	case event.InitializeRuntime:
		// Every Run of the job says it, and every time that it resumes.
		if b.once("start") {
			b.add(Row{Kind: Start, Label: "Start", Summary: fmt.Sprintf("%s, %s, job %s", body.ExpertName, body.Model, b.event.JobID)})
		}
	case event.ToolProgress:
		b.note(body.ToolCallID, body.Message)
	case event.ProxyAccess:
		b.network(body)
	case event.SandboxCheck:
		b.check(body)
	case event.SandboxHint:
		b.hint(body)
	case event.DockerContainerStatus:
		r := Row{Kind: Container, Label: "Container", Summary: body.Service + " " + body.Status, Body: text(body.Message), Minor: true}
		if body.Status == "error" || body.Status == "unhealthy" {
			r.State, r.Minor = Failed, false
		}
		b.add(r)
	case event.DockerBuildProgress:
		r := Row{Kind: Image, State: Running, Label: "Image", Summary: body.Service + " " + body.Stage, Body: text(body.Message), Tail: body.Message, Progress: body.Progress}
		switch body.Stage {
		case "error":
			r.State = Failed
		case "complete":
			r.State = Done
		}
		b.add(r)
	case event.SkillStarting:
		b.narrator.started[b.event.RunID+" "+body.SkillName] = true
		b.add(Row{Kind: Skill, State: Running, Label: "Skill Starting", Summary: body.SkillName, Argv: append([]string{body.Command}, body.Args...)})
	case event.SkillConnected:
		b.add(Row{Kind: Skill, Label: "Skill Connected", Summary: body.SkillName, Body: text(ready(body)), Minor: true})
	case event.SkillDisconnected:
		b.add(Row{Kind: Skill, Label: "Skill Disconnected", Summary: body.SkillName, Minor: true})
	case event.SkillStderr:
		// Before its server is started, a skill says how its package is fetched. After
		// that the server itself speaks, for those who ask for everything.
		r := Row{Kind: Skill, Label: "Skill Output", Summary: body.SkillName, Body: []Text{{Text: body.Message, Style: Quiet}}, Minor: true}
		if !b.narrator.started[b.event.RunID+" "+body.SkillName] {
			r.State, r.Tail, r.Minor = Running, body.Message, false
		}
		b.add(r)
	}
}

// once reports whether this is the first time that the job has something to say.
func (b *batch) once(what string) bool {
	first := !b.narrator.announced[what]
	b.narrator.announced[what] = true
	return first
}

// spec reads what the job runs, which the first start of a job has. It says once that the
// local runtime uses a sandbox for each skill, for those who ask for everything: a sandbox is
// what they expect, and what it refuses has a row of its own. A Spec that cannot be read is reported when the job is
// resumed.
func (b *batch) spec(body event.StartRun) {
	if len(body.Spec) == 0 {
		return
	}
	spec, err := job.ParseRecorded(body.Spec)
	if err != nil {
		return
	}
	b.narrator.workspace = spec.ToolDir()
	b.narrator.limits(&spec)
	if b.narrator.local = nil; spec.Runtime == job.Local {
		b.narrator.local = &spec.Isolation.Reach
	}
	if level := spec.Isolation.Sandbox; level.Restricts() && b.once("sandbox") {
		b.add(Row{Kind: Start, Label: "Sandbox", Summary: "each skill runs in a sandbox of its own, and so do commands (level " + string(level) + ")", Minor: true})
	}
}

// check shows a probe of the sandbox. One that was skipped, because what it is about was
// not wanted, is not one that was passed.
func (b *batch) check(body event.SandboxCheck) {
	r := Row{Kind: Sandbox, Label: "Sandbox", Summary: body.Check, Body: text(body.Message), Minor: body.OK}
	if !body.OK {
		r.State, r.Summary, r.Body = Failed, body.Check+" failed", text(cmp.Or(body.Message, "The check failed."))
	} else if why, skipped := strings.CutPrefix(body.Message, "not wanted: "); skipped {
		r.State, r.Summary, r.Body = Warning, body.Check+" skipped", text(why)
	}
	b.add(r)
}

// ready says how a server calls itself and how long its start took.
func ready(b event.SkillConnected) string {
	var words []string
	if info := b.ServerInfo; info != nil {
		words = append(words, cmp.Or(strings.TrimSpace(info.Name+" "+info.Version), "a server without a name"))
	}
	if b.TotalDurationMS != nil {
		words = append(words, fmt.Sprintf("%d ms", *b.TotalDurationMS))
	}
	return strings.Join(words, ", ")
}

// text is a plain body; none if there is nothing to say.
func text(s string) []Text { return styled(s, Plain) }

func styled(s string, style Style) []Text {
	if s == "" {
		return nil
	}
	return []Text{{Text: s, Style: style}}
}

// reached says which limit ended a Run. The row of the warning before has the numbers.
func reached(limit string) string {
	return cmp.Or(map[string]string{
		event.LimitTokens:    "The limit on tokens was reached.",
		event.LimitToolCalls: "The next tool calls would exceed the limit.",
		event.LimitCost:      "The limit on the cost was reached.",
		event.LimitDuration:  "The limit on the duration was reached.",
		event.LimitDepth:     "The limit on the depth of delegation was reached.",
		event.LimitLoop:      "The Expert repeated itself.",
		event.LimitDenials:   "Too many tool calls were denied.",
		event.LimitWorkspace: "The workspace grew too large.",
		event.LimitSnapshot:  "The files of the workspace cannot be stored.",
		event.LimitDisk:      "Programs added too much to the disk, three times.",
		event.LimitMemory:    "Programs used too much memory, three times.",
	}[limit], "The limit was reached: "+cmp.Or(limit, "unknown"))
}

// used says how much of a limit is used, in its own measure, and whether the model knows.
func used(b event.LimitWarning) string {
	text := wording.Number(b.Used) + " of " + wording.Number(b.Max) + " used"
	switch b.Limit {
	case event.LimitCost:
		text = fmt.Sprintf("$%.4f of $%.4f used", b.Used, b.Max)
	case event.LimitDuration:
		text = span(b.Used) + " of " + span(b.Max) + " used"
	case event.LimitLoop:
		text = "the same " + wording.Number(b.Used) + " times in a row"
		if b.Max < 2 {
			text = "an Expert above this one was asked the very same"
		}
	case event.LimitInput:
		text = fmt.Sprintf("the provider counted %s of about %s tokens that were sent; its server may have cut the conversation, so raise its context length", wording.Number(b.Used), wording.Number(b.Max))
	case event.LimitDepth:
		text = fmt.Sprintf("%s Experts on one path of delegation, and %s are allowed", wording.Number(b.Used), wording.Number(b.Max))
	}
	if b.NewMessage != nil {
		text += ", and the model is told"
	}
	return text
}

// span writes seconds as a duration, in tenths only if it is short.
func span(seconds float64) string {
	if seconds < 10 {
		return fmt.Sprintf("%.1fs", seconds)
	}
	return time.Duration(seconds * float64(time.Second)).Round(time.Second).String()
}
