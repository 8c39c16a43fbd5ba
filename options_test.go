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

// What cannot be kept or done is an error before anything is started or recorded.
func TestRefusedOptions(t *testing.T) {
	tests := []struct {
		name   string
		change func(*perstack.Options)
		want   string // "" for none
	}{
		{"nothing", func(*perstack.Options) {}, ""},
		{"no Expert", func(o *perstack.Options) { o.Expert = nil }, "Options.Expert is nil"},
		{"no delegate", func(o *perstack.Options) { o.Expert = named("lead", "helper") }, `the delegate "helper" is not in Options.Experts`},
		{"a delegate of a delegate", func(o *perstack.Options) {
			o.Experts = []*expert.Expert{named("helper", "far")}
			o.Expert = named("lead", "helper")
		}, `the delegate "far" is not in`},
		{"a wrong version", func(o *perstack.Options) {
			o.Experts = []*expert.Expert{named("helper")}
			o.Expert = named("lead", "helper@2.0.0")
		}, `"helper@2.0.0" is not in`},
		{"delegates", func(o *perstack.Options) {
			o.Experts = []*expert.Expert{named("helper", "lead")}
			o.Expert = named("lead", "helper@1.0.0")
		}, ""},
		{"itself among them", func(o *perstack.Options) { o.Experts = []*expert.Expert{named("helper"), o.Expert} }, ""},
		{"nil among them", func(o *perstack.Options) { o.Experts = []*expert.Expert{named("helper"), nil} }, "Options.Experts[1] is nil"},
		{"two of one name", func(o *perstack.Options) { o.Experts = []*expert.Expert{named("helper"), named("helper")} }, `two Experts named "helper"`},
		{"another of its name", func(o *perstack.Options) { o.Experts = []*expert.Expert{named("lead")} }, `two Experts named "lead"`},
		{"steps", func(o *perstack.Options) { o.MaxSteps = -1 }, "Options.MaxSteps is not a limit"},
		{"tokens", func(o *perstack.Options) { o.MaxTokens = -1 }, "Options.MaxTokens is not a limit"},
		{"duration", func(o *perstack.Options) { o.MaxDuration = -time.Second }, "Options.MaxDuration is not a limit"},
		{"depth", func(o *perstack.Options) { o.MaxDepth = -1 }, "Options.MaxDepth is not a limit"},
		{"parallelism", func(o *perstack.Options) { o.MaxParallel = -1 }, "Options.MaxParallel is not a limit"},
		{"cost", func(o *perstack.Options) { o.MaxCost = -0.01 }, "Options.MaxCost is not a limit"},
		{"a cost that is no number", func(o *perstack.Options) { o.MaxCost = math.NaN() }, "Options.MaxCost is not a limit"},
		{"a cost without end", func(o *perstack.Options) { o.MaxCost = math.Inf(1) }, "Options.MaxCost is not a limit"},
		{"unknown price", func(o *perstack.Options) { o.MaxCost, o.ModelName = 1, "mystery" }, `what the model "mystery" costs is not known; set Options.Price`},
		{"unknown price, a delegate's limit", func(o *perstack.Options) {
			helper := named("helper")
			helper.MaxCost = 0.10
			o.Expert, o.Experts = named("lead", "helper"), []*expert.Expert{helper}
		}, "what the model \"\" costs is not known"},
		{"unknown price, nobody asks", func(o *perstack.Options) {
			helper := named("helper")
			helper.MaxCost = 0.10
			o.Experts = []*expert.Expert{helper}
		}, ""},
		{"known price", func(o *perstack.Options) { o.MaxCost, o.Provider, o.ModelName = 10, "anthropic", "claude-sonnet-4-5" }, ""},
		{"given price", func(o *perstack.Options) { o.MaxCost, o.Price = 1, &expert.Price{Input: 3, Output: 15} }, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			history := memory.New()
			opts := perstack.Options{Expert: named("lead"), Model: player(t, "[[turn]]\ntext = 'done'"), Query: "go", Workspace: t.TempDir(), Store: history}
			tt.change(&opts)
			_, answer, err := run(t, opts)
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
func run(t *testing.T, opts perstack.Options) (ends []string, answer string, err error) {
	t.Helper()
	for e, failed := range perstack.Run(t.Context(), opts) {
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

// Each limit of the options reaches the engine, and holds for the delegate as well.
func TestLimitsOfTheJob(t *testing.T) {
	tests := []struct {
		name   string
		change func(*perstack.Options)
		want   string // how the Runs end
	}{
		{"none", func(*perstack.Options) {}, "helper completes, lead completes"},
		{"steps", func(o *perstack.Options) { o.MaxSteps = 2 }, "helper had too many steps, lead had too many steps"},
		{"tokens", func(o *perstack.Options) { o.MaxTokens = 6_000 }, "helper met the limit of tokens, lead met the limit of tokens"},
		{"cost", func(o *perstack.Options) { o.MaxCost, o.Price = 0.000_001, &expert.Price{Input: 3, Output: 15} }, "lead met the limit of cost"},
		{"duration", func(o *perstack.Options) { o.MaxDuration = 1 }, "lead met the limit of duration"},
		{"depth", func(o *perstack.Options) { o.MaxDepth = 1 }, "helper met the limit of depth, lead completes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			opts := perstack.Options{
				Expert: named("lead", "helper"), Experts: []*expert.Expert{named("helper")},
				Model: player(t, asking), Query: "go", Workspace: t.TempDir(),
			}
			tt.change(&opts)
			ends, _, err := run(t, opts)
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
	opts := perstack.Options{
		Expert: named("lead", "helper"), Experts: []*expert.Expert{named("helper")}, Query: "go", Workspace: t.TempDir(), Store: history,
		Model: player(t, strings.Replace(asking, `tool = "helper"
args = { query = "help" }`, `tool = "helper"
args = { query = "help" }
[[turn.call]]
tool = "helper"
args = { query = "help more" }`, 1)),
	}
	for e, err := range perstack.Run(t.Context(), opts) {
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
		change func(*perstack.Options)
		want   int
	}{
		{func(o *perstack.Options) {}, 0},
		{func(o *perstack.Options) { o.Provider, o.ModelName = "openai", "gpt-5" }, 400_000},
		{func(o *perstack.Options) { o.Provider, o.ModelName, o.ContextWindow = "openai", "gpt-5", 5 }, 5},
		{func(o *perstack.Options) {
			o.Provider, o.ModelName = "openai", "gpt-5"
			o.Models = map[string]expert.ModelEntry{"gpt-5": {ContextWindow: 7000}}
		}, 7000},
		{func(o *perstack.Options) {
			o.Provider, o.ModelName = "openai", "mine"
			o.Models = map[string]expert.ModelEntry{"mine": {ContextWindow: 8000}}
		}, 8000},
	} {
		opts := perstack.Options{Expert: named("lead"), Model: player(t, "[[turn]]\ntext = 'done'"), Query: "go", Workspace: t.TempDir()}
		c.change(&opts)
		got := -1
		for e, err := range perstack.Run(t.Context(), opts) {
			if err != nil {
				t.Fatal(err)
			}
			if b, ok := e.Body.(event.StartRun); ok {
				got = b.ContextWindow
			}
		}
		if got != c.want {
			t.Errorf("a window of %d tokens, want %d", got, c.want)
		}
	}
}
