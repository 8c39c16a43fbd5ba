package manifest

import (
	"fmt"
	"strings"
	"time"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/job"
)

// limitTexts say what a limit is for where the help of its flag does not fit; {whose} is
// what it bounds: the job at the top level, a Run in the table of an Expert.
var limitTexts = map[string]struct{ about, see string }{
	"maxSteps":          {"Maximum steps of {whose}.", "see [limits](#limits)"},
	"maxTokens":         {"Maximum tokens of {whose}, read and written.", ""},
	"maxCost":           {"Maximum cost in US dollars of {whose}.", ""},
	"maxDuration":       {"Time limit of {whose}.", ""},
	"maxToolCalls":      {"Maximum tool calls of {whose}.", ""},
	"maxDepth":          {"Maximum depth of delegation, counting the first Expert.", "see [delegation](delegation.md)"},
	"maxParallel":       {"Maximum number of Experts of a job that work at the same time.", ""},
	"maxRetries":        {"How often a failed generation is retried.", ""},
	"timeout":           {"Time limit of one generation, in milliseconds.", "1800000 (30 minutes) if a provider in use is `ollama` or `openai-compatible`"},
	"maxWorkspaceBytes": {"Maximum size of the workspace on disk, in bytes; a run that reaches it is stopped.", "see [the size of the workspace](#the-size-of-the-workspace)"},
}

// jobLimits are the keys of all limits, for the top level.
func jobLimits() (keys []key[Config]) {
	for _, l := range job.AllLimits() {
		hint := noLimit
		switch {
		case l.AllowZero:
			hint = ""
		case l.Default > 0:
			hint = fmt.Sprintf("without the key it is %.0f", l.Default)
		}
		k := limitKey(l, "the whole job, delegates included", hint, func(c *Config, v float64) { l.Set(&c.Settings.Limits, v) })
		if l.Default > 0 {
			k = k.or(int64(l.Default * scale(l)))
		} else {
			k = k.without("no limit")
		}
		keys = append(keys, k)
	}
	return keys
}

// expertLimits are the keys of the limits that an Expert can have for one Run.
func expertLimits() (keys []key[expert.Expert]) {
	for _, l := range job.AllLimits() {
		if l.PerExpert {
			keys = append(keys, limitKey(l, "one Run, delegates included", noLimit, func(e *expert.Expert, v float64) {
				all := job.Limits{Limits: e.Limits}
				l.Set(&all, v)
				e.Limits = all.Limits
			}).without("no limit of its own"))
		}
	}
	return keys
}

// limitKey is the key of one limit. The hint says what holds without it.
func limitKey[T any](l job.Limit, whose, hint string, set func(v *T, n float64)) key[T] {
	text, ok := limitTexts[l.Name]
	if !ok {
		text.about = "Limit of " + l.Help + "."
	}
	about := strings.ReplaceAll(text.about, "{whose}", whose)
	switch l.Unit {
	case job.Dollars:
		return row(l.Name, about, dollars(l.Most), set).more(text.see)
	case job.Span:
		return row(l.Name, about, duration("30m", hint), func(v *T, d time.Duration) { set(v, d.Seconds()) }).more(text.see)
	}
	low := 1
	if l.AllowZero {
		low = 0
	}
	number := between(low, int64(l.Most*scale(l)), hint)
	if l.Unit == job.Milliseconds {
		number = inMilliseconds(number)
	}
	return row(l.Name, about, number, func(v *T, n int64) {
		if n == 0 {
			set(v, job.None)
		} else {
			set(v, float64(n)/scale(l))
		}
	}).more(text.see)
}

// scale is how many of what the file counts are one of what the table of limits counts.
func scale(l job.Limit) float64 {
	if l.Unit == job.Milliseconds {
		return 1000
	}
	return 1
}
