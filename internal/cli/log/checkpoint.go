package log

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/history"
)

// printCheckpoint shows the state after a step.
func (v *survey) printCheckpoint(out *bufio.Writer) error {
	id, err := history.CheckpointIn(v.history, v.opts.Checkpoint)
	wrong, ok := errors.AsType[*history.IDError](err)
	switch {
	case ok && !wrong.None():
		return err
	case err != nil && v.damage != nil:
		return v.damage // it can be behind the damage
	case err != nil:
		return host.Usagef("checkpoint not found: %s; %s log %s shows the checkpoints of the job", v.opts.Checkpoint, v.opts.command(), v.jobID)
	}
	point, _ := v.history.At(id)
	cp := point.State.Checkpoint()
	if v.opts.JSON {
		return writeJSON(event.NewWriter(out), cp)
	}
	p := &printer{w: out, verbose: v.opts.Verbose}
	v.printJob(p)
	p.checkpoint(cp)
	if v.opts.Messages {
		p.line("Messages:")
		for _, m := range cp.Messages {
			p.message(m)
		}
		p.blank()
	}
	return nil
}

func (p *printer) checkpoint(cp *event.Checkpoint) {
	p.field("Checkpoint", cp.ID)
	p.field("Status", string(cp.Status))
	p.field("Step", fmt.Sprint(cp.StepNumber))
	p.field("Expert", cp.Expert.Key)
	p.field("Run", cp.RunID)
	p.field("Usage", usage(cp.Usage))
	for _, c := range cp.PendingToolCalls {
		p.field("Pending", c.ToolName+" ("+c.ID+")")
	}
	if cp.Error != nil {
		p.field("Error", cp.Error.Title()+": "+cp.Error.Message)
	}
	p.blank()
}

// message prints a message: its text, or else what its parts are. What the model thought
// has a line of its own: it would leave no space for what it said and did.
func (p *printer) message(m *event.Message) {
	var all, thoughts []string
	for _, part := range m.Contents {
		switch part.Type {
		case event.TextPart:
			all = append(all, part.Text)
		case event.ThinkingPart:
			thoughts = append(thoughts, part.Thinking)
		case event.ToolCallPart:
			all = append(all, part.ToolName+" "+string(part.Args))
		case event.ToolResultPart:
			all = append(all, part.ToolName+": "+event.FirstText(part.Contents))
		case event.ProviderPart:
			name := cmp.Or(part.ToolName, "a tool")
			if !part.IsProviderCall() {
				name = "result of " + name
			}
			all = append(all, "("+name+", run by the provider)")
		default:
			all = append(all, "("+string(part.Type)+")")
		}
	}
	p.text("  ", "["+string(m.Type)+"] ", strings.Join(all, "\n"), messageCut)
	if thought := strings.TrimSpace(strings.Join(thoughts, "\n\n")); thought != "" {
		p.text("    ", "Reasoning: ", thought, messageCut)
	}
}
