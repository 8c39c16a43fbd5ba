package run

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/job"
)

// limited says in words which limit ended the job, what was used of it, and how to go on
// with more.
//
// A limit may be the job's, which a flag raises, or the Expert's own, which only
// perstack.toml does. The numbers tell which: the lower one was met.
func (o *output) limited(r engine.Result) error {
	if r.Status == event.StatusStoppedByExceededMaxSteps {
		return o.steps(r)
	}
	l := r.Limit
	if l == nil {
		return fmt.Errorf("stopped by the limit on %s; go on with: %s", terminal.CleanLine(r.Reason), o.opts.again(r.JobID))
	}
	switch l.Limit {
	case event.LimitWorkspace:
		return o.tooLarge(r.JobID, l)
	case event.LimitTokens:
		return o.tokens(r, l)
	case event.LimitCost:
		return o.cost(r, l)
	case event.LimitDuration:
		return o.duration(r)
	case event.LimitLoop:
		return fmt.Errorf("stopped: the same call with the same result %d times in a row; say what to do instead with: %s",
			int64(l.Max), o.opts.tellHint(r.JobID, o.expert.Key))
	case event.LimitDepth:
		more := *o.opts
		more.Flags.Limits.MaxDepth = min(int(2*l.Max), expert.MostDepth)
		return fmt.Errorf("stopped: %d Experts delegated to one another in a row, and that is all that is allowed (maxDepth); go on with: %s",
			int64(l.Max), more.again(r.JobID))
	}
	more := *o.opts
	for _, row := range job.AllLimits() {
		if strings.EqualFold(row.Name, "max"+l.Limit) {
			row.Set(&more.Flags.Limits, min(2*max(l.Used, l.Max), row.Most))
			return fmt.Errorf("stopped: %.0f of %.0f %s are used (%s); go on with: %s", l.Used, l.Max, row.Help, row.Name, more.again(r.JobID))
		}
	}
	return fmt.Errorf("stopped by the limit on %s; go on with: %s", terminal.CleanLine(l.Limit), more.again(r.JobID))
}

func (o *output) steps(r engine.Result) error {
	if own := o.expert.MaxSteps; own > 0 && r.TotalSteps < o.plan.spec.Limits.MaxSteps {
		return o.raise(r.JobID, "maxSteps", fmt.Sprintf("expert %s used up its steps (maxSteps = %d)", o.expert.Key, own))
	}
	more := *o.opts
	more.Flags.Limits.MaxSteps = 2 * min(max(r.TotalSteps, o.plan.spec.Limits.MaxSteps), math.MaxInt32/2)
	return fmt.Errorf("stopped: the job used up its steps; go on with: %s", more.again(r.JobID))
}

func (o *output) tokens(r engine.Result, l *engine.LimitError) error {
	used, allowed := int64(l.Used), int64(l.Max)
	said := fmt.Sprintf("%d of %d tokens are used, and the next answer would need more than the rest", used, allowed)
	if own := o.expert.MaxTokens; own == allowed && own != o.plan.spec.Limits.MaxTokens {
		return o.raise(r.JobID, "maxTokens", said)
	}
	more := *o.opts
	more.Flags.Limits.MaxTokens = min(2*max(used, allowed), expert.MostTokens)
	return fmt.Errorf("stopped: %s; go on with: %s", said, more.again(r.JobID))
}

func (o *output) cost(r engine.Result, l *engine.LimitError) error {
	used, allowed := l.Used, l.Max
	said := fmt.Sprintf("$%s of $%s are used, and the next answer could cost more than the rest", money(used), money(allowed))
	if own := o.expert.MaxCost; own == allowed && own != o.plan.spec.Limits.MaxCost {
		return o.raise(r.JobID, "maxCost", said)
	}
	more := *o.opts
	more.Flags.Limits.MaxCost = min(tidy(2*max(used, allowed)), expert.MostCost)
	return fmt.Errorf("stopped: %s; go on with: %s", said, more.again(r.JobID))
}

// duration repeats the same limit: it counts anew in every run.
func (o *output) duration(r engine.Result) error {
	const flag = "--max-duration"
	allowed, says, raises := o.plan.spec.Limits.MaxDuration, flag, flag
	own := o.expert.MaxDuration
	switch from := o.plan.resolved.From("maxDuration"); {
	case own > 0 && (allowed == 0 || own < allowed):
		allowed, says, raises = own, "maxDuration of expert "+o.expert.Key, "perstack.toml"
	case from == job.File:
		says = "maxDuration"
	case from == job.Record:
		says = flag + " of the run before"
	}
	if l := r.Limit; l != nil && l.Max > 0 && l.Max != allowed.Seconds() { // nobody else has another
		allowed, says, raises = time.Duration(l.Max*float64(time.Second)), "totalTimeout in [docker]", "perstack.toml"
	}
	return fmt.Errorf("stopped: the run took the %s that it may take (%s); the time counts anew, and %s can allow more; go on with: %s",
		shortSpan(allowed), says, raises, o.opts.again(r.JobID))
}

// raise says that the limit is the Expert's own.
func (o *output) raise(jobID, key, said string) error {
	return fmt.Errorf("stopped: %s; raise %s of expert %s in perstack.toml and go on with: %s", said, key, o.expert.Key, o.opts.again(jobID))
}

// centCents is how fine amounts are shown: in hundredths of a cent.
const centCents = 1e4

// tidy takes off the digits that sums of many small amounts collect, and that nobody reads.
// Of what is tiny they are all there is.
func tidy(amount float64) float64 {
	if amount < 100/centCents {
		return cmp.Or(math.Round(amount*1e6)/1e6, amount)
	}
	return math.Round(amount*centCents) / centCents
}

// money writes an amount with two decimals at least, and up to four. What is less than
// they can show must not look like nothing.
func money(amount float64) string {
	if amount > 0 && amount < 1/centCents {
		return strconv.FormatFloat(amount, 'f', 2-int(math.Ceil(math.Log10(amount))), 64)
	}
	text := strconv.FormatFloat(amount, 'f', 4, 64)
	for range 2 {
		text = strings.TrimSuffix(text, "0")
	}
	return text
}

// tooLarge says that the workspace takes too many bytes, and the two ways out.
func (o *output) tooLarge(jobID string, l *engine.LimitError) error {
	used, allowed := int64(l.Used), int64(l.Max)
	more := *o.opts
	more.Flags.Limits.MaxWorkspaceBytes = 2 * min(max(used, allowed), math.MaxInt64/4)
	return fmt.Errorf("stopped: the workspace takes %d bytes or more, and %d are allowed (maxWorkspaceBytes); delete something, or allow more and go on with: %s",
		used, allowed, more.again(jobID))
}
