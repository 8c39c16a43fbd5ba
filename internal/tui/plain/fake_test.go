package plain

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/tui"
	"github.com/perstack-go/perstack/rawjson"
)

// A project is a tui.Project of a test.
type project struct {
	experts     []tui.Expert
	jobs        []tui.Job
	events      map[string][]event.Event
	checkpoints []tui.Checkpoint
	doubt       string
	// run is what a job does. It is given what yields an event.
	run func(ctx context.Context, task tui.Task, ask tui.Asker, tell func(event.Body)) error

	mu     sync.Mutex
	counts bool     // readings of the history are noted, too
	calls  []string // what was asked of it
	runs   int
}

func (p *project) note(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls = append(p.calls, fmt.Sprintf(format, args...))
}

func (p *project) Experts(context.Context) ([]tui.Expert, error) { return p.experts, nil }

func (p *project) Jobs(_ context.Context, most int) ([]tui.Job, error) {
	if p.counts {
		p.note("jobs %d", most)
	}
	if most > 0 && most < len(p.jobs) {
		return p.jobs[:most], nil
	}
	return p.jobs, nil
}

func (p *project) Events(ctx context.Context, id string, follow bool) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		for _, e := range p.events[id] {
			if !yield(e, nil) {
				return
			}
		}
		if follow {
			<-ctx.Done()
			yield(event.Event{}, ctx.Err())
		}
	}
}

func (p *project) Checkpoints(context.Context, string) ([]tui.Checkpoint, error) {
	return p.checkpoints, nil
}

func (p *project) Diff(_ context.Context, _, id string) (string, error) {
	return "--- a/notes.txt\n+++ b/notes.txt\n-old\n+new " + id, nil
}

func (p *project) Record(_ context.Context, _, id string) (int64, []byte, error) {
	return 7, []byte(`{"id":"` + id + `"}`), nil
}

func (p *project) Delete(_ context.Context, id string) error {
	p.note("delete %s", id)
	return nil
}

func (p *project) Paths(context.Context) ([]string, bool, error) { return nil, false, nil }

func (p *project) Attach(_ context.Context, path string) (tui.Attachment, error) {
	if path == "missing.png" {
		return tui.Attachment{}, errors.New("missing.png: there is no such file")
	}
	return tui.Attachment{Path: path, Name: path, Kind: "image", Size: 210 << 10, Outside: strings.HasPrefix(path, "/")}, nil
}

func (p *project) Inputs(context.Context) ([]string, error) { return nil, nil }

func (p *project) Remember(_ context.Context, input string) error {
	p.note("remember %s", input)
	return nil
}

func (p *project) Doubt(context.Context, string) string { return p.doubt }

func (p *project) Resume(id string) string { return "perstack start --continue-job " + id }

func (p *project) Run(ctx context.Context, task tui.Task, ask tui.Asker) iter.Seq2[event.Event, error] {
	p.note("run %+v", task)
	id := task.Job
	if id == "" {
		id = "job1abcdef"
	}
	return func(yield func(event.Event, error) bool) {
		n := 0
		p.runs++
		run := fmt.Sprintf("r1%d", p.runs)
		tell := func(body event.Body) {
			n++
			yield(event.Event{ID: fmt.Sprintf("e%d-%d", p.runs, n), JobID: id, RunID: run, ExpertKey: task.Expert, StepNumber: 1, Timestamp: time.Now().UnixMilli(), Body: body}, nil)
		}
		if task.Answer {
			tell(event.StartRun{Answers: []event.ToolResult{{ID: "q1", ToolName: "askUser", Result: []event.Part{text(task.Query)}}}})
		} else {
			tell(event.StartRun{InputMessages: []*event.Message{message(event.UserMessage, text(task.Query))}})
		}
		if err := p.run(ctx, task, ask, tell); err != nil {
			yield(event.Event{}, err)
		}
	}
}

func message(typ event.MessageType, parts ...event.Part) *event.Message {
	return &event.Message{ID: "m", Type: typ, Contents: parts}
}

func text(s string) event.Part { return event.Part{ID: "p", Type: event.TextPart, Text: s} }

// complete ends a Run with an answer.
func complete(answer string) event.Body {
	return event.CompleteRun{NewMessage: message(event.ExpertMessage, text(answer))}
}

// call returns the events of a tool call.
func call(id, tool, args, result string) []event.Body {
	return []event.Body{
		event.StartGeneration{},
		event.CallTools{
			NewMessage: message(event.ExpertMessage, event.Part{Type: event.ToolCallPart, ToolCallID: id, ToolName: tool, Args: rawjson.Value(args)}),
			ToolCalls:  []event.ToolCall{{ID: id, SkillName: event.BaseSkill, ToolName: tool}},
		},
		event.StartToolCall{ToolCallID: id},
		event.EndToolCall{ToolResult: event.ToolResult{ID: id, SkillName: event.BaseSkill, ToolName: tool, Result: []event.Part{text(result)}}},
	}
}

// A console is what a person sees and types. What is typed is shown, as a terminal does.
type console struct {
	t          *testing.T
	echo       bool
	mu         sync.Mutex
	out        bytes.Buffer
	in         *io.PipeWriter
	interrupts chan struct{}
	done       chan struct{}
	err        error
	flushed    int
}

func (c *console) Write(data []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.out.Write(data)
}

func (c *console) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.out.String()
}

// start runs the program in a bubble of synctest.
func start(t *testing.T, opts Options) *console {
	in, w := io.Pipe()
	c := &console{t: t, echo: opts.Terminal, in: w, interrupts: make(chan struct{}), done: make(chan struct{})}
	opts.In, opts.Out, opts.Interrupts = in, c, c.interrupts
	opts.Clock = func() time.Time { return time.Now().UTC() }
	opts.Flush = func() { c.flushed++ }
	if opts.Name == "" {
		opts.Name = "trip"
	}
	go func() {
		defer close(c.done)
		c.err = Run(t.Context(), opts)
	}()
	synctest.Wait()
	return c
}

// type enters lines as a person does, with a second between them.
func (c *console) enter(lines ...string) {
	c.t.Helper()
	for _, l := range lines {
		time.Sleep(time.Second)
		c.put(l)
		synctest.Wait()
	}
}

// put enters a line at once.
func (c *console) put(l string) {
	if c.echo {
		fmt.Fprintln(c, l)
	}
	if _, err := io.WriteString(c.in, l+"\n"); err != nil {
		c.t.Error(err)
	}
}

// end closes the input and waits for the program.
func (c *console) end() string {
	c.t.Helper()
	_ = c.in.Close() // a pipe has none
	return c.wait()
}

func (c *console) wait() string {
	c.t.Helper()
	<-c.done
	if c.err != nil {
		c.t.Error(c.err)
	}
	_ = c.in.Close() // a pipe has none
	return strings.ReplaceAll(c.String(), "\a", "<bell>")
}

func TestMain(m *testing.M) {
	time.Local = time.UTC //nolint:gosmopolitan // what is shown must not depend on the machine
	os.Exit(m.Run())
}
