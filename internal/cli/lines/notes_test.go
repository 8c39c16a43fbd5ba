package lines

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/rawjson"
)

// timed is at for an event of that millisecond.
func timed(ms int64, body event.Body) event.Event {
	e := at("r", "lead", body)
	e.Timestamp = ms
	return e
}

// emit returns what each event prints.
func emit(t *testing.T, opts Options, events ...event.Event) []string {
	t.Helper()
	var out bytes.Buffer
	p := New(&out, opts)
	var printed []string
	for _, e := range events {
		out.Reset()
		if err := p.Emit(e); err != nil {
			t.Fatal(err)
		}
		printed = append(printed, out.String())
	}
	return printed
}

func turn(thought, said string, calls ...event.ToolCall) event.CallTools {
	m := message(event.ExpertMessage)
	if thought != "" {
		m.Contents = append(m.Contents, event.Part{Type: event.ThinkingPart, Thinking: thought})
	}
	if said != "" {
		m.Contents = append(m.Contents, text(said))
	}
	b := event.CallTools{NewMessage: m}
	for _, c := range calls {
		m.Contents = append(m.Contents, event.Part{Type: event.ToolCallPart, ToolCallID: c.ID, ToolName: c.ToolName, Args: c.Args})
		c.Args = nil // as in the journal
		b.ToolCalls = append(b.ToolCalls, c)
	}
	return b
}

func ended(c event.ToolCall, result string) event.EndToolCall {
	return event.EndToolCall{ToolResult: event.ToolResult{ID: c.ID, SkillName: c.SkillName, ToolName: c.ToolName, Result: []event.Part{text(result)}}}
}

var (
	sleep  = event.ToolCall{ID: "c1", SkillName: event.BaseSkill, ToolName: "exec", Args: rawjson.Value(`{"command":"sleep","args":["4"]}`)}
	read   = event.ToolCall{ID: "c2", SkillName: event.BaseSkill, ToolName: "readTextFile", Args: rawjson.Value(`{"path":"a"}`)}
	search = event.ToolCall{ID: "c3", SkillName: "web", ToolName: "search", Args: rawjson.Value(`{"q": "go"}`)}
)

// Thinking and tools take time. What is known is printed when it is known, and once.
func TestWhatIsUnderWay(t *testing.T) {
	printed := emit(t, Options{},
		timed(0, event.StartGeneration{}),
		timed(1000, event.CompleteStreamingReasoning{Text: "I should wait."}),
		timed(1000, turn("I should wait.", "Let me wait.", sleep, read, search)),
		timed(1001, event.StartToolCall{ToolCallID: "c1"}),
		timed(1002, event.StartToolCall{ToolCallID: "c2"}),
		timed(1003, event.StartToolCall{ToolCallID: "c3"}),
		timed(1100, ended(read, `{"content":"x"}`)),
		timed(5001, ended(sleep, `{"output":"done"}`)),
		timed(5002, ended(search, "one\ntwo")),
	)
	want := []string{
		"",
		"● Reasoning\n  └ I should wait.\n",
		"● Message\n  └ Let me wait.\n",
		"… Run sleep 4\n",
		"",
		"… search {\"q\":\"go\"}\n",
		"● Read a\n  └ x\n",
		"● Run sleep 4\n  └ done\n",
		"● search {\"q\":\"go\"}\n  └ one\n    two\n",
	}
	for i := range want {
		if printed[i] != want[i] {
			t.Errorf("event %d printed %q, want %q", i, printed[i], want[i])
		}
	}
}

// A journal has no streaming events. The thought stands before the call all the same.
func TestReasoningOfAJournal(t *testing.T) {
	two := event.ToolCall{ID: "c4", SkillName: "b", ToolName: "b", Args: rawjson.Value(`{"query":"q"}`)}
	one := event.ToolCall{ID: "c5", SkillName: "a", ToolName: "a", Args: rawjson.Value(`{"query":"q"}`)}
	printed := strings.Join(emit(t, Options{},
		at("r", "x", turn("First.", "", sleep)),
		at("r", "x", event.StartToolCall{ToolCallID: "c1"}),
		at("r", "x", ended(sleep, "{}")),
		at("r", "x", event.StartGeneration{}),
		at("r", "x", turn("Second.", "", one, two)),
		at("r", "x", event.CallDelegate{Delegates: []event.DelegateRun{{ToolCallID: "c5", RunID: "k1", Expert: event.ExpertRef{Key: "a"}}, {ToolCallID: "c4", RunID: "k2", Expert: event.ExpertRef{Key: "b"}}}}),
		at("r", "x", event.StopRunByDelegate{}),
	), "")
	want := "● Reasoning\n  └ First.\n… Run sleep 4\n● Run sleep 4\n" +
		"● Reasoning\n  └ Second.\n● a q\n● b q\n"
	if printed != want {
		t.Errorf("printed\n%s\nwant\n%s", printed, want)
	}
}

// A repeated generation shows its reasoning again, and another can have the same reasoning.
func TestReasoningOfRepeatedGenerations(t *testing.T) {
	thought := event.CompleteStreamingReasoning{Text: "Hm."}
	printed := strings.Join(emit(t, Options{},
		at("r", "x", event.StartGeneration{}), at("r", "x", thought), at("r", "x", event.Retry{Reason: "busy"}),
		at("r", "x", thought), at("r", "x", turn("Hm.", "", read)), at("r", "x", event.AttemptCompletion{}),
		at("r", "x", event.CompleteRun{NewMessage: message(event.ExpertMessage, event.Part{Type: event.ThinkingPart, Thinking: "Hm."}, text("Bye."))}),
	), "")
	if n := strings.Count(printed, "● Reasoning\n  └ Hm.\n"); n != 3 {
		t.Errorf("reasoning was shown %d times, want 3:\n%s", n, printed)
	}
}

func TestNotesOfALongCommand(t *testing.T) {
	events := []event.Event{timed(0, turn("", "", sleep)), timed(0, event.StartToolCall{ToolCallID: "c1"})}
	for ms := int64(100); ms <= 3_600_000; ms += 100 { // an hour, ten notes a second
		events = append(events, timed(ms, event.ToolProgress{ToolCallID: "c1", Message: "at\n" + string(rune('a'+ms/100%26))}))
	}
	events = append(events, timed(3_600_001, ended(sleep, "{}")), timed(3_700_000, event.ToolProgress{ToolCallID: "c1", Message: "late"}))
	printed := emit(t, Options{}, events...)
	var notes []int
	for i, text := range printed {
		if strings.Contains(text, "│") {
			notes = append(notes, i)
		}
	}
	if len(notes) < 20 || len(notes) > 130 || events[notes[0]].Timestamp != firstGap || printed[notes[0]] != "  │ at k\n" {
		t.Errorf("%d notes, the first %q at %d ms", len(notes), printed[notes[0]], events[notes[0]].Timestamp)
	}
	if last := printed[len(printed)-1]; last != "" {
		t.Errorf("a note behind the result: %q", last)
	}
	if all := emit(t, Options{Verbose: true}, events[:12]...); !strings.Contains(all[2], "│ at") {
		t.Errorf("verbose left out a note: %q", all)
	}
}

// Rows of a delegate stand below its name, and so do the lines about what is running.
func TestDelegateUnderWay(t *testing.T) {
	start := at("kid", "writer", event.StartRun{DelegatedBy: &event.Parent{Expert: event.ExpertRef{Key: "lead"}, RunID: "r"}})
	printed := emit(t, Options{Color: true}, start,
		at("kid", "writer", event.CompleteStreamingReasoning{Text: "Hm."}),
		at("kid", "writer", turn("Hm.", "", sleep)),
		at("kid", "writer", event.StartToolCall{ToolCallID: "c1"}))
	golden(t, "delegate.golden", strings.Join(printed, ""))
}

// What a resumed run says about a call that was running when perstack died.
func TestUnknownOutcome(t *testing.T) {
	printed := strings.Join(emit(t, Options{Width: 60},
		at("r", "x", event.StartRun{From: &event.Origin{RunID: "r"}}),
		at("r", "x", event.ResumeToolCalls{}),
		at("r", "x", ended(sleep, lost))), "")
	if !strings.Contains(printed, "● Run (outcome unknown)\n") || !strings.Contains(strings.Join(strings.Fields(printed), " "), lost) {
		t.Errorf("printed\n%s", printed)
	}
}

// When one of several questions was answered, in another process, the next is shown as
// the first was.
func TestNextQuestion(t *testing.T) {
	printed := emit(t, Options{},
		at("r", "x", event.StartRun{From: &event.Origin{RunID: "r"}, Answers: []event.ToolResult{{ID: "q1", SkillName: "user", ToolName: "ask", Result: []event.Part{text("100")}}}}),
		at("r", "x", event.ResumeToolCalls{}),
		at("r", "x", event.CallInteractiveTool{ToolCallID: "q2", ToolCall: &event.ToolCall{ID: "q2", SkillName: "user", ToolName: "ask", Args: rawjson.Value(`{"question":"When?"}`)}}),
		at("r", "x", event.StopRunByInteractiveTool{}))
	want := []string{"● Answer ask\n  └ 100\n", "", "● Question ask\n  └ question: When?\n", ""}
	if !slices.Equal(printed, want) {
		t.Errorf("printed %q\nwant %q", printed, want)
	}
}
