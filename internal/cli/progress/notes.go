package progress

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/job"
)

// notes returns the rows of events that are no activity: the start of the job, what
// concerns the run's safety or budget, and, when asked for, the runtime's doings.
func (p *Printer) notes(e event.Event) []row {
	switch b := e.Body.(type) {
	case event.InitializeRuntime:
		return p.start(e, b)
	case event.StartRun:
		return p.cells(e, b)
	case event.LimitWarning:
		return note(yellow, "Limit", b.Limit, warning(b))
	case event.DefinitionChanged:
		return note(yellow, "Definition Changed", b.Expert, "The Run goes on with the new definition.")
	case event.ModelFallback:
		return note(yellow, "Model", b.From+" → "+b.To, b.Reason)
	case event.ProxyAccess:
		return p.network(b)
	case event.SandboxCheck:
		if !b.OK {
			return note(red, "Sandbox", b.Check+" failed", cmp.Or(b.Message, "The check failed."))
		}
		if why, skipped := b.Skipped(); skipped && p.opts.Verbose {
			return note(yellow, "Sandbox", b.Check+" skipped", why)
		}
		if p.opts.Verbose {
			return note(green, "Sandbox", b.Check, b.Message)
		}
	case event.DockerContainerStatus:
		if bad := b.Status == "error" || b.Status == "unhealthy"; bad || p.opts.Verbose {
			return note(outcome(!bad), "Container", b.Service+" "+b.Status, b.Message)
		}
	case event.DockerBuildProgress:
		if failed := b.Stage == "error"; failed || p.opts.Verbose {
			return note(outcome(!failed), "Image", b.Service+" "+b.Stage, b.Message)
		}
	}
	if p.opts.Verbose {
		return p.verbose(e)
	}
	return nil
}

// start announces the job once. Every Run of it, and every resume, says the same again.
func (p *Printer) start(e event.Event, b event.InitializeRuntime) []row {
	if p.job == e.JobID {
		return nil
	}
	p.job = e.JobID
	return note(cyan, "Run "+b.ExpertName, b.Model+", job "+e.JobID, "")
}

// cells says once that the built-in runtime keeps cells: they are asked for by a flag, and
// what they refuse looks like a fault of the program that is refused.
func (p *Printer) cells(e event.Event, b event.StartRun) []row {
	if len(b.Spec) == 0 || p.celled == e.JobID {
		return nil
	}
	if spec, err := job.ParseRecorded(b.Spec); err != nil || !spec.Isolation.Sandbox {
		return nil
	}
	p.celled = e.JobID
	return note(cyan, "Sandbox", "skills and commands run in a sandbox, each skill in its own", "")
}

func (p *Printer) verbose(e event.Event) []row {
	switch b := e.Body.(type) {
	case event.SkillStarting:
		return note(plain, "Skill Starting", b.SkillName, commandLine(b))
	case event.SkillConnected:
		return note(plain, "Skill Connected", b.SkillName, ready(b))
	case event.SkillDisconnected:
		return note(plain, "Skill Disconnected", b.SkillName, "")
	case event.SkillStderr:
		return []row{{label: "Skill Output", summary: b.SkillName, body: p.head(b.Message, dim)}}
	}
	return nil
}

// warning says how much of a limit is used, in its own measure, and whether the model
// knows.
func warning(b event.LimitWarning) string {
	text := figure(b.Used) + " of " + figure(b.Max) + " used"
	switch b.Limit {
	case event.LimitCost:
		text = fmt.Sprintf("$%.4f of $%.4f used", b.Used, b.Max)
	case event.LimitDuration:
		text = span(b.Used) + " of " + span(b.Max) + " used"
	case event.LimitLoop:
		text = "The same " + figure(b.Used) + " times"
	case event.LimitDepth:
		text = figure(b.Used) + " Experts in a row, and " + figure(b.Max) + " are allowed"
	}
	if b.NewMessage != nil {
		text += ", and the model is told"
	}
	return text
}

// span writes seconds as a time, without digits that nobody reads.
func span(seconds float64) string {
	if seconds < 10 {
		return fmt.Sprintf("%.1fs", seconds)
	}
	return time.Duration(seconds * float64(time.Second)).Round(time.Second).String()
}

// figure writes a number without an exponent: bytes run into the millions.
func figure(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

func outcome(ok bool) colour {
	if ok {
		return green
	}
	return red
}

func note(bullet colour, label, summary, text string) []row {
	r := row{bullet: bullet, label: label, summary: summary}
	if text != "" {
		r.body = []line{{text, plain}}
	}
	return []row{r}
}
