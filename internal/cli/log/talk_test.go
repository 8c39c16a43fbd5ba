package log

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/store"
	"github.com/perstack-go/perstack/store/memory"
)

const lost = "Error: perstack stopped while this call was running, so its outcome is unknown. Check what it did before you repeat it."

// tellTalk writes a job that is continued twice: from its newest checkpoint after a
// crash, and once more. It thinks and speaks beside its calls, a command fails, and in
// the end it waits for the user.
func tellTalk(t *testing.T, st store.Store) {
	t.Helper()
	s := begin(t, st, "talkjob", "talk1", "it's", noon.Add(-time.Hour))
	build, deploy := tool("c1", event.BaseSkill, "exec"), tool("c2", event.BaseSkill, "exec")
	s.start("Build it", "t1", nil)
	turn := call(`{"command":"make"}`, build)
	turn.NewMessage.Contents = append([]event.Part{
		{ID: "p1", Type: event.ThinkingPart, Thinking: "A make file.\nSo I make, and then I look at what came of it; if it is not what I want, I think again. And again."},
		{ID: "p2", Type: event.TextPart, Text: "Let me build it first, so that we know whether the code is as good as you say.\nThen I will deploy."},
	}, turn.NewMessage.Contents...)
	s.tell(event.StartGeneration{}, turn)
	s.answer(build, `{"error":"command failed with exit code 3","code":"exit_code","stdout":"x","stderr":"one\ntwo\n\nthree\nfour\n  \nmake: *** [all] Error 3\n"}`)
	s.tell(event.ResolveToolResults{}, event.FinishToolCall{ToolMessage: &event.ToolMessageRef{ID: "m-t1", PartIDs: []string{"p1"}}},
		event.ContinueToNextStep{NextCheckpointID: "t2"},
		event.StartGeneration{}, call(`{"command":"deploy"}`, deploy), event.StartToolCall{ToolCallID: "c2"},
		event.StopRunByInterrupt{Reason: "the process ended before it could save"})

	s.run, s.step = "talk2", 3
	settled := &event.Message{ID: "m-s", Type: event.ToolMessage, Contents: []event.Part{{ID: "p", Type: event.ToolResultPart,
		ToolCallID: "c2", ToolName: "exec", Contents: result(deploy, lost).Result, IsError: true}}}
	s.tell(event.StartRun{InputMessages: []*event.Message{settled, say(event.UserMessage, "Go on")}, CheckpointID: "t3",
		Expert: event.ExpertRef{Key: s.expert}, From: &event.Origin{RunID: "talk1", CheckpointID: "t2"}},
		event.StartGeneration{}, event.CompleteRun{NewMessage: say(event.ExpertMessage, "Done.")})

	s.run, s.step = "talk3", 4
	s.start("And now?", "t4", &event.Origin{RunID: "talk2", CheckpointID: "t3"})
	when, where := tool("c3", "user", "ask"), tool("c4", "user", "ask")
	s.tell(event.StartGeneration{}, call(`{"question":"Which day?"}`, when, where),
		event.CallInteractiveTool{ToolCallID: "c3"}, event.StopRunByInteractiveTool{})
	s.end()
}

func TestHowToAnswer(t *testing.T) {
	s := memory.New()
	tellTalk(t, s)
	tellLong(t, s)
	const want = `Answer with: perstack run 'it'\''s' "your answer" --continue-job talkjob`
	for args, more := range map[string]string{
		"talkjob": " -i\n", "talkjob --run talk3 --errors": " -i\n", "talkjob --storage dir": " --storage dir -i\n",
	} {
		if out, _, _ := perstackLog(t, s, strings.Fields(args)...); !strings.Contains(out, want+more) {
			t.Errorf("log %s does not say how to answer:\n%s", args, out)
		}
	}
	for _, args := range []string{"longjob", "talkjob --run talk1"} {
		if out, _, _ := perstackLog(t, s, strings.Fields(args)...); strings.Contains(out, "Answer with") {
			t.Errorf("log %s asks for an answer:\n%s", args, out)
		}
	}
}

func TestOrigins(t *testing.T) {
	s := memory.New()
	tellTalk(t, s)
	tellLong(t, s)
	for args, want := range map[string]string{
		"--run talk2 --events": "Origin: continues run talk1 after checkpoint t2\n",
		"--run talk3 --events": "Origin: continues run talk2 after checkpoint t3\n",
		"--run run2 --events":  "Origin: branch from checkpoint cp1 of run run1\n",
		"--run talk3":          "── continues run talk2 after checkpoint t3\n",
		"--run run2":           "── branch from checkpoint cp1 of run run1\n",
	} {
		if out, _, _ := perstackLog(t, s, strings.Fields(args)...); !strings.Contains(out, want) {
			t.Errorf("log %s is without %q:\n%s", args, want, out)
		}
	}
}

func TestTypesAreCompleted(t *testing.T) {
	cmd := New(nil, nil)
	completion, ok := cmd.GetFlagCompletionFunc("type")
	if !ok {
		t.Fatal("--type has no completion")
	}
	got, directive := completion(cmd, nil, "")
	if !slices.Contains(got, cobra.Completion("callTools")) || directive != cobra.ShellCompDirectiveNoFileComp {
		t.Errorf("completions = %q", got)
	}
}

func TestHelpTellsApart(t *testing.T) {
	help := New(nil, nil).Long
	for _, want := range []string{"\n  interrupted ", "\n  stoppedByInterrupt ", "--records prints the records of the journal as they are stored"} {
		if !strings.Contains(help, want) {
			t.Errorf("the help is without %q", want)
		}
	}
}
