package log

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/rawjson"
	"github.com/perstack-go/perstack/store"
	"github.com/perstack-go/perstack/store/file"
	"github.com/perstack-go/perstack/store/memory"
)

// ask is a call of another Expert.
func ask(id, name, query string) (event.ToolCall, event.Part) {
	args := rawjson.Value(`{"query":"` + query + `"}`)
	return tool(id, name, name), event.Part{ID: "p-" + id, Type: event.ToolCallPart, ToolCallID: id, ToolName: name, Args: args}
}

func ref(key string) event.ExpertRef { return event.ExpertRef{Key: key, Name: key, Version: "1.0.0"} }

// as continues with the events of another Run.
func (s *story) as(run, expert string, step int) *story {
	s.run, s.expert, s.step = run, expert, step
	return s
}

// child starts a Run that works on a call.
func (s *story) child(query, checkpoint, callID string, by *event.Parent, from *event.Origin) {
	s.t.Helper()
	b := event.StartRun{InputMessages: []*event.Message{}, CheckpointID: checkpoint, Expert: ref(s.expert), DelegatedBy: by, From: from, Model: "replay"}
	b.DelegatedBy.ToolCallID = callID
	if query != "" {
		b.InputMessages = []*event.Message{say(event.InstructionMessage, "Be brief."), say(event.UserMessage, query)}
	}
	s.tell(b)
}

func parent(run, key, checkpoint string) *event.Parent {
	return &event.Parent{Expert: ref(key), RunID: run, CheckpointID: checkpoint}
}

func comesBack(id, name, text string, failed bool) event.ToolResult {
	r := result(tool(id, event.DelegateSkill+name, name), text)
	r.IsError = failed
	return r
}

var spent = event.Usage{InputTokens: 100, OutputTokens: 20, TotalTokens: 120}

// tellTeam writes a job of several Experts. The lead reads a file and asks two others, one
// of which asks a third and one of which fails; it continues and completes. Then it is
// continued, and later a branch is begun at a checkpoint of a delegate, with more to ask.
func tellTeam(t *testing.T, st store.Store) {
	t.Helper()
	s := begin(t, st, "teamjob", "lead1", "lead", noon.AddDate(0, 0, -1))
	read := tool("c1", event.BaseSkill, "readTextFile")
	flights, flightsPart := ask("c2", "finder", "Flights to Lisbon in May, at most one stop, not before ten in the morning")
	hotels, hotelsPart := ask("c3", "hotels", "A room with a view")
	s.start("Plan my trip", "l1", nil)
	turn := call(`{"path":"dates.txt"}`, read)
	turn.ToolCalls = append(turn.ToolCalls, flights, hotels)
	turn.NewMessage.Contents = append(turn.NewMessage.Contents, flightsPart, hotelsPart)
	s.tell(event.StartGeneration{}, turn)
	s.answer(read, "May 3-9")
	s.tell(event.CallDelegate{Delegates: []event.DelegateRun{
		{ToolCallID: "c2", RunID: "finder1", Expert: ref("finder")}, {ToolCallID: "c3", RunID: "hotels1", Expert: ref("hotels")},
	}}, event.StopRunByDelegate{})

	s.as("finder1", "finder", 2).child("Flights to Lisbon in May, at most one stop, not before ten in the morning", "f1", "c2", parent("lead1", "lead", "l1"), nil)
	s.tell(event.StartGeneration{})
	s.as("hotels1", "hotels", 2).child("A room with a view", "h1", "c3", parent("lead1", "lead", "l1"), nil)
	s.tell(event.StartGeneration{}, event.StopRunByError{Error: event.Failure{Name: "Unauthorized", Message: "the key of the booking service was refused, twice"}, Usage: spent})
	times, timesPart := ask("c1", "times", "TAP in May")
	s.as("finder1", "finder", 2).tell(event.CallTools{NewMessage: &event.Message{ID: "m", Type: event.ExpertMessage, Contents: []event.Part{timesPart}},
		ToolCalls: []event.ToolCall{times}, Usage: spent},
		event.CallDelegate{Delegates: []event.DelegateRun{{ToolCallID: "c1", RunID: "times1", Expert: ref("times")}}}, event.StopRunByDelegate{})
	s.as("times1", "times", 3).child("TAP in May", "t1", "c1", parent("finder1", "finder", "f1"), nil)
	s.tell(event.StartGeneration{}, event.CompleteRun{NewMessage: say(event.ExpertMessage, "10:40 daily"), Usage: spent})
	s.as("finder1", "finder", 4).tell(event.StartRun{InputMessages: []*event.Message{}, CheckpointID: "f2", Expert: ref("finder"), DelegatedBy: withCall(parent("lead1", "lead", "l1"), "c2"),
		From: &event.Origin{RunID: "finder1", CheckpointID: "f1"}, Answers: []event.ToolResult{comesBack("c1", "times", "10:40 daily", false)}},
		event.FinishAllToolCalls{ToolMessage: &event.ToolMessageRef{ID: "m-f", PartIDs: []string{"p"}}}, event.ContinueToNextStep{NextCheckpointID: "f3"},
		event.StartGeneration{}, event.CompleteRun{NewMessage: say(event.ExpertMessage, "TP1, 240 EUR"), Usage: spent})

	s.as("lead1", "lead", 6).tell(event.StartRun{InputMessages: []*event.Message{}, CheckpointID: "l2", Expert: ref("lead"), From: &event.Origin{RunID: "lead1", CheckpointID: "l1"},
		Answers: []event.ToolResult{comesBack("c2", "finder", "TP1, 240 EUR", false), comesBack("c3", "hotels", "Delegation failed: the key of the booking service was refused, twice", true)}},
		event.FinishAllToolCalls{ToolMessage: &event.ToolMessageRef{ID: "m-l", PartIDs: []string{"p1", "p2", "p3"}}}, event.ContinueToNextStep{NextCheckpointID: "l3"},
		event.LimitWarning{Limit: event.LimitCost, Used: 0.41, Max: 0.5, NewMessage: say(event.UserMessage, "Most of the money is spent.")},
		event.StartGeneration{}, event.CompleteRun{NewMessage: say(event.ExpertMessage, "Fly with TP1; find a room yourself."), Usage: spent})

	s.as("lead2", "lead", 8).start("Thank you. And the way back?", "l4", &event.Origin{RunID: "lead1", CheckpointID: "l3"})
	s.tell(event.StartGeneration{}, event.CompleteRun{NewMessage: say(event.ExpertMessage, "TP2."), Usage: spent})

	again := event.DelegateRun{ToolCallID: "c2", RunID: "finder2", Expert: ref("finder"), From: &event.Origin{RunID: "finder1", CheckpointID: "f2"}, Query: "Only direct ones"}
	s.as("lead3", "lead", 2).tell(event.StartRun{InputMessages: []*event.Message{}, CheckpointID: "l5", Expert: ref("lead"), From: &event.Origin{RunID: "lead1", CheckpointID: "l1"},
		Answers: []event.ToolResult{comesBack("c3", "hotels", "Delegation failed: the key of the booking service was refused, twice", true)}, Delegates: []event.DelegateRun{again}},
		event.ResumeToolCalls{}, event.CallDelegate{Delegates: []event.DelegateRun{again}}, event.StopRunByDelegate{})
	s.as("finder2", "finder", 5).child("Only direct ones", "f4", "c2", parent("lead3", "lead", "l5"), again.From)
	s.tell(event.StartGeneration{}, event.LimitWarning{Limit: event.LimitTokens, Used: 900, Max: 1000}, event.StopRunByLimit{Limit: event.LimitTokens})
	s.as("lead3", "lead", 6).tell(event.StartRun{InputMessages: []*event.Message{}, CheckpointID: "l6", Expert: ref("lead"), From: &event.Origin{RunID: "lead3", CheckpointID: "l5"},
		Answers: []event.ToolResult{comesBack("c2", "finder", "Delegation failed: the limit on tokens is reached", true)}},
		event.LimitWarning{Limit: event.LimitTokens, Used: 900, Max: 1000}, event.StopRunByLimit{Limit: event.LimitTokens})
	s.end()
}

func withCall(p *event.Parent, callID string) *event.Parent {
	p.ToolCallID = callID
	return p
}

// tellQueue writes a job whose process dies while one delegate works and another waits for
// its turn. A third has met the limit on depth.
func tellQueue(t *testing.T, st store.Store) *story {
	t.Helper()
	s := begin(t, st, "queuejob", "boss1", "boss", noon.AddDate(0, 0, -2))
	turn := event.CallTools{NewMessage: &event.Message{ID: "m", Type: event.ExpertMessage}, Usage: spent}
	delegates := event.CallDelegate{}
	for i, name := range []string{"deep", "busy", "idle"} {
		c, part := ask(fmt.Sprintf("c%d", i+1), name, "Do "+name)
		turn.NewMessage.Contents, turn.ToolCalls = append(turn.NewMessage.Contents, part), append(turn.ToolCalls, c)
		delegates.Delegates = append(delegates.Delegates, event.DelegateRun{ToolCallID: c.ID, RunID: name + "1", Expert: ref(name)})
	}
	s.start("Do it all", "b1", nil)
	s.tell(event.StartGeneration{}, turn, delegates, event.StopRunByDelegate{})
	s.as("deep1", "deep", 2).child("Do deep", "d1", "c1", parent("boss1", "boss", "b1"), nil)
	s.tell(event.LimitWarning{Limit: event.LimitDepth, Used: 9, Max: 8}, event.StopRunByLimit{Limit: event.LimitDepth})
	s.as("busy1", "busy", 2).child("Do busy", "u1", "c2", parent("boss1", "boss", "b1"), nil)
	s.tell(event.StartGeneration{})
	return s
}

// A coordinator that waits for its delegates is not at its end, and neither is the job when
// a delegate is. If no process works on it any more, it was interrupted.
func TestJobOfADeadCoordinator(t *testing.T) {
	dir := t.TempDir()
	for name, st := range map[string]store.Store{"memory": memory.New(), "file": file.New(dir, nil)} {
		t.Run(name, func(t *testing.T) {
			s := tellQueue(t, st)
			status := func() string {
				info, err := store.FindJob(t.Context(), st, "queuejob")
				if err != nil {
					t.Fatal(err)
				}
				return string(info.CurrentStatus())
			}
			if got := status(); got != "running" {
				t.Errorf("while it is written: %s", got)
			}
			s.end()
			if got := status(); got != "interrupted" {
				t.Errorf("without a writer: %s", got)
			}
			// The next process closes what the crash left open, and dies as well.
			journal, err := st.Open(t.Context(), "queuejob")
			if err != nil {
				t.Fatal(err)
			}
			s.journal = journal
			s.tell(event.StopRunByInterrupt{Reason: "the process ended before it could save"})
			s.end()
			if got := status(); got != "interrupted" {
				t.Errorf("after a delegate was closed: %s", got)
			}
		})
	}
}

// What the tree counts for each Run adds up to what the job counts.
func TestTreeAddsUp(t *testing.T) {
	s := memory.New()
	tellTeam(t, s)
	tellLong(t, s)
	tellTalk(t, s)
	tellQueue(t, s).end()
	for _, job := range []string{"teamjob", "longjob", "talkjob", "queuejob"} {
		out, errOut, code := perstackLog(t, s, job, "--tree", "--json")
		var steps int
		var usage event.Usage
		heads := 0
		seen := make(map[string]bool)
		for _, l := range split(out) {
			var run runLine
			if err := json.Unmarshal([]byte(l), &run); err != nil {
				t.Fatalf("%v in %s", err, l)
			}
			if seen[run.RunID] {
				t.Errorf("run %s is there twice", run.RunID)
			}
			seen[run.RunID] = true
			steps, usage = steps+run.Steps, usage.Add(run.Usage)
			if run.Head {
				heads++
			}
		}
		h, err := engine.Load(t.Context(), s, job)
		if err != nil {
			t.Fatal(err)
		}
		if steps != h.Job.TotalSteps || fmt.Sprint(usage) != fmt.Sprint(h.Job.Usage) || heads != 1 || code != 0 || errOut != "" {
			t.Errorf("%s: %d steps, usage %v, %d heads; the job has %d steps, %v", job, steps, usage, heads, h.Job.TotalSteps, h.Job.Usage)
		}
	}
}

// A checkpoint that the tree names can be resumed from.
func TestTreeCheckpointsExist(t *testing.T) {
	s := memory.New()
	tellTeam(t, s)
	out, _, _ := perstackLog(t, s, "teamjob", "--tree", "--json")
	h, err := engine.Load(t.Context(), s, "teamjob")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, l := range split(out) {
		var run runLine
		if err := json.Unmarshal([]byte(l), &run); err != nil {
			t.Fatal(err)
		}
		all = append(all, run.Checkpoints...)
		for _, id := range run.Checkpoints {
			if p, ok := h.At(id); !ok || p.State.RunID != run.RunID {
				t.Errorf("checkpoint %s of run %s: found %t, of run %s", id, run.RunID, ok, p.State.RunID)
			}
		}
	}
	slices.Sort(all)
	if want := "f1 f2 f3 f4 h1 l1 l2 l3 l4 l5 l6 t1"; strings.Join(all, " ") != want {
		t.Errorf("checkpoints %s, want %s", strings.Join(all, " "), want)
	}
}
