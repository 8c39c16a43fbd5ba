package sweep

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/event"
)

// A finding is something that must not happen.
type finding struct {
	kind string
	what string
}

// The kinds of findings.
const (
	loss   = "lost"
	repeat = "repeated"
	change = "unexpected"
)

// compare compares a job that was killed and resumed with one that was not.
func compare(t trial, reference *account, cuts []*account, final *account) []finding {
	c := &comparison{job: t.job, kills: t.kills, powerCut: t.powerCut, reference: reference, cuts: cuts, final: final}
	c.kept()
	c.repeated()
	c.evidence()
	c.listed()
	if t.sabotage != somethingElse { // then the user wanted something else
		c.compareRuns()
	}
	return c.found
}

type comparison struct {
	job              Job
	kills            []int
	powerCut         bool
	reference, final *account
	cuts             []*account
	found            []finding
}

func (c *comparison) add(kind, format string, args ...any) {
	c.found = append(c.found, finding{kind, fmt.Sprintf(format, args...)})
}

// moments are all accounts, the last one included.
func (c *comparison) moments() []*account { return append(slices.Clip(c.cuts), c.final) }

// kept checks that what was recorded stays, byte for byte, and that what was shown was
// recorded.
func (c *comparison) kept() {
	var before []byte
	for _, a := range c.moments() {
		if !bytes.HasPrefix(a.journal, before) {
			c.add(loss, "a record is gone, or another")
		}
		before = a.journal
		for _, line := range a.shown {
			// A power cut may take what was shown, but never the end of a Run.
			if id, ends, _ := strings.Cut(line, "\t"); !a.ids[id] && (!c.powerCut || ends == "true") {
				c.add(loss, "event %s was shown and is not recorded", id)
			}
		}
		for _, what := range a.invalid {
			c.add(change, "%s", what)
		}
	}
}

// repeated checks that what was recorded before a kill was not done again after it.
func (c *comparison) repeated() {
	for _, cut := range c.cuts {
		for _, s := range cut.stories {
			recorded := s.generations()
			for _, line := range c.final.paid[len(cut.paid):] {
				if key, _, _ := strings.Cut(line, "\t"); slices.Contains(recorded, key) {
					c.add(repeat, "the generation %s was recorded, and paid again", key)
				}
			}
			for id, f := range s.calls() {
				if f.ended && slices.Contains(c.final.ran[len(cut.ran):], callKey(s.task, id)+"\t"+f.tool) {
					c.add(repeat, "the result of %s was recorded, and it ran again", callKey(s.task, id))
				}
			}
		}
	}
}

// evidence checks what the journal says about calls against what was really done.
func (c *comparison) evidence() {
	for _, a := range c.moments() {
		times, tools := map[string]int{}, map[string]string{}
		for _, line := range a.ran {
			key, tool, _ := strings.Cut(line, "\t")
			times[key]++
			tools[key] = tool
		}
		for _, s := range a.stories {
			for id, f := range s.calls() {
				key := callKey(s.task, id)
				n := times[key]
				delete(times, key)
				switch {
				case hasEffect(f.tool) && n > 1:
					c.add(repeat, "%s has an effect, and ran %d times", key, n)
				case hasEffect(f.tool) && n > 0 && !f.started:
					c.add(loss, "%s ran before its start was recorded", key)
				case n == 0 && strings.HasPrefix(f.text, "did "):
					c.add(loss, "%s has a result, but did not run", key)
				}
			}
		}
		for key := range times {
			if c.powerCut && !hasEffect(tools[key]) {
				continue // it only looked, and will look again
			}
			c.add(loss, "%s ran, and no Run has such a call", key)
		}
	}
}

// listed checks what a list of jobs says: after a kill that the job was interrupted if it
// was at work, and always what the journal says.
func (c *comparison) listed() {
	for _, a := range c.moments() {
		if a.job.ID == "" {
			continue // nothing was recorded
		}
		want := a.job.Status
		if want == event.JobRunning {
			want = event.JobInterrupted
		}
		if got := a.info.CurrentStatus(); got != want {
			c.add(change, "the job is listed as %s, and is %s", got, want)
		}
		if a.info.Usage.TotalTokens != a.job.Usage.TotalTokens || a.info.TotalSteps != a.job.TotalSteps {
			c.add(change, "the job is listed with %d tokens and %d steps, and has %d and %d", a.info.Usage.TotalTokens, a.info.TotalSteps, a.job.Usage.TotalTokens, a.job.TotalSteps)
		}
	}
}

// compareRuns compares the Runs, one by one.
func (c *comparison) compareRuns() {
	outcomes := c.outcomes()
	switch want, got := c.reference.job, c.final.job; {
	case got.Status != want.Status:
		c.add(change, "the job is %s, not %s", got.Status, want.Status)
	case got.Usage.TotalTokens != want.Usage.TotalTokens && !c.job.limited():
		c.add(change, "the job has used %d tokens, not %d", got.Usage.TotalTokens, want.Usage.TotalTokens)
	}
	for _, path := range slices.Sorted(maps.Keys(c.reference.stories)) {
		s, ok := c.final.stories[path]
		if !ok {
			if !c.job.limited() {
				c.add(loss, "%s: there is no such Run", path)
			}
			continue
		}
		c.compareRun(path, expected(c.reference.stories[path], outcomes[path]), slices.Clone(s.items))
	}
	for path := range c.final.stories {
		if _, ok := c.reference.stories[path]; !ok {
			c.add(change, "%s: there should be no such Run", path)
		}
	}
	// A power cut may take the record that a generation had begun, and with it the step.
	if c.job.MaxSteps > 0 && len(c.final.paid) > c.job.MaxSteps && !c.powerCut {
		c.add(change, "%d generations were paid, and %d steps allowed", len(c.final.paid), c.job.MaxSteps)
	}
	if len(outcomes) > 0 || c.job.limited() {
		return // the models were told so
	}
	for _, line := range c.final.paid {
		if !slices.Contains(c.reference.paid, line) {
			c.add(change, "the model was asked something else: %s", line)
		}
	}
}

// compareRun compares one Run.
func (c *comparison) compareRun(path string, want, got []item) {
	if c.job.limited() {
		want, got = c.limited(path, withoutCuts(withoutWarnings(want)), withoutCuts(withoutWarnings(got)))
	} else {
		want, got = withoutCuts(want), withoutCuts(got)
	}
	for i := range max(len(want), len(got)) {
		switch {
		case i >= len(got):
			c.add(loss, "%s: it ends before %s", path, want[i].body)
		case i >= len(want):
			c.add(change, "%s: it continues with %s", path, got[i].body)
		case want[i].body != got[i].body:
			c.add(change, "%s: record %d is\n\t%s\nnot\n\t%s", path, i, got[i].body, want[i].body)
		case c.job.MaxSteps > 0: // a delegate may have met the limit earlier, too
			continue
		case !slices.Equal(slices.Sorted(slices.Values(want[i].answers)), slices.Sorted(slices.Values(got[i].answers))):
			c.add(change, "%s: record %d has the answers\n\t%s\nnot\n\t%s", path, i, got[i].answers, want[i].answers)
		default:
			continue
		}
		return
	}
}

// limited compares a Run of a job that meets its limit of steps. A step that is begun
// again counts, so the limit is reached earlier. Up to there the records are the same. A delegate
// that was cut is not begun again when no step is left: it waits until more steps are allowed.
func (c *comparison) limited(path string, want, got []item) (_, _ []item) {
	if len(want) == 0 || len(got) == 0 || len(got) > len(want) {
		return want, got
	}
	last, delegated := got[len(got)-1], strings.Contains(path, " > ")
	if last.body != want[len(want)-1].body && last.Type != "stopRunByExceededMaxSteps" && !(delegated && last.Type == "stopRunByInterrupt") {
		c.add(change, "%s: it ends with %s", path, last.body)
	}
	return want[:len(got)-1], got[:len(got)-1]
}

// withoutWarnings leaves out what a Run is told about its steps, earlier or later.
func withoutWarnings(items []item) []item {
	return slices.DeleteFunc(slices.Clone(items), func(it item) bool { return it.Type == "limitWarning" })
}

// outcomes are the results of calls that a cut has changed, by Run and call.
func (c *comparison) outcomes() map[string]map[string]string {
	all := map[string]map[string]string{}
	add := func(path, id, body string) {
		if all[path] == nil {
			all[path] = map[string]string{}
		}
		all[path][id] = body
	}
	for i, cut := range c.cuts {
		for path, s := range cut.stories {
			for id, f := range s.calls() {
				// It is unknown: it has effects, it had begun, and nothing was recorded.
				if f.started && !f.ended && hasEffect(f.tool) {
					add(path, id, unknownOutcome(s.key, id, f))
				}
			}
			for _, it := range givenUp(s.items) {
				// It was told to stop, and said so.
				if b := it.raw.Body.(event.EndToolCall); c.kills[i] < 0 && b.ToolResult.IsError {
					add(path, b.ToolResult.ID, it.body)
				}
			}
		}
	}
	return all
}

// givenUp are the results that came last before a Run was told to stop.
func givenUp(items []item) []item {
	end := len(items) - 1
	if end < 0 || !isCut(items[end]) {
		return nil
	}
	first := end
	for first > 0 && items[first-1].Type == "endToolCall" {
		first--
	}
	return items[first:end]
}

func unknownOutcome(expertKey, id string, f fate) string {
	return fmt.Sprintf(`{"expertKey":%q,"toolResult":{"id":%q,"isError":true,"result":[{"id":"ID","text":%q,"type":"textPart"}],"skillName":%q,"toolName":%q},"type":"endToolCall"}`,
		expertKey, id, event.UnknownOutcome, f.skill, f.tool)
}

// expected is the records of a Run, with the outcomes that a cut has changed.
func expected(s *story, outcomes map[string]string) []item {
	items := slices.Clone(s.items)
	for i, it := range items {
		if b, ok := it.raw.Body.(event.EndToolCall); ok {
			items[i].body = cmp.Or(outcomes[b.ToolResult.ID], it.body)
		}
	}
	return items
}
