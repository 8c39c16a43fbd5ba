package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/cli/prompt"
	"github.com/perstack-go/perstack/internal/columns"
	"github.com/perstack-go/perstack/internal/inputs"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/process"
	"github.com/perstack-go/perstack/internal/terminal"
)

// This file asks the user for what is missing before a job starts or resumes.

// keyboard returns the terminal that the user types on. ok is false if nothing can be asked.
func (o *Options) keyboard() (in *os.File, ok bool) {
	in, isFile := o.Host.Stdin.(*os.File)
	return in, isFile && o.View == nil && o.Host.CanAsk()
}

// ask asks for a text.
func (o *Options) ask(ctx context.Context, q prompt.Text) (string, error) {
	in, ok := o.keyboard()
	if !ok {
		return "", prompt.ErrNoTerminal
	}
	h := o.Host
	q.Color, q.Plain = h.Colors(), h.Getenv("TERM") == "dumb"
	text, err := prompt.Read(ctx, in, h.Plain(h.Stderr), q)
	if errors.Is(err, prompt.ErrLeft) {
		return "", &host.ExitError{Code: process.ExitInterrupt, Err: errors.New("stopped; nothing was started")}
	}
	return text, err
}

// askQuery asks what the Expert should do, and keeps the answer for the next time.
func (o *Options) askQuery(ctx context.Context, expertKey string, history host.History) (string, error) {
	past := inputs.File{Path: history.Project.Inputs(), Secrets: &o.Host.Secrets}
	entries, err := past.Load()
	if err != nil {
		o.logger().Warn("earlier queries cannot be offered", "error", err)
	}
	query, err := o.ask(ctx, prompt.Text{Title: "What should " + expertKey + " do?", History: entries})
	if err != nil {
		return "", err
	}
	if err := past.Add(ctx, query); err != nil {
		o.logger().Warn("the query cannot be offered next time", "error", err)
	}
	return query, nil
}

// askPending asks the first question that a job waits with; nil if it waits with none. The others are
// asked when the job runs.
func (o *Options) askPending(ctx context.Context, t *target) (*event.ToolAnswer, error) {
	if _, ok := o.keyboard(); !ok || t.history == nil {
		return nil, nil
	}
	point, ok := t.history.Origin("")
	if !ok {
		return nil, nil
	}
	state := t.history.Root(point).State
	if state.Status != event.StatusStoppedByInteractiveTool || len(state.Pending()) == 0 {
		return nil, nil
	}
	call := state.Pending()[0]
	text, err := o.ask(ctx, prompt.Question(state.Expert.Key, call, o.Host.Secrets.Redact))
	if errors.Is(err, prompt.ErrNoTerminal) {
		return nil, nil // the run says how to answer
	}
	return &event.ToolAnswer{ToolCallID: call.ID, ToolName: call.ToolName, SkillName: call.SkillName, Text: text}, err
}

// maxListed is how many Experts are listed.
const maxListed = 50

// chooseExpert returns the Expert that is meant where none was named: the only one of the file, or the
// one that the user chooses.
func (o *Options) chooseExpert(ctx context.Context, config *manifest.Config) (string, error) {
	keys := config.Keys()
	missing := host.Usagef("no Expert given; call it as: perstack run <expert> [query]; %s has: %s",
		terminal.CleanLine(config.Path), terminal.CleanLine(strings.Join(keys, ", ")))
	switch _, ok := o.keyboard(); {
	case len(keys) == 1:
		return keys[0], nil
	case len(keys) == 0:
		return "", host.Usagef("%s has no Expert; add one, such as [experts.writer] with an instruction", terminal.CleanLine(config.Path))
	case !ok:
		return "", missing
	}
	for i, e := range config.Experts[:min(len(keys), maxListed)] {
		line := fmt.Sprintf("%3d  %s  %s", i+1, terminal.CleanLine(e.Key), terminal.CleanLine(e.Description))
		fmt.Fprintln(o.Host.Stderr, columns.Shorten(strings.TrimRight(line, " "), max(o.Host.Width-1, 39)))
	}
	if more := len(keys) - maxListed; more > 0 {
		fmt.Fprintf(o.Host.Stderr, "     and %d more\n", more)
	}
	for {
		text, err := o.ask(ctx, prompt.Text{Title: "Which Expert? Give its number or its name."})
		if errors.Is(err, prompt.ErrNoTerminal) {
			return "", missing
		}
		if err != nil {
			return "", err
		}
		text = strings.TrimSpace(text)
		if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= len(keys) {
			return keys[n-1], nil
		}
		if slices.Contains(keys, text) {
			return text, nil
		}
		fmt.Fprintf(o.Host.Stderr, "There is no Expert %s.\n", terminal.CleanLine(strconv.Quote(text)))
	}
}
