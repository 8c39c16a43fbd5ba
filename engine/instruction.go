package engine

import (
	_ "embed"
	"strconv"
	"strings"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
)

//go:embed instruction.md
var loopRules string

// noUser is what an Expert is told that was asked by another: its questions would reach
// nobody.
const noUser = "Another Expert gave you this task. You cannot ask the user anything: decide for yourself, and say in your final answer what you would have needed to know."

// instruction writes the message that tells the model who it is. Its blocks come
// from different hands, so each is announced by a remark, and they are joined as they
// are: nothing in them is expanded or interpreted. Who asked is taken from the start of
// the Run and from nowhere else, so that no way into a Run can forget to say it.
func (r *run) instruction(start event.StartRun) *event.Message {
	e, delegated := r.expert, start.DelegatedBy != nil
	var b strings.Builder
	block := func(remark, text string) {
		if b.Len() > 0 {
			b.WriteString("\n\n---\n\n")
		}
		b.WriteString(remark + "\n\n" + strings.TrimSpace(text))
	}
	identity, rules, _ := strings.Cut(loopRules, "\n\n")
	block("This block says who you are.", identity)
	if delegated {
		rules = strings.TrimSpace(rules) + "\n\n" + noUser
	}
	block("This block says how you work.", strings.TrimSpace(rules)+
		"\n\nCurrent time: "+r.Source.Now().UTC().Format("2006-01-02T15:04:05.000Z")+
		"\nWorking directory: "+r.job.Workspace)
	block("This block is your expertise.", e.Instruction)

	var skills strings.Builder
	for _, s := range e.Skills {
		if s.Rule != "" && !(delegated && s.Type == expert.InteractiveSkill) {
			skills.WriteString("Rules for the skill \"" + s.Name + "\":\n" + s.Rule + "\n\n")
		}
	}
	block("This block has the rules of your skills.", skills.String())
	var team strings.Builder
	for _, d := range r.team {
		// What strangers wrote must not pass for one of these blocks: it is quoted, and
		// nothing in it is hidden.
		team.WriteString("- \"" + d.Name + "\"")
		if d.Description != "" {
			team.WriteString(": " + strconv.Quote(d.Description))
		}
		team.WriteString("\n")
	}
	block("This block lists the Experts that you can call as tools, by name.", team.String())

	return &event.Message{
		ID:       r.Source.NewID(),
		Type:     event.InstructionMessage,
		Contents: []event.Part{r.textPart(b.String())},
		Cache:    true,
	}
}

func (r *run) userMessage(text string) *event.Message {
	return &event.Message{ID: r.Source.NewID(), Type: event.UserMessage, Contents: []event.Part{r.textPart(text)}}
}

func (r *run) textPart(text string) event.Part {
	return event.Part{ID: r.Source.NewID(), Type: event.TextPart, Text: validText(text)}
}

// validText replaces bytes that are no UTF-8. JSON cannot hold them, and the live state
// must be the one that is folded from the journal.
func validText(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }
