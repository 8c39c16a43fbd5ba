package perstack_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/perstack-go/perstack"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/providers/replay"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/store"
	"github.com/perstack-go/perstack/store/memory"
)

func player(t *testing.T, cassette string) model.Model {
	t.Helper()
	c, err := replay.Parse("cassette.toml", []byte(cassette))
	if err != nil {
		t.Fatal(err)
	}
	return replay.New(c)
}

func named(name string, delegates ...string) *expert.Expert {
	return &expert.Expert{Key: name, Name: name, Version: "1.0.0", Instruction: "Work.", Delegates: delegates}
}

// asks is a skill that wants a variable.
func asks(variable string) *expert.Skill {
	return &expert.Skill{Name: "search", Type: expert.StdioSkill, Command: "search", RequiredEnv: []string{variable}}
}

// newSpec is a job of the first Expert.
func newSpec(t *testing.T, experts ...*expert.Expert) job.Spec {
	t.Helper()
	return job.Spec{
		Expert: experts[0].Key, Experts: experts, Input: job.Input{Query: "go"}, Workspace: job.Workspace{Dir: t.TempDir()},
	}
}

// What cannot be kept or done is an error before anything is started or recorded.
func TestRefusedSpecs(t *testing.T) {
	tests := []struct {
		name   string
		change func(*job.Spec)
		want   string // "" for none
	}{
		{"nothing", func(*job.Spec) {}, ""},
		{"no Expert", func(s *job.Spec) { s.Expert = "" }, "Spec.Expert is empty"},
		{"no query", func(s *job.Spec) { s.Input.Query = "" }, "Spec.Input.Query is empty"},
		{"no workspace", func(s *job.Spec) { s.Workspace.Dir = "" }, "Spec.Workspace.Dir is empty"},
		{"another runtime", func(s *job.Spec) { s.Runtime = "moon" }, `Spec.Runtime "moon" is unknown`},
		{"no delegate", func(s *job.Spec) { s.Experts = []*expert.Expert{named("lead", "helper")} }, `the delegate "helper" is not in Spec.Experts`},
		{"a delegate of a delegate", func(s *job.Spec) {
			s.Experts = []*expert.Expert{named("lead", "helper"), named("helper", "far")}
		}, `the delegate "far" is not in`},
		{"a wrong version", func(s *job.Spec) {
			s.Experts = []*expert.Expert{named("lead", "helper@2.0.0"), named("helper")}
		}, `"helper@2.0.0" is not in`},
		{"delegates", func(s *job.Spec) {
			s.Experts = []*expert.Expert{named("lead", "helper@1.0.0"), named("helper", "lead")}
		}, ""},
		{"itself among them", func(s *job.Spec) { s.Experts = []*expert.Expert{named("helper"), named("lead")} }, ""},
		{"not among them", func(s *job.Spec) { s.Experts = []*expert.Expert{named("helper")} }, `Spec.Expert "lead" is not in Spec.Experts`},
		{"nil among them", func(s *job.Spec) { s.Experts = append(s.Experts, named("helper"), nil) }, "Spec.Experts has a nil Expert"},
		{"two of one name", func(s *job.Spec) { s.Experts = append(s.Experts, named("helper"), named("helper")) }, `two Experts with the key "helper"`},
		{"another of its name", func(s *job.Spec) { s.Experts = append(s.Experts, named("lead")) }, `two Experts with the key "lead"`},
		{"the key of the job's provider", func(s *job.Spec) {
			s.Provider, s.Experts[0].Skills = "openai", []*expert.Skill{asks("OPENAI_API_KEY")}
		}, `skill "search": "OPENAI_API_KEY" is the key of provider openai`},
		{"the key of a delegate's provider", func(s *job.Spec) {
			lead, helper := named("lead", "helper"), named("helper")
			lead.Skills, helper.Provider = []*expert.Skill{asks("OPENAI_API_KEY")}, &expert.Provider{Name: "openai"}
			s.Experts = []*expert.Expert{lead, helper}
		}, `skill "search": "OPENAI_API_KEY" is the key of provider openai`},
		{"a protected variable", func(s *job.Spec) { s.Experts[0].Skills = []*expert.Skill{asks("LD_PRELOAD")} }, `"LD_PRELOAD" is protected`},
		{"steps", func(s *job.Spec) { s.Limits.MaxSteps = -1 }, "maxSteps is not a limit"},
		{"tokens", func(s *job.Spec) { s.Limits.MaxTokens = -1 }, "maxTokens is not a limit"},
		{"duration", func(s *job.Spec) { s.Limits.MaxDuration = -time.Second }, "maxDuration is not a limit"},
		{"depth", func(s *job.Spec) { s.Limits.MaxDepth = -1 }, "maxDepth is not a limit"},
		{"parallelism", func(s *job.Spec) { s.Limits.MaxParallel = -1 }, "maxParallel is not a limit"},
		{"cost", func(s *job.Spec) { s.Limits.MaxCost = -0.01 }, "maxCost is not a limit"},
		{"a cost that is no number", func(s *job.Spec) { s.Limits.MaxCost = math.NaN() }, "maxCost is not a limit"},
		{"a cost without end", func(s *job.Spec) { s.Limits.MaxCost = math.Inf(1) }, "maxCost is not a limit"},
		{"unknown price", func(s *job.Spec) { s.Limits.MaxCost, s.Model = 1, "mystery" }, `what the model "mystery" costs is not known; add it to Spec.Prices`},
		{"unknown price, a delegate's limit", func(s *job.Spec) {
			helper := named("helper")
			helper.MaxCost = 0.10
			s.Experts = []*expert.Expert{named("lead", "helper"), helper}
		}, "what the model \"\" costs is not known"},
		{"unknown price, no delegate", func(s *job.Spec) {
			helper := named("helper")
			helper.MaxCost = 0.10
			s.Experts = append(s.Experts, helper)
		}, ""},
		{"known price", func(s *job.Spec) { s.Limits.MaxCost, s.Provider, s.Model = 10, "anthropic", "claude-sonnet-4-5" }, ""},
		{"given price", func(s *job.Spec) {
			s.Limits.MaxCost, s.Prices = 1, map[string]expert.Price{"": {Input: 3, Output: 15}}
		}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			history := memory.New()
			spec := newSpec(t, named("lead"))
			tt.change(&spec)
			_, answer, err := run(t, spec, perstack.Parts{Model: player(t, "[[turn]]\ntext = 'done'"), Store: history})
			if tt.want == "" {
				if err != nil || answer != "done" {
					t.Errorf("%q, %v", answer, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
			for job := range history.Jobs(t.Context()) {
				t.Errorf("job %s was recorded", job.ID)
			}
		})
	}
}

// run returns the types of the events that end a Run, and the last answer.
func run(t *testing.T, spec job.Spec, parts perstack.Parts) (ends []string, answer string, err error) {
	t.Helper()
	for e, failed := range perstack.Run(t.Context(), spec, parts) {
		if failed != nil {
			return ends, answer, failed
		}
		switch b := e.Body.(type) {
		case event.CompleteRun:
			answer = *b.Text
			ends = append(ends, e.ExpertKey+" completes")
		case event.StopRunByLimit:
			ends = append(ends, e.ExpertKey+" met the limit of "+b.Limit)
		case event.StopRunByExceededMaxSteps:
			ends = append(ends, e.ExpertKey+" had too many steps")
		case event.StopRunByError:
			ends = append(ends, e.ExpertKey+" failed: "+b.Error.Message)
		case event.StopRunByInterrupt:
			ends = append(ends, e.ExpertKey+" was interrupted")
		}
	}
	return ends, answer, nil
}

const asking = `
[[turn]]
expert = "lead"
[[turn.call]]
tool = "helper"
args = { query = "help" }
[[turn]]
expert = "lead"
text = "thanks"
[[turn]]
expert = "helper"
usage = { input = 5000, output = 1000 }
[[turn.call]]
tool = "think"
args = { thought = "hm" }
[[turn]]
expert = "helper"
text = "here"
usage = { input = 5000, output = 1000 }
`

// Each limit of the Spec reaches the engine, and holds for the delegate as well.
func TestLimitsOfTheJob(t *testing.T) {
	tests := []struct {
		name   string
		change func(*job.Spec)
		want   string // how the Runs end
	}{
		{"none", func(*job.Spec) {}, "helper completes, lead completes"},
		{"steps", func(s *job.Spec) { s.Limits.MaxSteps = 2 }, "helper had too many steps, lead had too many steps"},
		{"tokens", func(s *job.Spec) { s.Limits.MaxTokens = 6_000 }, "helper met the limit of tokens, lead met the limit of tokens"},
		{"cost", func(s *job.Spec) {
			s.Limits.MaxCost, s.Prices = 0.000_001, map[string]expert.Price{"": {Input: 3, Output: 15}}
		}, "lead met the limit of cost"},
		{"duration", func(s *job.Spec) { s.Limits.MaxDuration = 1 }, "lead met the limit of duration"},
		{"depth", func(s *job.Spec) { s.Limits.MaxDepth = 1 }, "helper met the limit of depth, lead completes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			spec := newSpec(t, named("lead", "helper"), named("helper"))
			tt.change(&spec)
			ends, _, err := run(t, spec, perstack.Parts{Model: player(t, asking)})
			if got := strings.Join(ends, ", "); err != nil || got != tt.want {
				t.Errorf("%s, %v\nwant %s", got, err, tt.want)
			}
		})
	}
}

// The program that embeds perstack is told on its own goroutine, also by children that
// work side by side, and may stop in the middle: every Run is closed then.
func TestBreakWhileDelegatesWork(t *testing.T) {
	history := memory.New()
	spec := newSpec(t, named("lead", "helper"), named("helper"))
	parts := perstack.Parts{
		Store: history,
		Model: player(t, strings.Replace(asking, `tool = "helper"
args = { query = "help" }`, `tool = "helper"
args = { query = "help" }
[[turn.call]]
tool = "helper"
args = { query = "help more" }`, 1)),
	}
	for e, err := range perstack.Run(t.Context(), spec, parts) {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := e.Body.(event.CallTools); ok && e.ExpertKey == "helper" {
			break
		}
	}
	open := map[string]bool{}
	for job, err := range history.Jobs(t.Context()) {
		if err != nil || job.Status != event.JobStoppedByInterrupt {
			t.Errorf("job %s, %v", job.Status, err)
		}
		read(t, history, job.ID, func(e event.Event) {
			switch {
			case e.Type() == "startRun":
				open[e.RunID] = true
			case e.IsTerminal():
				open[e.RunID] = false
			}
		})
	}
	if len(open) < 2 {
		t.Errorf("%d Runs", len(open))
	}
	for id, still := range open {
		if still {
			t.Errorf("the Run %s has no end", id)
		}
	}
}

func read(t *testing.T, from store.Store, jobID string, see func(event.Event)) {
	t.Helper()
	for record, err := range from.Read(t.Context(), jobID, 0) {
		if err != nil {
			t.Fatal(err)
		}
		see(record.Event)
	}
}

// What is known of a model fills in what a program does not say, and what its file says of
// the model goes before it.
func TestKnownModels(t *testing.T) {
	for _, c := range []struct {
		change func(*job.Spec)
		want   int
	}{
		{func(*job.Spec) {}, 0},
		{func(s *job.Spec) { s.Provider, s.Model = "openai", "gpt-5" }, 400_000},
		{func(s *job.Spec) {
			s.Provider, s.Model = "openai", "gpt-5"
			s.Models = map[string]expert.ModelEntry{"gpt-5": {ContextWindow: 7000}}
		}, 7000},
		{func(s *job.Spec) {
			s.Provider, s.Model = "openai", "mine"
			s.Models = map[string]expert.ModelEntry{"mine": {ContextWindow: 8000}}
		}, 8000},
	} {
		spec := newSpec(t, named("lead"))
		c.change(&spec)
		got := -1
		for e, err := range perstack.Run(t.Context(), spec, perstack.Parts{Model: player(t, "[[turn]]\ntext = 'done'")}) {
			if err != nil {
				t.Fatal(err)
			}
			if b, ok := e.Body.(event.StartRun); ok {
				got = b.ContextWindow
				if b.Provider != spec.Provider || b.Model != spec.Model {
					t.Errorf("a model of the program is recorded as %s of %s", b.Model, b.Provider)
				}
			}
		}
		if got != c.want {
			t.Errorf("a window of %d tokens, want %d", got, c.want)
		}
	}
}
