package original

import (
	"os"
	"slices"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/store/memory"
)

// FuzzCheckpoint gives the converter two files of any content. It must not panic, and every
// event that it makes can be recorded, read and folded.
func FuzzCheckpoint(f *testing.F) {
	at := cp("cp1", "run1", "reader", "proceeding", 1, conversationOf("reader", "Go."), nil)
	answered := cp("cp2", "run1", "reader", "completed", 2, with(conversationOf("reader", "Go."), message("m3", "expertMessage", text("Done."))), nil)
	waiting := cp("cp1", "run1", "reader", "stoppedByInteractiveTool", 1,
		with(conversationOf("reader", "Go."), message("m3", "expertMessage", toolCall("c1", "askUser", object{"question": "Why?"}))),
		object{"pendingToolCalls": []any{object{"id": "c1", "skillName": "io", "toolName": "askUser"}}})
	reply := cp("cp2", "run2", "reader", "proceeding", 2, with(waiting["messages"].([]any), message("m4", "toolMessage", toolResult("c1", "askUser", "So."))), nil)
	for _, pair := range [][2]object{{at, answered}, {waiting, reply}, {waiting, answered}} {
		one, _ := json.Marshal(pair[0])
		two, _ := json.Marshal(pair[1])
		f.Add(one, two, "event-1000-1-completeRun.json")
	}
	f.Fuzz(func(t *testing.T, one, two []byte, name string) {
		if kind, at := eventName(name); kind == "" && at != 0 {
			t.Errorf("%q is no event, but has the time %d", name, at)
		}
		x := &index{}
		var whole []*event.Checkpoint
		for _, data := range [][]byte{one, two} {
			head := &checkpoint{path: "checkpoints/x.json"}
			if json.Unmarshal(data, head) != nil || head.check("job1") != nil {
				return
			}
			c, err := parse(data, head)
			if err != nil {
				return
			}
			x.checkpoints, whole = append(x.checkpoints, head), append(whole, c)
		}
		if x.checkpoints[0].ID == x.checkpoints[1].ID {
			return // a directory has one file of a name
		}
		s := memory.New()
		journal, err := s.Open(t.Context(), "job1")
		if err != nil {
			t.Fatal(err)
		}
		defer journal.Close()
		c := newConverter("job1", x, Options{NewID: func() string { return "id" }}, func(e event.Event) (int64, error) {
			r, err := journal.Append(t.Context(), e)
			if err != nil {
				t.Errorf("an event cannot be recorded: %v", err)
			}
			return r.Seq, err
		})
		for i, head := range x.checkpoints {
			if c.checkpoint(i, head, whole[i]) != nil {
				return
			}
		}
		if _, err := engine.Load(t.Context(), s, "job1"); err != nil {
			t.Errorf("the journal cannot be read: %v", err)
		}
	})
}

func readCheckpoint(t *testing.T, path string) *event.Checkpoint {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var c event.Checkpoint
	if err := json.Unmarshal(data, &c); err != nil {
		t.Fatal(err)
	}
	return &c
}

func sorted(all []string) []string {
	slices.Sort(all)
	return all
}

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
