package engine

import (
	_ "embed"
	"strconv"
	"strings"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
)

//go:embed instruction.md
var instructionText string

// delegateText is added for a delegate, because its questions would reach no user.
//
//go:embed instruction_delegate.md
var delegateText string

// planInstruction is added for a Run that only plans.
//
//go:embed instruction_plan.md
var planInstruction string

// instruction writes the system prompt. Its sections are joined as they are: nothing in them
// is expanded. Empty sections are left out. Whether the Run is a delegate's is read from its
// start event, so that every way to start a Run says it.
func (r *run) instruction(start event.StartRun) *event.Message {
	delegated := start.DelegatedBy != nil
	var b strings.Builder
	add := func(heading, text string) {
		if text = strings.TrimSpace(text); text != "" {
			b.WriteString(heading + "\n\n" + text + "\n\n")
		}
	}
	b.WriteString(strings.TrimSpace(instructionText) + "\n\n")
	if delegated {
		b.WriteString(strings.TrimSpace(delegateText) + "\n\n")
	}
	if start.Plan {
		b.WriteString(strings.TrimSpace(planInstruction) + "\n\n")
	}
	b.WriteString("Current time: " + r.parts.Source.Now().UTC().Format("2006-01-02T15:04:05.000Z") +
		"\nWorking directory: " + r.spec.ToolDir() + "\n\n")
	add("# Your expertise", r.expert.Instruction)
	var rules strings.Builder
	for _, s := range r.expert.Skills {
		if s.Rule != "" && !(delegated && s.Type == expert.InteractiveSkill) {
			rules.WriteString("Rules for the skill \"" + s.Name + "\":\n" + s.Rule + "\n\n")
		}
	}
	add("# Rules for your skills", rules.String())
	var delegates strings.Builder
	for _, d := range r.delegates {
		// A description can come from a registry and must not look like a section of this
		// prompt. Quoting keeps it on one line and makes invisible characters visible.
		delegates.WriteString("- \"" + d.Name + "\"")
		if d.Description != "" {
			delegates.WriteString(": " + strconv.Quote(d.Description))
		}
		delegates.WriteString("\n")
	}
	add("# Experts that you can call as tools, by name", delegates.String())

	return &event.Message{
		ID:       r.newID(),
		Type:     event.InstructionMessage,
		Contents: []event.Part{r.textPart(strings.TrimSpace(b.String()))},
		Cache:    true,
	}
}

func (r *run) userMessage(text string) *event.Message {
	return &event.Message{ID: r.newID(), Type: event.UserMessage, Contents: []event.Part{r.textPart(text)}}
}

func (r *run) textPart(text string) event.Part {
	return event.Part{ID: r.newID(), Type: event.TextPart, Text: validText(text)}
}

// validText replaces bytes that are not UTF-8. JSON cannot hold them, and the live state must
// equal the state that is folded from the journal.
func validText(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }
