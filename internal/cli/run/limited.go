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
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/job"
)

// limited says in words which limit ended the job, what was used of it, and how to resume it
// with more.
//
// A limit can be the job's, which a flag raises, or the Expert's own, which only
// perstack.toml does. The numbers tell which: the lower one was met.
func (o *output) limited(r engine.Result) error {
	l, own, ofJob := r.Limit, o.expert.Limits, o.plan.spec.Limits
	switch {
	case r.Status == event.StatusStoppedByExceededMaxSteps:
		l = &engine.LimitError{Limit: event.LimitSteps, Max: float64(max(r.TotalSteps, ofJob.MaxSteps))}
	case l == nil:
		l = &engine.LimitError{Limit: r.Reason}
	}
	var key, said string
	isOwn, more := false, 2*max(l.Used, l.Max, l.Needs)
	switch l.Limit {
	case event.LimitSteps:
		key, said = "maxSteps", "the job used up its steps"
		if isOwn = own.MaxSteps > 0 && r.TotalSteps < ofJob.MaxSteps; isOwn {
			said = fmt.Sprintf("expert %s used up its steps (maxSteps = %d)", o.expert.Key, own.MaxSteps)
		}
	case event.LimitWorkspace:
		key = "maxWorkspaceBytes"
		said = fmt.Sprintf("the workspace takes %.0f bytes or more, and %.0f are allowed (maxWorkspaceBytes); delete something, or allow more", l.Used, l.Max)
	case event.LimitTokens:
		key, isOwn = "maxTokens", float64(own.MaxTokens) == l.Max && own.MaxTokens != ofJob.MaxTokens
		said = fmt.Sprintf("%.0f of %.0f tokens are used, and the next answer would need more than the rest", l.Used, l.Max)
	case event.LimitCost:
		key, isOwn, more = "maxCost", own.MaxCost == l.Max && own.MaxCost != ofJob.MaxCost, tidy(more)
		said = fmt.Sprintf("$%s of $%s are used, and the next answer could cost more than the rest", money(l.Used), money(l.Max))
		if l.Used == 0 {
			said = fmt.Sprintf("the first answer could cost more than $%s", money(l.Max))
		}
	case event.LimitDepth:
		key = "maxDepth"
		said = fmt.Sprintf("%.0f Experts delegated to one another in a row, and no more are allowed (maxDepth)", l.Max)
	case event.LimitToolCalls:
		key = "maxToolCalls"
		said = fmt.Sprintf("%.0f of %.0f tool calls are used (maxToolCalls), and the model requested %.0f more, which perstack did not carry out", l.Used, l.Max, l.Needs-l.Used)
	case event.LimitSnapshot:
		return fmt.Errorf("stopped: %s, and [snapshots] has mode = %q; resume with: %s", terminal.CleanLine(cmp.Or(l.Why, "the files of the workspace cannot be stored")), job.SnapshotsRequired, o.opts.Again(r.JobID))
	case event.LimitDisk, event.LimitMemory:
		return o.programs(r, l)
	case event.LimitDuration:
		return o.duration(r)
	case event.LimitDenials:
		return fmt.Errorf("stopped: %.0f tool calls were denied; say what to do instead with: %s", l.Used, o.opts.tellHint(r.JobID, o.expert.Key))
	case event.LimitLoop:
		return fmt.Errorf("stopped: the same call with the same result %.0f times in a row; say what to do instead with: %s",
			l.Max, o.opts.tellHint(r.JobID, o.expert.Key))
	}
	if isOwn {
		return fmt.Errorf("stopped: %s; raise %s of expert %s in perstack.toml and resume with: %s", said, key, o.expert.Key, o.opts.Again(r.JobID))
	}
	raised := *o.opts
	for _, row := range job.AllLimits() {
		if row.Name == key || key == "" && strings.EqualFold(row.Name, "max"+l.Limit) {
			row.Set(&raised.Flags.Limits, min(more, row.Most))
			said = cmp.Or(said, fmt.Sprintf("%.0f of %.0f %s are used (%s)", l.Used, l.Max, row.Help, row.Name))
		}
	}
	if said == "" {
		return fmt.Errorf("stopped by the limit on %s; resume with: %s", terminal.CleanLine(l.Limit), o.opts.Again(r.JobID))
	}
	return fmt.Errorf("stopped: %s; resume with: %s", said, raised.Again(r.JobID))
}

// programs is about limits of programs in a sandbox. Only perstack.toml can raise them.
func (o *output) programs(r engine.Result, l *engine.LimitError) error {
	limits := o.plan.spec.Isolation.SandboxLimits.Or(job.DefaultSandboxLimits())
	said, key, allowed := "programs added too much to the disk", "diskGrowth", limits.DiskGrowth
	if l.Limit == event.LimitMemory {
		said, key, allowed = "programs used too much memory", "memory", limits.Memory
	}
	return fmt.Errorf("stopped: %s, three times in this run (%s = %q); free some, or raise it in [sandbox] of perstack.toml; resume with: %s",
		said, key, manifest.FormatBytes(allowed), o.opts.Again(r.JobID))
}

// duration repeats the same limit: the time starts again with every run.
func (o *output) duration(r engine.Result) error {
	const flag = "--max-duration"
	allowed, says, raises := o.plan.spec.Limits.MaxDuration, o.plan.limitedBy("maxDuration", flag), flag
	if own := o.expert.MaxDuration; own > 0 && (allowed == 0 || own < allowed) {
		allowed, says, raises = own, "maxDuration of expert "+o.expert.Key, "perstack.toml"
	}
	if l := r.Limit; l != nil && l.Max > 0 && l.Max != allowed.Seconds() { // the only other source
		allowed, says, raises = time.Duration(l.Max*float64(time.Second)), "totalTimeout in [docker]", "perstack.toml"
	}
	return fmt.Errorf("stopped: the run reached its time limit of %s (%s); a resumed run has the full time again, and %s can allow more; resume with: %s",
		manifest.FormatDuration(allowed), says, raises, o.opts.Again(r.JobID))
}

// tidy rounds an amount to hundredths of a cent: sums of many small amounts collect digits
// that say nothing. An amount below a cent keeps more of them.
func tidy(amount float64) float64 {
	if amount < 0.01 {
		return cmp.Or(math.Round(amount*1e6)/1e6, amount)
	}
	return math.Round(amount*1e4) / 1e4
}

// money writes an amount with two to four decimals, and with more if it would look like
// nothing.
func money(amount float64) string {
	if amount > 0 && amount < 0.0001 {
		return strconv.FormatFloat(amount, 'f', 2-int(math.Ceil(math.Log10(amount))), 64)
	}
	text := strconv.FormatFloat(amount, 'f', 4, 64)
	for range 2 {
		text = strings.TrimSuffix(text, "0")
	}
	return text
}
