package log

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/store"
)

// checkpoint shows the state after a step.
func checkpoint(ctx context.Context, opts *Options, s store.Store, jobID string) error {
	v, err := look(ctx, opts, s, jobID)
	if err != nil {
		return err
	}
	point, ok := v.history.At(opts.Checkpoint)
	switch {
	case !ok && v.damage != nil:
		return v.damage // it may stand behind
	case !ok:
		return host.Usagef("checkpoint not found: %s; %s log %s shows the checkpoints of the job", opts.Checkpoint, opts.command(), jobID)
	}
	cp := point.State.Checkpoint()
	if opts.JSON {
		line, err := json.Marshal(cp, json.Deterministic(true))
		if err == nil {
			err = event.NewWriter(opts.Host.Stdout).WriteLine(line)
		}
		if err != nil {
			return err
		}
		return v.end(opts)
	}
	var out strings.Builder
	p := &printer{w: &out, verbose: opts.Verbose}
	v.printJob(p, opts)
	p.checkpoint(cp)
	if opts.Messages {
		p.line("Messages:")
		for _, m := range cp.Messages {
			p.message(m)
		}
		p.blank()
	}
	if _, err := fmt.Fprint(opts.Host.Stdout, out.String()); err != nil {
		return err
	}
	return v.end(opts)
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
		p.field("Error", cp.Error.Name+": "+cp.Error.Message)
	}
	p.blank()
}

// message prints a message: its text, or else what its parts are. What the model thought
// has a line of its own: it would leave no room for what it said and did.
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
	p.text("  ", "["+string(m.Type)+"] ", "", strings.Join(all, "\n"), messageCut)
	if thought := strings.TrimSpace(strings.Join(thoughts, "\n\n")); thought != "" {
		p.text("    ", "Reasoning: ", "", thought, messageCut)
	}
}
