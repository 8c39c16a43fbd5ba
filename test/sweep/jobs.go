package sweep

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/model"
)

// A Job is a task with known turns: what each Expert's model answers, turn by turn.
type Job struct {
	Name        string
	Query       string
	Answer      string            // to every question
	Coordinator string            // key of an Expert
	Plans       map[string][]turn // by key
	Delegates   map[string][]string
	MaxSteps    int
	MaxParallel int // Runs at once
	MaxDepth    int
	Plan        bool           // the job only plans until another process accepts its plan
	Approvals   bool           // calls with effects wait until another process allows them
	Files       bool           // states of the workspace are stored; every call changes files
	OwnSteps    map[string]int // limits of single Experts, by key
	Fork        string         // key of an Expert; when all is done, go back to its first checkpoint; failpoints count from there
}

// A turn is one generation.
type turn struct {
	busy  bool   // the first attempt fails in transport
	fails error  // every attempt does, and for good
	calls []call // in the order of the model
	text  string // the answer, if there are no calls; without it too, it is of no use
}

type call struct {
	tool string
	args map[string]string
}

func does(calls ...call) turn { return turn{calls: calls} }
func says(text string) turn   { return turn{text: text} }

func base(tool string, args map[string]string) call { return call{tool, args} }
func write(path, text string) call {
	return base("writeTextFile", map[string]string{"path": path, "text": text})
}
func ask(delegate, query string) call { return call{delegate, map[string]string{"query": query}} }

// look, act and slow are calls of the evidence skill; the task is filled in by the model.
var (
	look     = call{tool: lookTool}
	act      = call{tool: actTool}
	slow     = call{tool: slowTool}
	question = call{tool: "question"}
	propose  = call{tool: "proposePlan", args: map[string]string{"plan": "1. Act."}}
	complete = call{tool: event.CompletionTool, args: map[string]string{}}
)

// answer is what the model says to a task in a turn.
func (t turn) answer(expertKey, task string, number int) (*model.Answer, error) {
	a := &model.Answer{Finish: model.FinishStop, Usage: event.Usage{InputTokens: 10 + number, OutputTokens: 3, TotalTokens: 13 + number}}
	if t.text != "" {
		a.Parts = append(a.Parts, event.Part{Type: event.TextPart, Text: t.text})
	}
	for i, c := range t.calls {
		args := c.args
		if args == nil {
			args = map[string]string{"task": task}
		}
		data, err := json.Marshal(args, json.Deterministic(true))
		if err != nil {
			return nil, err
		}
		a.Parts = append(a.Parts, event.Part{
			Type: event.ToolCallPart, ToolCallID: fmt.Sprintf("%s-%d-%d", expertKey, number, i), ToolName: c.tool, Args: data,
		})
		a.Finish = model.FinishToolCalls
	}
	return a, nil
}

// failure is a permanent error of a model; busy is a temporary one.
var (
	failure = &model.Error{Name: "InvalidRequest", Message: "the model refuses", StatusCode: 400}
	busy    = &model.Error{Name: "Overloaded", Message: "the model is busy", StatusCode: 529, Retryable: true, RetryAfter: time.Millisecond}
)

// Jobs are all jobs.
func Jobs() []Job { return slices.Concat(Alone(), Together()) }

// Alone are the jobs of one Expert.
func Alone() []Job {
	return []Job{
		{
			Name: "alone", Query: "work", Coordinator: "lead",
			Plans: map[string][]turn{"lead": {
				does(look, act, slow, base("think", map[string]string{"thought": "Three at once."})),
				{busy: true, calls: []call{act, base("writeTextFile", map[string]string{"path": "made.txt", "text": "made"}), {tool: "noSuchTool"}}},
				{},
				does(look, base("readTextFile", map[string]string{"path": "notes.txt"})),
				does(complete),
				{busy: true, text: "Worked."},
			}},
		},
		{
			Name: "asking", Query: "work", Answer: "as you like", Coordinator: "lead",
			Plans: map[string][]turn{"lead": {
				does(act, question, look, question),
				does(act),
				says("Asked and worked."),
			}},
		},
		{
			Name: "approvals", Query: "work", Coordinator: "lead", Approvals: true,
			Plans: map[string][]turn{"lead": {
				does(look, act, act),
				does(act),
				says("Allowed and worked."),
			}},
		},
		{
			Name: "plan", Query: "work", Coordinator: "lead", Plan: true,
			Plans: map[string][]turn{"lead": {
				does(look, propose),
				does(act),
				says("Planned and worked."),
			}},
		},
		{
			Name: "files", Query: "work", Coordinator: "lead", Files: true,
			Plans: map[string][]turn{"lead": {
				does(write("a", "1"), write("b", "1")),
				does(write("a", "2")),
				says("Written."),
			}},
		},
		{
			Name: "limited", Query: "work", Coordinator: "lead", MaxSteps: 6,
			Plans: map[string][]turn{"lead": slices.Repeat([]turn{does(look, act), does(act)}, 6)},
		},
	}
}

// Together are the jobs of several Experts.
func Together() []Job {
	worker := []turn{does(act, look), does(act), says("Worked.")}
	pair := Job{
		Query: "lead the work", Coordinator: "lead",
		Plans: map[string][]turn{
			"lead":   {does(act, ask("worker", "left"), ask("worker", "right")), does(act), says("Both worked.")},
			"worker": worker,
		},
		Delegates: map[string][]string{"lead": {"worker"}},
	}
	inTurn, atOnce := pair, pair
	inTurn.Name, inTurn.MaxParallel = "pair-in-turn", 1
	atOnce.Name, atOnce.MaxParallel = "pair-at-once", 2
	return []Job{
		{
			Name: "child", Query: "lead the work", Coordinator: "lead", MaxParallel: 1,
			Plans: map[string][]turn{
				"lead":   {does(look, ask("worker", "the part")), does(act), says("It worked.")},
				"worker": worker,
			},
			Delegates: map[string][]string{"lead": {"worker"}},
		},
		inTurn,
		atOnce,
		{
			Name: "files-at-once", Query: "lead the work", Coordinator: "lead", MaxParallel: 2, Files: true,
			Plans: map[string][]turn{
				"lead":  {does(write("a", "1"), ask("left", "left"), ask("right", "right")), says("Both worked.")},
				"left":  {does(write("b", "1")), does(write("c", "1")), says("Worked.")},
				"right": {does(write("d", "1")), says("Worked.")},
			},
			Delegates: map[string][]string{"lead": {"left", "right"}},
		},
		{
			Name: "nested", Query: "lead the work", Coordinator: "lead", MaxParallel: 1,
			Plans: map[string][]turn{
				"lead":   {does(ask("middle", "the part")), says("All worked.")},
				"middle": {does(act, ask("worker", "the part of the part")), does(act), says("Both worked.")},
				"worker": {does(act), says("Worked.")},
			},
			Delegates: map[string][]string{"lead": {"middle"}, "middle": {"worker"}},
		},
		{
			Name: "failing", Query: "lead the work", Coordinator: "lead", MaxParallel: 1,
			Plans: map[string][]turn{
				"lead":   {does(ask("broken", "the hard part"), ask("worker", "the other part")), does(act), says("One worked.")},
				"broken": {does(act), {fails: failure}},
				"worker": {does(act), says("Worked.")},
			},
			Delegates: map[string][]string{"lead": {"broken", "worker"}},
		},
		{
			Name: "mixed", Query: "lead the work", Answer: "as you like", Coordinator: "lead", MaxParallel: 1,
			Plans: map[string][]turn{
				"lead":   {does(act, question, ask("worker", "the part")), says("It worked.")},
				"worker": {does(act), says("Worked.")},
			},
			Delegates: map[string][]string{"lead": {"worker"}},
		},
		{
			Name: "team", Query: "lead the work", Coordinator: "lead", MaxParallel: 3,
			Plans: map[string][]turn{
				"lead": {
					does(slow, ask("worker", "left"), base("worker", map[string]string{}), ask("middle", "right")),
					does(ask("worker", "more")),
					does(complete),
					{busy: true, text: "All worked."},
				},
				"middle": {{busy: true, calls: []call{ask("worker", "right left"), act, ask("worker", "right right")}}, says("Both worked.")},
				"worker": {{busy: true, calls: []call{act, slow}}, does(complete), says("Worked.")},
			},
			Delegates: map[string][]string{"lead": {"worker", "middle"}, "middle": {"worker"}},
		},
		{
			Name: "fork", Query: "lead the work", Coordinator: "lead", MaxParallel: 1, Fork: "worker",
			Plans: map[string][]turn{
				"lead":   {does(ask("middle", "left"), ask("worker", "right")), does(act), says("All worked.")},
				"middle": {does(act, ask("worker", "one half"), ask("worker", "other half")), does(act), says("It worked.")},
				"worker": {does(act), does(act, look), says("Worked.")},
			},
			Delegates: map[string][]string{"lead": {"middle", "worker"}, "middle": {"worker"}},
		},
		{
			Name: "too-deep", Query: "lead the work", Coordinator: "lead", MaxParallel: 1, MaxDepth: 2,
			Plans: map[string][]turn{
				"lead":   {does(ask("middle", "the part")), says("It failed.")},
				"middle": {does(act, ask("worker", "the part of the part")), says("It failed.")},
				"worker": {says("Never.")},
			},
			Delegates: map[string][]string{"lead": {"middle"}, "middle": {"worker"}},
		},
		{
			Name: "circle", Query: "lead the work", Coordinator: "lead", MaxParallel: 1,
			Plans: map[string][]turn{
				"lead":   {does(ask("middle", "the part")), says("It failed.")},
				"middle": {does(ask("worker", "look into it")), says("It failed.")},
				"worker": {does(ask("middle", "the part")), says("It failed.")},
			},
			Delegates: map[string][]string{"lead": {"middle"}, "middle": {"worker"}, "worker": {"middle"}},
		},
		{
			Name: "limited-team", Query: "lead the work", Coordinator: "lead", MaxParallel: 1, MaxSteps: 7,
			Plans: map[string][]turn{
				"lead":   {does(act, ask("worker", "left"), ask("worker", "right")), does(act), says("Both worked.")},
				"worker": slices.Repeat([]turn{does(act), does(look)}, 5),
			},
			Delegates: map[string][]string{"lead": {"worker"}},
		},
		{
			Name: "limited-worker", Query: "lead the work", Coordinator: "lead", MaxParallel: 1, OwnSteps: map[string]int{"worker": 3},
			Plans: map[string][]turn{
				"lead":   {does(act, ask("worker", "left")), does(act), says("It failed.")},
				"worker": slices.Repeat([]turn{does(act), does(look)}, 5),
			},
			Delegates: map[string][]string{"lead": {"worker"}},
		},
	}
}

func (j Job) experts() (all []*expert.Expert) {
	for _, key := range slices.Sorted(maps.Keys(j.Plans)) {
		all = append(all, &expert.Expert{
			Key: key, Name: key, Version: "1.0.0", Description: "Works.", Instruction: "Work as " + key + ".",
			Delegates: j.Delegates[key], Limits: expert.Limits{MaxSteps: j.OwnSteps[key]},
		})
	}
	return all
}

// limited reports whether the job meets a limit of steps.
func (j Job) limited() bool { return j.MaxSteps > 0 || len(j.OwnSteps) > 0 }
