package sweep

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/rawjson"
	"github.com/perstack-go/perstack/skill"
)

// Evidence is kept beside the journal, in files that do not depend on it: what was really
// done, and not what is said about it.
const (
	ranName   = "ran"   // calls that were carried out
	paidName  = "paid"  // generations that were answered
	shownName = "shown" // kept events that a listener was told, by id
)

// An evidenceFile is one file of evidence. It is not flushed: a line survives the death of the
// process that wrote it.
type evidenceFile struct{ f *os.File }

func openEvidence(dir, name string) (*evidenceFile, error) {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	return &evidenceFile{f}, err
}

// note adds a line, with one write.
func (e *evidenceFile) note(format string, args ...any) error {
	_, err := fmt.Fprintf(e.f, format+"\n", args...)
	return err
}

// lines reads an evidence file. A missing file has none.
func lines(dir, name string) ([]string, error) {
	data, err := os.ReadFile(filepath.Join(dir, name))
	if os.IsNotExist(err) {
		return nil, nil
	}
	return strings.Split(string(data), "\n")[:bytes.Count(data, []byte("\n"))], err
}

// The tools of the evidence skill.
const (
	lookTool = "look" // repeatable
	actTool  = "act"  // has an effect
	slowTool = "slow" // has an effect, and runs for a while after it
)

// evidenceSkill is a skill whose tools do nothing but leave evidence.
type evidenceSkill struct {
	ran      *evidenceFile
	branch   string
	careless bool // it says that it can all be repeated
}

func (w *evidenceSkill) Name() string { return "witness" }
func (w *evidenceSkill) Close() error { return nil }

func (w *evidenceSkill) Tools(context.Context) ([]skill.Tool, error) {
	const schema = `{"type":"object","properties":{"task":{"type":"string"}},"required":["task"]}`
	return []skill.Tool{
		{Name: lookTool, InputSchema: rawjson.Value(schema), Repeatable: true, ReadOnly: true},
		{Name: actTool, InputSchema: rawjson.Value(schema), Repeatable: w.careless},
		{Name: slowTool, InputSchema: rawjson.Value(schema), Repeatable: w.careless},
	}, nil
}

// Call records the call. Ids are unique in a Run, and tasks in a job.
func (w *evidenceSkill) Call(ctx context.Context, call event.ToolCall) (event.ToolResult, error) {
	var args struct {
		Task string `json:"task"`
	}
	if err := json.Unmarshal(call.Args, &args); err != nil {
		return event.ToolResult{}, err
	}
	if err := w.ran.note("%s\t%s", callKey(args.Task+w.branch, call.ID), call.ToolName); err != nil {
		return event.ToolResult{}, err
	}
	if call.ToolName == slowTool {
		for _, stage := range []string{"begun", "nearly done"} {
			skill.Report(ctx, stage)
			select {
			case <-ctx.Done():
			case <-time.After(3 * time.Millisecond): // others of the turn end meanwhile
			}
		}
	}
	text := "did " + call.ToolName + " for " + args.Task
	return event.ToolResult{Result: []event.Part{{Type: event.TextPart, Text: text}}}, nil
}

// branched is added to the tasks of Runs on a new branch, which may do the same again.
const branched = ", on a branch"

func callKey(task, callID string) string { return task + " / " + callID }

func turnKey(expertKey, task string, turn int) string {
	return fmt.Sprintf("%s / %s / %d", expertKey, task, turn)
}
