package skill_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/skill"
)

// A late skill lists its tools when it is told to, or not at all.
type late struct {
	fake
	listed chan struct{} // closed when the list may be given
	panics bool
}

func (l *late) Tools(ctx context.Context) ([]skill.Tool, error) {
	select {
	case <-l.listed:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if l.panics {
		panic("a bug")
	}
	return l.fake.Tools(ctx)
}

// lazyInit without a lockfile: the box is there before the list, and Ready waits for it.
func TestBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &late{fake: fake{name: "late", tools: []string{"b"}}, listed: make(chan struct{})}
		starting, cancel := context.WithCancel(t.Context())
		box, err := skill.NewToolbox(starting, []skill.Source{
			{Skill: l, Background: true}, {Skill: &fake{name: "early", tools: []string{"a"}}},
		}, quiet)
		if err != nil {
			t.Fatal(err)
		}
		cancel() // the end of the start is not the end of the list
		if got := names(box); !slices.Equal(got, []string{"a"}) {
			t.Errorf("before: %q", got)
		}
		stopped, stop := context.WithCancelCause(t.Context())
		reason := errors.New("no more time")
		stop(reason)
		if err := box.Ready(stopped); !errors.Is(err, reason) {
			t.Errorf("Ready of a run that was stopped: %v", err)
		}
		ready := make(chan error)
		go func() { ready <- box.Ready(t.Context()) }()
		synctest.Wait()
		select {
		case err := <-ready:
			t.Errorf("Ready did not wait: %v", err)
		default:
		}
		before := box.Version()
		close(l.listed)
		if err := <-ready; err != nil {
			t.Fatal(err)
		}
		// The order is that of the configuration, not of who came first.
		if got := names(box); !slices.Equal(got, []string{"b", "a"}) || box.Version() == before {
			t.Errorf("after: %q, version %d then %d", got, before, box.Version())
		}
		version := box.Version()
		if err := box.Ready(t.Context()); err != nil || box.Version() != version {
			t.Errorf("again: %v, version %d then %d", err, version, box.Version())
		}
		if err := box.Close(); err != nil || l.closed != 1 {
			t.Errorf("close: %v, %d times", err, l.closed)
		}
	})
}

// A skill that cannot start in the background costs its own tools, not the run.
func TestBackgroundFails(t *testing.T) {
	open := make(chan struct{})
	close(open)
	broken := &late{fake: fake{name: "broken", listErr: errors.New("exit status 3\nsaid \u202elast")}, listed: open}
	buggy := &late{fake: fake{name: "buggy"}, listed: open, panics: true}
	box, err := skill.NewToolbox(t.Context(), []skill.Source{
		{Skill: broken, Background: true}, {Skill: buggy, Background: true}, {Skill: &fake{name: "fine", tools: []string{"a"}}},
	}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	if err := box.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := names(box); !slices.Equal(got, []string{"a"}) {
		t.Errorf("tools %q", got)
	}
	missing := box.Missing()
	for _, want := range []string{`skill "broken": list tools: exit status 3 said <U+202E>last`, `skill "buggy"`} {
		if !strings.Contains(missing, want) {
			t.Errorf("Missing() = %q, want %q", missing, want)
		}
	}
	// In the foreground it is the end.
	if _, err := skill.NewToolbox(t.Context(), []skill.Source{{Skill: broken}}, quiet); !errors.Is(err, broken.listErr) {
		t.Errorf("error %v", err)
	}
}

// The box of a run that ends while a skill still starts can be closed.
func TestCloseWhileComing(t *testing.T) {
	l := &late{fake: fake{name: "late"}, listed: make(chan struct{})}
	box, err := skill.NewToolbox(t.Context(), []skill.Source{{Skill: l, Background: true}}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	if err := box.Close(); err != nil || l.closed != 1 {
		t.Errorf("%v, closed %d times", err, l.closed)
	}
}

// The first failure stops the others, and is the one that is told.
func TestStartFailureStopsOthers(t *testing.T) {
	waiting := &late{fake: fake{name: "waiting"}, listed: make(chan struct{})}
	broken := &fake{name: "broken", listErr: errors.New("no such program")}
	_, err := skill.NewToolbox(t.Context(), []skill.Source{{Skill: waiting}, {Skill: broken}}, quiet)
	if !errors.Is(err, broken.listErr) || errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if waiting.closed != 1 || broken.closed != 1 {
		t.Errorf("closed %d, %d", waiting.closed, broken.closed)
	}
}

func TestChanged(t *testing.T) {
	f := &fake{name: "s", tools: []string{"a", "b"}}
	other := &fake{name: "t", tools: []string{"x"}}
	box, err := skill.NewToolbox(t.Context(), []skill.Source{{Skill: f, Filter: skill.Filter{Omit: []string{"b"}}}, {Skill: other}}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	f.tools = []string{"b", "c"}
	if err := box.Ready(t.Context()); err != nil || !slices.Equal(names(box), []string{"a", "x"}) {
		t.Errorf("nobody said that it changed: %q, %v", names(box), err)
	}
	box.Changed("s")
	box.Changed("nobody")
	if err := box.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := names(box); !slices.Equal(got, []string{"c", "x"}) { // the filter still holds
		t.Errorf("tools %q", got)
	}
	if _, err := box.Call(t.Context(), event.ToolCall{ToolName: "a"}); !errors.Is(err, skill.ErrUnknownTool) {
		t.Errorf("a tool that is gone: %v", err)
	}
	f.tools = []string{"x"}
	box.Changed("s")
	if err := box.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), `skills "s" and "t" both offer`) {
		t.Errorf("a name that is taken: %v", err)
	}
	f.listErr = errors.New("gone")
	box.Changed("s")
	if err := box.Ready(t.Context()); err != nil || !slices.Equal(names(box), []string{"x"}) || !strings.Contains(box.Missing(), "gone") {
		t.Errorf("a list that cannot be had: %v, %q, %q", err, names(box), box.Missing())
	}
}
