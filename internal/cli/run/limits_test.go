package run

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/providers"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/model"
)

// What a limit cannot be is refused with what it can be.
func TestLimitFlags(t *testing.T) {
	tests := []struct{ args, want string }{
		{"--max-steps 0", "; leave the flag out"},
		{"--max-tokens 0", "; leave the flag out"},
		{"--max-tokens -1", "between 1 and 1000000000000"},
		{"--max-tokens 1e6", "whole number"},
		{"--max-tokens 1k", "whole number"},
		{"--max-tokens 9223372036854775807", "between 1 and 1000000000000"},
		{"--max-tokens 9223372036854775808", "whole number"},
		{"--max-cost 0", "more than 0; leave the flag out"},
		{"--max-cost 0.00", "more than 0"},
		{"--max-cost -1", "like 0.50"},
		{"--max-cost +1", "like 0.50"},
		{"--max-cost $1", "like 0.50"},
		{"--max-cost 0,50", "like 0.50"},
		{"--max-cost 1e3", "like 0.50"},
		{"--max-cost 0x1p-2", "like 0.50"},
		{"--max-cost inf", "like 0.50"},
		{"--max-cost NaN", "like 0.50"},
		{"--max-cost 1.", "like 0.50"},
		{"--max-cost 2000000000", "or less"},
		{"--max-duration 0", `like "90s"`},
		{"--max-duration 0s", "more than 0; leave the flag out for what perstack.toml or the default says"},
		{"--max-duration 30", `like "90s", "30m" or "2h"`},
		{"--max-duration -30m", `like "90s", "30m" or "2h"`},
		{"--max-duration 1d", `like "90s", "30m" or "2h"`},
		{"--max-duration 99999h", "at most 8760h; leave the flag out"},
		{"--max-depth 0", "; leave the flag out"},
		{"--max-depth 1001", "between 1 and 1000;"},
		{"--max-parallel 10001", "between 1 and 10000;"},
		{"--max-parallel 0", "; leave the flag out"},
		{"--max-parallel all", "whole number"},
	}
	for _, tt := range tests {
		flag, _, _ := strings.Cut(tt.args, " ")
		_, err := parse(t, append([]string{"w", "q"}, strings.Fields(tt.args)...)...)
		if err == nil || !strings.Contains(err.Error(), flag) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want one about %s with %q", tt.args, err, flag, tt.want)
		}
	}
	// An empty value is an unset variable of a script, and no limit would be the wrong guess.
	for _, flag := range []string{"--max-tokens=", "--max-cost=", "--max-duration=", "--max-depth=", "--max-parallel="} {
		if _, err := parse(t, "w", "q", flag); err == nil {
			t.Errorf("%s was taken", flag)
		}
	}
}

func TestShortSpan(t *testing.T) {
	for d, want := range map[time.Duration]string{
		30 * time.Minute: "30m", 2 * time.Hour: "2h", 90 * time.Second: "1m30s", 10 * time.Second: "10s", time.Hour + 10*time.Second: "1h0m10s",
		100 * time.Minute: "1h40m", 500 * time.Millisecond: "500ms",
	} {
		if got := manifest.FormatDuration(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}

func TestMoney(t *testing.T) {
	for amount, want := range map[float64]string{0: "0.00", 0.5: "0.50", 12: "12.00", 0.1234: "0.1234", 0.0000011: "0.0000011", 0.000123456: "0.0001", 0.41239: "0.4124", 100.125: "100.125"} {
		if got := money(amount); got != want {
			t.Errorf("%v: %s, want %s", amount, got, want)
		}
	}
}

const leadAndWorker = `[provider]
providerName = "replay"
[experts.lead]
instruction = "Lead."
delegates = ["worker"]
[experts.worker]
instruction = "Work."
%LIMIT%
[experts.alone]
instruction = "Work."
`

// A limit on cost needs a price, wherever the limit stands. Without one nothing starts.
func TestPrice(t *testing.T) {
	const priced = "[prices.replay]\ninput = 3\noutput = 15\n"
	tests := []struct {
		expert, top, worker string
		flag                string
		want                string // in the error
		limited             bool
	}{
		{expert: "lead"},
		{expert: "lead", flag: "--max-cost 0.5", want: "--max-cost limits the cost"},
		{expert: "lead", top: "maxCost = 1\n", want: "maxCost limits the cost"},
		{expert: "lead", worker: "maxCost = 1", want: "maxCost of expert worker limits the cost"},
		{expert: "worker", worker: "maxCost = 1", want: "maxCost of expert worker limits the cost"},
		{expert: "alone", worker: "maxCost = 1"},
		{expert: "lead", top: priced},
		{expert: "lead", top: priced, flag: "--max-cost 0.5", limited: true},
		{expert: "lead", top: "maxCost = 1\n" + priced, limited: true},
		{expert: "lead", top: priced, worker: "maxCost = 1", limited: true},
	}
	for _, tt := range tests {
		text := tt.top + strings.Replace(leadAndWorker, "%LIMIT%", tt.worker, 1)
		pl, _, err := makePlan(t, proposal{files: toml(text), expert: tt.expert, opts: flags(t, tt.flag)})
		switch {
		case tt.want != "":
			for _, part := range []string{tt.want, "perstack.toml", "[prices.\"replay\"]\ninput = "} {
				wantUsage(t, err, part)
			}
		case err != nil || pl.spec.LimitsCost() != tt.limited:
			t.Errorf("%+v: %v", tt, err)
		case tt.limited:
			if p, ok := pl.spec.Prices["replay"]; !ok || p.Input != 3 || p.Output != 15 {
				t.Errorf("%+v: the price is %+v", tt, p)
			}
		}
	}
}

// The prices of the file are stronger than those that are known.
func TestKnownPrice(t *testing.T) {
	spec := job.Spec{}
	list, ok := spec.Price("anthropic", "claude-sonnet-4-5", model.PriceOf)
	if !ok || list.Input <= 0 || list.Output <= list.Input {
		t.Fatalf("%+v, %v", list, ok)
	}
	own := expert.Price{Input: 1, Output: 2}
	spec.Prices = map[string]expert.Price{"claude-sonnet-4-5": own}
	if got, ok := spec.Price("anthropic", "claude-sonnet-4-5", model.PriceOf); !ok || got != own {
		t.Errorf("%+v, %v", got, ok)
	}
	if _, ok := spec.Price("anthropic", "unheard-of", model.PriceOf); ok {
		t.Error("an unknown model has a price")
	}
}

// Each end by a limit says what was used and allowed, and gives a command that can be
// pasted: it raises that limit and repeats the others.
func TestLimitOutcomes(t *testing.T) {
	limits := expert.Limits{MaxSteps: 10, MaxTokens: 1000, MaxCost: 0.5, MaxDuration: 30 * time.Minute}
	kept := " --max-tokens 1000 --max-cost 0.5 --max-duration 30m"
	limit := func(name string, used, allowed float64) engine.Result {
		return engine.Result{JobID: "j", Status: event.StatusStoppedByLimit, TotalSteps: 4, Reason: name, Limit: &engine.LimitError{Limit: name, Used: used, Max: allowed}}
	}
	steps := func(total int) engine.Result {
		return engine.Result{JobID: "j", Status: event.StatusStoppedByExceededMaxSteps, TotalSteps: total}
	}
	tests := []struct {
		own    expert.Limits // of the Expert
		result engine.Result
		want   []string
	}{
		{result: steps(10), want: []string{"the job used up its steps; resume with: perstack run --continue-job j --max-steps 20" + kept}},
		{result: steps(12), want: []string{"--max-steps 24"}},
		{own: expert.Limits{MaxSteps: 4}, result: steps(4), want: []string{"expert lead used up its steps (maxSteps = 4); raise maxSteps of expert lead in perstack.toml", "--continue-job j" + kept}},
		{result: limit(event.LimitTokens, 900, 1000), want: []string{"900 of 1000 tokens", "perstack run --continue-job j --max-tokens 2000 --max-cost 0.5 --max-duration 30m"}},
		{result: engine.Result{JobID: "j", Status: event.StatusStoppedByLimit, Limit: &engine.LimitError{Limit: event.LimitTokens, Used: 900, Max: 1000, Needs: 5000}},
			want: []string{"900 of 1000 tokens", "--max-tokens 10000 "}}, // with less it would stop at once
		{result: limit(event.LimitTokens, 1200, 1000), want: []string{"1200 of 1000 tokens", "--max-tokens 2400 "}},
		{own: expert.Limits{MaxTokens: 800}, result: limit(event.LimitTokens, 700, 800), want: []string{"700 of 800 tokens", "raise maxTokens of expert lead", "--continue-job j" + kept}},
		{result: limit(event.LimitCost, 0.4812, 0.5), want: []string{"$0.4812 of $0.50 are used", "perstack run --continue-job j --max-tokens 1000 --max-cost 1 --max-duration 30m"}},
		{result: limit(event.LimitCost, 0.612345678, 0.5), want: []string{"$0.6123 of $0.50", "--max-cost 1.2247 "}},
		{result: limit(event.LimitCost, 0.5000000000000001, 0.5), want: []string{"$0.50 of $0.50", "--max-cost 1 "}},
		{result: limit(event.LimitCost, 0, 0.0000001), want: []string{"--max-cost 0.0000002 "}},
		{own: expert.Limits{MaxCost: 0.25}, result: limit(event.LimitCost, 0.2, 0.25), want: []string{"$0.20 of $0.25", "raise maxCost of expert lead", "--continue-job j" + kept}},
		{result: limit(event.LimitDuration, 1800, 1800), want: []string{"its time limit of 30m (--max-duration)", "has the full time again, and --max-duration can allow more; resume with: perstack run --continue-job j" + kept}},
		{own: expert.Limits{MaxDuration: time.Minute}, result: limit(event.LimitDuration, 60, 60), want: []string{"its time limit of 1m (maxDuration of expert lead)", "perstack.toml can allow more"}},
		{result: limit(event.LimitLoop, 5, 5), want: []string{"the same call with the same result 5 times in a row", `perstack run lead "your words" --continue-job j` + kept}},
		{result: limit(event.LimitDepth, 8, 8), want: []string{"8 Experts delegated", "--max-depth 16"}},
		{result: limit(event.LimitWorkspace, 200, 100), want: []string{"the workspace takes 200 bytes", "--max-workspace-bytes 400"}},
		{result: engine.Result{JobID: "j", Status: event.StatusStoppedByLimit, Reason: "patience"}, want: []string{"the limit on patience; resume with: perstack run --continue-job j" + kept}},
	}
	for _, tt := range tests {
		opts := &Options{}
		opts.Flags.Limits.Limits = expert.Limits{MaxTokens: 1000, MaxCost: 0.5, MaxDuration: 30 * time.Minute}
		spec := job.Spec{Expert: "lead", Experts: []*expert.Expert{{Key: "lead", Name: "lead", Limits: tt.own}}}
		spec.Limits.Limits = limits
		o := outputOf(opts, spec)
		o.plan.resolved = job.Resolve(opts.Flags, job.Settings{}, job.Settings{}, providers.Catalogue{})
		err := o.end(t.Context(), tt.result)
		if host.ExitCode(err) != host.ExitLimit {
			t.Errorf("%+v: %v with exit code %d", tt.result, err, host.ExitCode(err))
			continue
		}
		for _, part := range tt.want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%v\nwant in it: %s", err, part)
			}
		}
		if opts.Flags.Limits.MaxTokens != 1000 || opts.Flags.Limits.MaxSteps != 0 {
			t.Error("the hint changed the options")
		}
	}
}

// A job that is resumed after an interruption keeps its limits.
func TestInterruptHintKeepsLimits(t *testing.T) {
	opts := &Options{}
	opts.Flags.Limits = job.Limits{Limits: expert.Limits{MaxSteps: 7, MaxCost: 0.25}, MaxDepth: 2, MaxParallel: 3}
	o := outputOf(opts, job.Spec{})
	err := o.end(t.Context(), engine.Result{JobID: "j", Status: event.StatusStoppedByInterrupt, Reason: "interrupt"})
	if want := "perstack run --continue-job j --max-steps 7 --max-cost 0.25 --max-depth 2 --max-parallel 3"; err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}

// The time that a run may take has three sources; the message names the right one, and the
// hint repeats what was a flag.
func TestDurationSources(t *testing.T) {
	half := expert.Limits{MaxDuration: 30 * time.Minute}
	for name, tt := range map[string]struct {
		flags, file expert.Limits
		want        string
	}{
		"flag":             {half, expert.Limits{}, "(--max-duration); a resumed run has the full time again, and --max-duration can allow more; resume with: perstack run --continue-job j --max-duration 30m"},
		"flag before file": {half, expert.Limits{MaxDuration: time.Hour}, "(--max-duration); "},
		"file":             {expert.Limits{}, half, "(maxDuration); a resumed run has the full time again, and --max-duration can allow more; resume with: perstack run --continue-job j"},
		"recorded":         {expert.Limits{}, expert.Limits{}, "(--max-duration of the previous run); a resumed run has the full time again, and --max-duration can allow more; resume with: perstack run --continue-job j"},
	} {
		opts, of := &Options{}, func(l expert.Limits) job.Settings { return job.Settings{Limits: job.Limits{Limits: l}} }
		opts.Flags.Settings = of(tt.flags)
		o := outputOf(opts, job.Spec{})
		o.plan.resolved = job.Resolve(opts.Flags, of(tt.file), of(half), providers.Catalogue{})
		o.plan.spec.Settings = o.plan.resolved.Settings
		err := o.end(t.Context(), engine.Result{JobID: "j", Status: event.StatusStoppedByLimit, Limit: &engine.LimitError{Limit: event.LimitDuration, Used: 1800, Max: 1800}})
		if err == nil || !strings.Contains(err.Error(), "its time limit of 30m "+tt.want) {
			t.Errorf("%s: %v, want %q in it", name, err, tt.want)
		}
	}
}

// A job that is continued keeps its limits. A flag is stronger, and of file and journal the
// stricter one holds, whatever the journal says.
func TestRecordedLimits(t *testing.T) {
	was := expert.Limits{MaxSteps: 7, MaxTokens: 8, MaxCost: 0.25, MaxDuration: 90 * time.Second}
	for name, tt := range map[string]struct {
		flags, file string
		recorded    expert.Limits
		want        expert.Limits
	}{
		"new job":       {want: expert.Limits{MaxSteps: 100}},
		"recorded":      {recorded: was, want: was},
		"stricter file": {file: "maxSteps = 1\nmaxTokens = 2\nmaxCost = 0.1\nmaxDuration = '4s'\n", recorded: was, want: expert.Limits{MaxSteps: 1, MaxTokens: 2, MaxCost: 0.1, MaxDuration: 4 * time.Second}},
		"looser file":   {file: "maxSteps = 70\nmaxTokens = 80\nmaxCost = 3\nmaxDuration = '4h'\n", recorded: was, want: was},
		"flag": {flags: "--max-steps 11 --max-tokens 12 --max-cost 13 --max-duration 14m", file: "maxSteps = 1\nmaxTokens = 2\n", recorded: was,
			want: expert.Limits{MaxSteps: 11, MaxTokens: 12, MaxCost: 13, MaxDuration: 14 * time.Minute}},
		"one flag": {flags: "--max-cost 1", recorded: was, want: expert.Limits{MaxSteps: 7, MaxTokens: 8, MaxCost: 1, MaxDuration: 90 * time.Second}},
		"one key":  {file: "maxTokens = 3\n", recorded: was, want: expert.Limits{MaxSteps: 7, MaxTokens: 3, MaxCost: 0.25, MaxDuration: 90 * time.Second}},
		"less":     {file: "maxSteps = 1\nmaxCost = 3\n", recorded: expert.Limits{MaxSteps: 1 << 40, MaxCost: 1e300}, want: expert.Limits{MaxSteps: 1, MaxCost: 3}},
		"nonsense": {recorded: expert.Limits{MaxSteps: -1, MaxTokens: -1, MaxCost: math.NaN(), MaxDuration: math.MinInt64}, want: expert.Limits{MaxSteps: 100}},
		"out of range": {recorded: expert.Limits{MaxSteps: math.MaxInt, MaxTokens: math.MaxInt64, MaxCost: math.Inf(1), MaxDuration: math.MaxInt64},
			want: expert.Limits{MaxSteps: math.MaxInt32, MaxTokens: expert.MostTokens, MaxCost: expert.MostCost, MaxDuration: expert.MostDuration}},
	} {
		const price = "[prices.claude-sonnet-4-5]\ninput = 3\noutput = 15\n"
		recorded := recordedSpec(job.Settings{Limits: job.Limits{Limits: tt.recorded}})
		pl, _, err := makePlan(t, proposal{files: leadOnly(tt.file + price), opts: flags(t, tt.flags), recorded: recorded})
		if err != nil {
			t.Fatal(err)
		}
		if pl.spec.Limits.Limits != tt.want {
			t.Errorf("%s: %+v, want %+v", name, pl.spec.Limits.Limits, tt.want)
		}
	}
}

// A cost limit that the job brings needs a price like any other.
func TestRecordedCostNeedsAPrice(t *testing.T) {
	recorded := recordedSpec(job.Settings{Provider: "replay", Limits: job.Limits{Limits: expert.Limits{MaxCost: 0.03}}})
	_, _, err := makePlan(t, proposal{files: leadOnly(""), recorded: recorded})
	wantUsage(t, err, "--max-cost of the previous run limits the cost")
}

// A file that has its own idea of what a model costs is named: it decides what a limit on
// cost lets through.
func TestPricesOfTheFileAreTold(t *testing.T) {
	for price, tells := range map[string]bool{"": false, "[prices.claude-sonnet-4-5]\ninput = 0.001\noutput = 0.001\n": true} {
		_, told, err := makePlan(t, proposal{files: leadOnly(price), opts: flags(t, "--max-cost 1")})
		if err != nil || strings.Contains(told, "cost is counted by the prices of") != tells {
			t.Errorf("%q: told %q, %v", price, told, err)
		}
	}
}
