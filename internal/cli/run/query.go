package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/cli/prompt"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/job"
)

// maxQuery bounds a query: more than this is a mistaken file, not a task.
const maxQuery = 4 << 20

// queryNotice is how long a query may take before the user is told what is waited for.
const queryNotice = 100 * time.Millisecond

// input turns flags and query into what the user wants.
func (o *Options) input(ctx context.Context, t *target, history host.History) (job.Input, error) {
	query, err := o.query(ctx)
	if query == "" && !o.HasQuery && !o.continues() && err == nil {
		query, err = o.askQuery(ctx, t.expertKey, history)
		if errors.Is(err, prompt.ErrNoTerminal) {
			err = nil // what is missing is said below
		}
	}
	if err != nil {
		return job.Input{}, err
	}
	// The Spec may relax what was recorded: flags and files have been compared with it.
	in := job.Input{Query: query, Continue: o.continues(), Relax: o.continues(), TrustHistory: o.TrustHistory, From: t.from}
	switch {
	case o.IsAnswer && query == "":
		return job.Input{}, host.Usagef("-i needs the answer as the query")
	case o.IsAnswer:
		in.Query, in.Answer = "", answer(query)
	case in.Continue && o.saysNothing():
		in.Answer, err = o.askPending(ctx, t)
		return in, err
	case !in.Continue && query == "":
		return job.Input{}, host.Usagef("no query given; pass it as the second argument, with --query-file, or on standard input")
	}
	return in, nil
}

// saysNothing reports whether a job is to be resumed as it is: without a query, at its head.
func (o *Options) saysNothing() bool {
	return !o.HasQuery && o.QueryFile == "" && !o.IsAnswer && o.ResumeFrom == ""
}

// query reads the query from where the user put it.
func (o *Options) query(ctx context.Context) (string, error) {
	switch {
	case o.QueryFile != "":
		return o.readQuery(ctx, o.QueryFile, func() (io.ReadCloser, error) { return os.Open(o.Host.Path(o.QueryFile)) })
	case o.Query == "-", !o.HasQuery && !o.continues() && !o.Host.StdinIsTerminal:
		return o.readQuery(ctx, "standard input", func() (io.ReadCloser, error) { return io.NopCloser(o.Host.Stdin), nil })
	}
	return strings.TrimSpace(o.Query), nil
}

// readQuery reads to the end, or until the user gives up: opening and reading a pipe
// can take for ever.
func (o *Options) readQuery(ctx context.Context, from string, open func() (io.ReadCloser, error)) (string, error) {
	o.logger().Debug("waiting for the query", "from", from)
	var data []byte
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		var r io.ReadCloser
		if r, err = open(); err != nil {
			return
		}
		defer r.Close()
		data, err = io.ReadAll(io.LimitReader(r, maxQuery+1))
	}()
	soon := time.NewTimer(queryNotice)
	defer soon.Stop()
	for waiting := true; waiting; {
		select {
		case <-done:
			waiting = false
		case <-soon.C: // a pipe that stays open looks like a program that hangs
			fmt.Fprintln(o.Host.Stderr, "perstack: reading the query from "+terminal.CleanLine(from)+"; Ctrl-C stops")
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
	if err != nil {
		return "", host.Usagef("read the query from %s: %w", from, err)
	}
	if len(data) > maxQuery {
		return "", host.Usagef("the query from %s is longer than %d MiB; put it into a file of the workspace and name the file", from, maxQuery>>20)
	}
	return strings.TrimSpace(string(data)), nil
}

// answer reads the answer to a question: the JSON form names the question, plain text
// answers the first that is open.
func answer(text string) *event.ToolAnswer {
	var full struct {
		ToolCallID string  `json:"toolCallId"`
		ToolName   string  `json:"toolName"`
		SkillName  string  `json:"skillName"`
		Text       *string `json:"text"`
	}
	err := json.Unmarshal([]byte(text), &full)
	if err != nil || full.ToolCallID == "" || full.ToolName == "" || full.SkillName == "" || full.Text == nil {
		return &event.ToolAnswer{Text: text}
	}
	return &event.ToolAnswer{ToolCallID: full.ToolCallID, ToolName: full.ToolName, SkillName: full.SkillName, Text: *full.Text}
}
