package original

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

// Files of the original, written as its layout has them. An object is a map, as in TypeScript.
type object = map[string]any

// A fixture is a history of the original on the disk.
type fixture struct {
	t    *testing.T
	base string
}

func newFixture(t *testing.T) *fixture { return &fixture{t, filepath.Join(t.TempDir(), "perstack")} }

func (f *fixture) write(name string, value any) {
	f.t.Helper()
	text, isText := value.(string)
	if !isText {
		data, err := json.Marshal(value, json.Deterministic(true))
		if err != nil {
			f.t.Fatal(err)
		}
		text = string(data)
	}
	path := filepath.Join(f.base, "jobs", filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		f.t.Fatal(err)
	}
}

// checkpoint writes a checkpoint, and the event that ended its step unless kind is empty.
func (f *fixture) checkpoint(cp object, at int64, kind string, more object) {
	f.t.Helper()
	job, run := cp["jobId"].(string), cp["runId"].(string)
	f.write(job+"/checkpoints/"+cp["id"].(string)+".json", cp)
	if kind == "" {
		return
	}
	e := object{
		"type": kind, "id": "e" + cp["id"].(string), "expertKey": cp["expert"].(object)["key"], "timestamp": at, "jobId": job, "runId": run,
		"stepNumber": cp["stepNumber"], "checkpoint": cp,
		"step": object{"stepNumber": cp["stepNumber"], "newMessages": []any{}, "startedAt": at - 500, "finishedAt": at, "usage": usage(10)},
	}
	for k, v := range more {
		e[k] = v
	}
	f.write(fmt.Sprintf("%s/runs/%s/event-%d-%d-%s.json", job, run, at, cp["stepNumber"], kind), e)
}

func usage(n int) object {
	return object{"inputTokens": n, "outputTokens": n, "reasoningTokens": 0, "totalTokens": 2 * n, "cachedInputTokens": 0}
}

func expertRef(key string) object { return object{"key": key, "name": key, "version": "1.0.0"} }

// cp is a checkpoint of job "job1".
func cp(id, run, expert, status string, step int, messages []any, more object) object {
	c := object{
		"id": id, "jobId": "job1", "runId": run, "status": status, "stepNumber": step, "messages": messages,
		"expert": expertRef(expert), "usage": usage(10 * step), "contextWindow": 200000, "contextWindowUsage": 0.01, "retryCount": 0,
	}
	for k, v := range more {
		c[k] = v
	}
	return c
}

// message is a message of one type; id makes its ids.
func message(id, kind string, parts ...object) object {
	all := []any{}
	for i, p := range parts {
		p["id"] = fmt.Sprintf("%s-%d", id, i+1)
		all = append(all, p)
	}
	m := object{"id": id, "type": kind, "contents": all}
	if kind == "instructionMessage" {
		m["cache"] = true
	}
	return m
}

func text(s string) object { return object{"type": "textPart", "text": s} }

func toolCall(id, tool string, args object) object {
	return object{"type": "toolCallPart", "toolCallId": id, "toolName": tool, "args": args}
}

func toolResult(id, tool, answer string) object {
	inner := text(answer)
	inner["id"] = id + "-text"
	return object{"type": "toolResultPart", "toolCallId": id, "toolName": tool, "contents": []any{inner}}
}

func with(messages []any, more ...object) []any {
	all := append([]any{}, messages...)
	for _, m := range more {
		all = append(all, m)
	}
	return all
}

// conversationOf is one Expert's part: an instruction and a query.
func conversationOf(who, query string) []any {
	return with(nil, message(who+"-i", "instructionMessage", text("You are "+who+".")), message(who+"-q", "userMessage", text(query)))
}

// reader writes a job in which an Expert reads a file, answers, and is continued.
func (f *fixture) reader(kind bool) {
	on := func(s string) string {
		if kind {
			return s
		}
		return ""
	}
	m := conversationOf("reader", "What is in notes.txt?")
	m = with(m, message("m3", "expertMessage", object{"type": "thinkingPart", "thinking": "I should look."}, toolCall("c1", "readTextFile", object{"path": "notes.txt"})),
		message("m4", "toolMessage", toolResult("c1", "readTextFile", `{"content":"Buy milk."}`)))
	f.checkpoint(cp("cp1", "run1", "reader", "proceeding", 1, m, nil), 1_767_000_001_000, on("continueToNextStep"), nil)
	m = with(m, message("m5", "expertMessage", text("You have to buy milk.")))
	f.checkpoint(cp("cp2", "run1", "reader", "completed", 2, m, nil), 1_767_000_002_000, on("completeRun"), object{"text": "You have to buy milk."})
	m = with(m, message("m6", "userMessage", text("And then?")),
		message("m7", "expertMessage", toolCall("c2", "attemptCompletion", object{})),
		message("m8", "toolMessage", toolResult("c2", "attemptCompletion", `{}`)), message("m9", "expertMessage", text("Nothing else.")))
	f.checkpoint(cp("cp3", "run2", "reader", "completed", 3, m, nil), 1_767_000_003_000, on("completeRun"), object{"text": "Nothing else."})
}

// team writes a job with two delegates at once and a question to the user.
func (f *fixture) team() {
	lead := with(conversationOf("lead", "Plan a trip."), message("l1", "expertMessage", text("I ask."),
		toolCall("t0", "readTextFile", object{"path": "dates.txt"}), toolCall("t1", "hotels", object{"query": "Find a hotel."}),
		toolCall("t2", "trains", object{"query": "Find a train."}), toolCall("t3", "askUser", object{"question": "Budget?"})))
	partial := []any{object{"id": "t0", "skillName": "@perstack/base", "toolName": "readTextFile", "result": []any{object{"id": "x", "type": "textPart", "text": `{"content":"May"}`}}}}
	pending := []any{object{"id": "t3", "skillName": "user-io", "toolName": "askUser", "args": object{"question": "Budget?"}}}
	f.checkpoint(cp("p1", "r1", "lead", "stoppedByDelegate", 1, lead, object{
		"partialToolResults": partial, "pendingToolCalls": pending,
		"delegateTo": []any{
			object{"expert": expertRef("hotels"), "toolCallId": "t1", "toolName": "hotels", "query": "Find a hotel."},
			object{"expert": expertRef("trains"), "toolCallId": "t2", "toolName": "trains", "query": "Find a train."},
		},
	}), 1000, "stopRunByDelegate", nil)
	for i, who := range []string{"hotels", "trains"} {
		by := object{"expert": expertRef("lead"), "toolCallId": fmt.Sprintf("t%d", i+1), "toolName": who, "checkpointId": "p1", "runId": "r1"}
		m := with(conversationOf(who, "Find one."), message(who+"-a", "expertMessage", text("The "+who+" answer.")))
		f.checkpoint(cp("d"+who, "r-"+who, who, "completed", 2, m, object{"delegatedBy": by}), 2000, "completeRun", nil)
	}
	partial = append(partial, object{"id": "t2", "skillName": "delegate/trains", "toolName": "trains", "result": []any{object{"id": "y", "type": "textPart", "text": "The trains answer."}}},
		object{"id": "t1", "skillName": "delegate/hotels", "toolName": "hotels", "result": []any{object{"id": "z", "type": "textPart", "text": "The hotels answer."}}})
	f.checkpoint(cp("p2", "r2", "lead", "stoppedByInteractiveTool", 3, lead, object{"partialToolResults": partial, "pendingToolCalls": pending}), 3000, "stopRunByInteractiveTool", nil)
	lead = with(lead, message("l2", "toolMessage", toolResult("t0", "readTextFile", `{"content":"May"}`), toolResult("t2", "trains", "The trains answer."),
		toolResult("t1", "hotels", "The hotels answer."), toolResult("t3", "askUser", "100")))
	f.checkpoint(cp("p3", "r3", "lead", "proceeding", 4, lead, nil), 4000, "continueToNextStep", nil)
	lead = with(lead, message("l3", "expertMessage", text("Go in May.")))
	f.checkpoint(cp("p4", "r3", "lead", "completed", 5, lead, nil), 5000, "completeRun", nil)
}

// trouble writes a job with a retry and an error.
func (f *fixture) trouble() {
	m := with(conversationOf("writer", "Write."), message("w1", "userMessage", text(`{"error":"AI_APICallError","message":"overloaded"}`)))
	f.checkpoint(cp("w-1", "r1", "writer", "proceeding", 1, m, nil), 1000, "continueToNextStep", nil)
	f.write("job1/runs/r1/event-900-1-retry.json", object{"type": "retry", "runId": "r1", "stepNumber": 1, "reason": `{"error":"AI_APICallError","message":"overloaded"}`})
	f.checkpoint(cp("w-2", "r1", "writer", "stoppedByError", 2, m, object{"error": object{"name": "AI_APICallError", "message": "no such model", "statusCode": 404, "isRetryable": false}}),
		2000, "stopRunByError", nil)
}

func join(lines []string) string { return strings.Join(lines, "\n") }
