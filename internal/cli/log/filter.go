package log

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"sync"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/jq"
	"github.com/perstack-go/perstack/internal/narrate"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/internal/wording"
	"github.com/perstack-go/perstack/store"
)

// A Filter selects events of a job.
type Filter struct {
	Steps Steps
	// What follows selects by type; an event is shown that any of them selects.
	Types                      []string
	Errors, Tools, Delegations bool
	// Expr selects by everything that an event has; nil for all. An event has to match both.
	Expr *jq.Expr
}

// keeps reports whether the expression of the user keeps a record. It sees the event as the journal
// has it. One that fails, as many do for members that an event does not have, keeps nothing.
func (v *survey) keeps(ctx context.Context, r store.Record) (bool, error) {
	text, err := event.Marshal(r.Event)
	if err != nil {
		return false, err
	}
	var value map[string]any
	if err := json.Unmarshal(text, &value); err != nil {
		return false, fmt.Errorf("record %d: %w", r.Seq, err)
	}
	keeps, err := v.opts.Filter.Expr.Keeps(ctx, value)
	if err == nil {
		return keeps, nil
	}
	err = fmt.Errorf("record %d (%s): %w", r.Seq, r.Event.Type(), err)
	switch {
	case ctx.Err() != nil:
		return false, stopped(ctx, err)
	case errors.Is(err, jq.ErrTime), errors.Is(err, jq.ErrMemory):
		return false, fmt.Errorf("--filter: %w", err)
	}
	if v.failed++; v.failure == nil {
		v.failure = err
	}
	return false, nil
}

// tellFailures says for how many events the expression failed.
func (v *survey) tellFailures() {
	if v.failed > 0 {
		fmt.Fprintf(v.opts.Host.Stderr, "perstack: --filter failed for %s, which are left out; the first: %s\n", wording.Count(v.failed, "event"), terminal.CleanLine(v.failure.Error()))
	}
}

// match reports whether e, which comes with those rows, is selected. Events about the
// runtime have no step, so they are not among those of certain steps.
func (f *Filter) match(e event.Event, rows []narrate.Row) bool {
	if f.Steps.set && (e.IsRuntime() || e.StepNumber < f.Steps.min || e.StepNumber > f.Steps.max) {
		return false
	}
	if f.allTypes() {
		return true
	}
	return slices.Contains(f.Types, string(e.Type())) ||
		f.Errors && isError(e, rows) || f.Tools && isTool(e, rows) || f.Delegations && isDelegation(e, rows)
}

func (f *Filter) allTypes() bool {
	return len(f.Types) == 0 && !f.Errors && !f.Tools && !f.Delegations
}

// all reports whether everything is selected.
func (f *Filter) all() bool { return !f.Steps.set && f.allTypes() && f.Expr == nil }

func isError(e event.Event, rows []narrate.Row) bool {
	switch e.Body.(type) {
	case event.StopRunByError, event.StopRunByLimit, event.StopRunByExceededMaxSteps, event.Retry:
		return true
	}
	return slices.ContainsFunc(rows, func(r narrate.Row) bool {
		return isResult(r) && (r.State == narrate.Failed || r.State == narrate.Unknown)
	})
}

// isResult reports whether a row shows the outcome of a call.
func isResult(r narrate.Row) bool {
	switch r.Kind {
	case narrate.Tool, narrate.Delegate, narrate.Answer:
		return r.State != narrate.Pending && r.State != narrate.Running
	}
	return false
}

// isTool reports whether e is about tools. Any event may be that brings results: of a
// completion, of the user, of a turn that was interrupted. So may an answer for which the
// provider ran something.
func isTool(e event.Event, rows []narrate.Row) bool {
	switch e.Body.(type) {
	case event.CallTools, event.ResolveToolResults, event.CallInteractiveTool, event.AttemptCompletion,
		event.StartToolCall, event.EndToolCall:
		return true
	}
	return slices.ContainsFunc(rows, isResult) || len(e.ProviderCalls()) > 0
}

// isDelegation reports whether e is about delegation: a call of another Expert, the start
// of its Run, the results that come back.
func isDelegation(e event.Event, rows []narrate.Row) bool {
	switch b := e.Body.(type) {
	case event.CallDelegate, event.StopRunByDelegate:
		return true
	case event.StartRun:
		return b.DelegatedBy != nil || slices.ContainsFunc(rows, func(r narrate.Row) bool { return r.Kind == narrate.Delegate })
	}
	return false
}

// checkTypes refuses names that no event has: the job would look as if it had none.
func checkTypes(names []string) error {
	known := typeNames()
	for _, name := range names {
		if slices.Contains(known, name) {
			continue
		}
		if n := wording.Nearest(name, known); n != "" && name != "" {
			return host.Usagef("--type: there is no event type %q; did you mean %s?", name, n)
		}
		return host.Usagef("--type: there is no event type %q; press tab after --type to list them", name)
	}
	return nil
}

func typeNames() []string {
	var names []string
	for _, t := range event.Types() {
		names = append(names, string(t))
	}
	return names
}

// Steps is a range of step numbers, written as N, >N, >=N, <N, <=N or A-B. The zero
// value selects all.
type Steps struct {
	set      bool
	min, max int
	text     string
}

// stepsGrammar matches a number after an operator, a number, or two with a dash between.
var stepsGrammar = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*(?:([<>]=?)\s*(\d{1,9})|(\d{1,9})(?:\s*-\s*(\d{1,9}))?)\s*$`)
})

// Set implements the value of a flag.
func (s *Steps) Set(text string) error {
	parts := stepsGrammar().FindStringSubmatch(text)
	if parts == nil {
		return fmt.Errorf("invalid step filter %q; use N, >N, >=N, <N, <=N or A-B", text)
	}
	low, _ := strconv.Atoi(parts[2] + parts[3]) // one of them is empty, and 9 digits fit
	high, _ := strconv.Atoi(cmp.Or(parts[4], parts[2]+parts[3]))
	switch parts[1] {
	case ">=":
		high = math.MaxInt
	case ">":
		low, high = low+1, math.MaxInt
	case "<=":
		low = 0
	case "<":
		low, high = 0, high-1
	default:
		if low > high {
			return fmt.Errorf("invalid step range %q: %d is greater than %d", text, low, high)
		}
	}
	*s = Steps{true, low, high, text}
	return nil
}

// String and Type implement the value of a flag.
func (s *Steps) String() string { return s.text }
func (s *Steps) Type() string   { return "steps" }
