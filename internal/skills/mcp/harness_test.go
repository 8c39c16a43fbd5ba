package mcp_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/internal/sandbox/policy"
	"github.com/perstack-go/perstack/internal/skills/mcp"
	"github.com/perstack-go/perstack/skill"
)

// A bench is a skill on the evil server, with all that it told.
type bench struct {
	*mcp.Skill
	t       *testing.T
	changed chan struct{}
	stopped chan error

	mu     sync.Mutex
	events []event.Body
	log    bytes.Buffer
}

func (b *bench) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.log.Write(p)
}

// newBench makes a skill of a mode of the evil server. Options may be changed by set.
func newBench(t *testing.T, set func(*mcp.Options), args ...string) *bench {
	t.Helper()
	b := &bench{t: t, changed: make(chan struct{}, 100), stopped: make(chan error, 100)}
	path, dir := program(t), t.TempDir()
	o := mcp.Options{
		Name: "evil",
		Process: func(context.Context) (mcp.Process, error) {
			return mcp.Process{
				Server:  sandbox.Server{Program: path, Args: args, Dir: dir, Environ: os.Environ(), Policy: policy.Off(policy.JobOff)},
				Command: "evilmcp", Args: args,
			}, nil
		},
		Commands: commands,
		Report: func(e event.Body) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.events = append(b.events, e)
		},
		Stop:    func(err error) { b.stopped <- err },
		Changed: func() { b.changed <- struct{}{} },
		Redact:  func(text string) string { return text },
		Now:     time.Now,
		Log:     slog.New(slog.NewTextHandler(b, nil)),
	}
	if set != nil {
		set(&o)
	}
	b.Skill = mcp.New(o)
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return b
}

// begun is a bench whose server was started.
func begun(t *testing.T, set func(*mcp.Options), args ...string) *bench {
	t.Helper()
	b := newBench(t, set, args...)
	if err := b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return b
}

// do calls a tool and returns what the model is told.
func (b *bench) do(tool string, args map[string]any) (text string, isError bool) {
	b.t.Helper()
	encoded, err := json.Marshal(args, json.FormatNilMapAsNull(false))
	if err != nil {
		b.t.Fatal(err)
	}
	r, err := b.Call(b.t.Context(), event.ToolCall{ID: "c1", SkillName: "other", ToolName: tool, Args: encoded})
	if err != nil {
		b.t.Fatalf("call of %s: %v", tool, err)
	}
	if r.ID != "c1" || r.SkillName != "evil" || r.ToolName != tool {
		b.t.Errorf("the result is of %q %q %q", r.ID, r.SkillName, r.ToolName)
	}
	return textOf(r), r.IsError
}

func (b *bench) echo(text string) (string, bool) {
	b.t.Helper()
	return b.do("echo", map[string]any{"text": text})
}

func textOf(r event.ToolResult) string {
	var all []string
	for _, p := range r.Result {
		all = append(all, p.Text)
	}
	return strings.Join(all, "\n")
}

func (b *bench) names() string {
	b.t.Helper()
	tools, err := b.Tools(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	var names []string
	for _, tool := range tools {
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// told returns the events of one kind.
func told[T event.Body](b *bench) (list []T) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.events {
		if one, ok := e.(T); ok {
			list = append(list, one)
		}
	}
	return list
}

func (b *bench) logged() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.log.String()
}

// lockOf is what a lockfile would have of a server, installed just now.
func lockOf(t *testing.T, args ...string) []skill.Tool {
	t.Helper()
	b := begun(t, nil, args...)
	tools, err := b.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	return tools
}

func quick(o *mcp.Options) { o.StartTimeout = time.Second }

func impatient(o *mcp.Options) { o.CallTimeout = 200 * time.Millisecond }

func has(t *testing.T, text string, wanted ...string) {
	t.Helper()
	for _, w := range wanted {
		if !strings.Contains(text, w) {
			t.Errorf("%q does not say %q", clipped(text), w)
		}
	}
}

func clipped(text string) string { return fmt.Sprintf("%.2000s", text) }
