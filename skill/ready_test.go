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
		t.Errorf("the change was not reported: %q, %v", names(box), err)
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

// A list that changes in the middle of a run cannot take a name that is somebody's: not
// one of another skill, before or behind it, and not a reserved one. The run ends, with
// words that say since when it does not work; until then the name stays whose it was.
func TestChangedListTakesAName(t *testing.T) {
	tests := []struct {
		name  string
		skill string // that changes
		tools []string
		want  string
	}{
		{"of the skill behind", "one", []string{"one", "three"}, `skills "one" and "three" both offer a tool named "three"; leave it out with omit, or set toolPrefix = true for the skill`},
		{"of the skill before", "three", []string{"one"}, `skills "one" and "three" both offer a tool named "one"`},
		{"of its own", "one", []string{"a.b", "a/b"}, `skill "one" offers the tools "a.b" and "a/b"`},
		{"reserved", "one", []string{"one", "exec"}, `skill "one" offers a tool named "exec", which is a name of the base skill "@perstack/base"`},
		{"reserved and in use", "three", []string{"attemptCompletion"}, `skill "three" offers a tool named "attemptCompletion", which is a name of the base skill "@perstack/base"`},
		{"base without an end", event.BaseSkill, []string{"exec"}, `skill "@perstack/base" is left without the tool "attemptCompletion"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fakes := map[string]*fake{event.BaseSkill: {name: event.BaseSkill, tools: []string{"attemptCompletion"}}}
			for _, name := range []string{"one", "three"} {
				fakes[name] = &fake{name: name, tools: []string{name}}
			}
			box, err := skill.NewToolbox(t.Context(), []skill.Source{{Skill: fakes["one"]}, {Skill: fakes[event.BaseSkill]}, {Skill: fakes["three"]}}, quiet)
			if err != nil {
				t.Fatal(err)
			}
			fakes[tt.skill].tools = tt.tools
			box.Changed(tt.skill)
			want := "skill \"" + tt.skill + "\" changed its list of tools in the middle of the run, and the new one cannot be used: " + tt.want
			for range 2 { // it does not heal by asking again
				if err := box.Ready(t.Context()); err == nil || !strings.HasPrefix(err.Error(), want) {
					t.Errorf("error %v\nwant  %s", err, want)
				}
			}
			for tool, owner := range map[string]string{"one": "one", "attemptCompletion": event.BaseSkill, "three": "three"} {
				if _, got, ok := box.Lookup(tool); !ok || got != owner {
					t.Errorf("%s is a tool of %q now", tool, got)
				}
			}
			if got := names(box); len(got) != 3 {
				t.Errorf("tools %q", got)
			}
		})
	}
}

// A collision with a skill that started in the background is no change of anybody's mind,
// nor is a list that was another before anybody had seen it.
func TestBackgroundCollides(t *testing.T) {
	box, err := skill.NewToolbox(t.Context(), []skill.Source{
		{Skill: &fake{name: "early", tools: []string{"a"}}}, {Skill: &fake{name: "late", tools: []string{"a"}}, Background: true},
	}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	box.Changed("late")
	if err := box.Ready(t.Context()); err == nil || !strings.HasPrefix(err.Error(), `skills "early" and "late" both offer a tool named "a"`) {
		t.Errorf("error %v", err)
	}
}

// A Ready that was cancelled has lost nothing: what it had listed and what it had not is
// in the table after the next.
func TestReadyAfterCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		open := make(chan struct{})
		close(open)
		first := &fake{name: "first", tools: []string{"a"}}
		slow := &late{fake: fake{name: "slow", tools: []string{"b"}}, listed: open}
		box, err := skill.NewToolbox(t.Context(), []skill.Source{{Skill: first}, {Skill: slow}}, quiet)
		if err != nil {
			t.Fatal(err)
		}
		first.tools, slow.tools, slow.listed = []string{"a2"}, []string{"b2"}, make(chan struct{})
		box.Changed("first")
		box.Changed("slow")
		reason := errors.New("no more time")
		stopped, stop := context.WithCancelCause(t.Context())
		ready := make(chan error)
		go func() { ready <- box.Ready(stopped) }()
		synctest.Wait() // the first has its list, the other is waited for
		stop(reason)
		if err := <-ready; !errors.Is(err, reason) {
			t.Errorf("Ready of a run that was stopped: %v", err)
		}
		// A wait for a list that was cancelled is not the fault of the skill.
		if got := names(box); !slices.Equal(got, []string{"a", "b"}) || box.Missing() != "" {
			t.Errorf("meanwhile: %q, missing %q", got, box.Missing())
		}
		close(slow.listed)
		if err := box.Ready(t.Context()); err != nil || !slices.Equal(names(box), []string{"a2", "b2"}) {
			t.Errorf("tools %q, %v", names(box), err)
		}
	})
}
