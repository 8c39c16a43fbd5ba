package job

import (
	"math"
	"time"

	"github.com/perstack-go/perstack/expert"
)

// Limits bound a whole job, with everything that is delegated in it. 0 means that nothing
// is said: a limit has its default then, or does not exist. [None] switches a limit off
// that has a default.
type Limits struct {
	expert.Limits // those that a single Expert can have as well

	MaxToolCalls int `json:"maxToolCalls,omitzero"` // that the models of all Runs make
	MaxDepth     int `json:"maxDepth,omitzero"`     // Experts on one path of delegation
	MaxParallel  int `json:"maxParallel,omitzero"`  // Runs at once

	MaxRetries int           `json:"maxRetries,omitzero"` // consecutive failures of one generation; None for no retry
	Timeout    time.Duration `json:"timeout,omitzero"`    // of one generation; None for no limit

	MaxWorkspaceBytes int64 `json:"maxWorkspaceBytes,omitzero"` // that the files of the workspace can take
}

// None as a value of MaxRetries or Timeout says that there are no retries, or no limit.
const None = -1

// A Unit says how the value of a limit is written.
type Unit int

// The units of limits.
const (
	Count        Unit = iota // a whole number
	Dollars                  // an amount, like 0.50
	Span                     // a time with its unit, like 90s or 2h
	Milliseconds             // a whole number of milliseconds
	Bytes                    // a size, like 512MiB
)

// A Limit is one row of the table of limits. The parser of perstack.toml, the flags of
// perstack run, the checks of a Spec and the rule for resumed jobs all read it.
type Limit struct {
	Name      string  // its key in perstack.toml and in JSON
	Flag      string  // without the dashes
	Unit      Unit    // of what users write
	Most      float64 // the largest value, in Count, US dollars, seconds or bytes
	Default   float64 // 0: there is none
	AllowZero bool    // 0 can be written, and is kept as None
	PerExpert bool    // an Expert can have one of its own, for one Run
	Help      string  // what is limited, for the flag

	get func(*Limits) float64
	set func(*Limits, float64)
}

// limits is the table. Every limit is enforced where its comment says.
var limits = []Limit{
	row("maxSteps", "max-steps", Count, math.MaxInt32, "steps of the whole job", func(l *Limits) *int { return &l.MaxSteps }).or(expert.DefaultMaxSteps).perExpert(),                                                                  // engine: before a generation
	row("maxTokens", "max-tokens", Count, expert.MostTokens, "tokens of the whole job, in and out", func(l *Limits) *int64 { return &l.MaxTokens }).perExpert(),                                                                       // engine: reserved before a generation
	row("maxCost", "max-cost", Dollars, expert.MostCost, "US dollars that the whole job can cost, like 0.50", func(l *Limits) *float64 { return &l.MaxCost }).perExpert(),                                                             // engine: reserved before a generation
	span("maxDuration", "max-duration", Span, expert.MostDuration, "time that the run can take, like 90s, 30m or 2h", func(l *Limits) *time.Duration { return &l.MaxDuration }).perExpert(),                                           // engine: a timer
	row("maxToolCalls", "max-tool-calls", Count, math.MaxInt32, "tool calls of the whole job", func(l *Limits) *int { return &l.MaxToolCalls }),                                                                                       // engine: before the calls of a turn are carried out
	row("maxDepth", "max-depth", Count, expert.MostDepth, "Experts that can delegate to one another in a row", func(l *Limits) *int { return &l.MaxDepth }).or(expert.DefaultMaxDepth),                                                // engine: before a delegate starts
	row("maxParallel", "max-parallel", Count, expert.MostParallel, "Experts that can work at once", func(l *Limits) *int { return &l.MaxParallel }).or(expert.DefaultMaxParallel),                                                     // engine: delegates wait
	row("maxRetries", "max-retries", Count, math.MaxInt32, "retries of one generation", func(l *Limits) *int { return &l.MaxRetries }).or(expert.DefaultMaxRetries).allowZero(),                                                       // engine: after a failed generation
	span("timeout", "timeout", Milliseconds, math.MaxInt32*time.Millisecond, "milliseconds for one generation, 0 for no limit", func(l *Limits) *time.Duration { return &l.Timeout }).or(expert.DefaultTimeout.Seconds()).allowZero(), // engine: the deadline of a generation
	row("maxWorkspaceBytes", "max-workspace-bytes", Bytes, math.MaxInt64/2, "bytes that the files of the workspace can take", func(l *Limits) *int64 { return &l.MaxWorkspaceBytes }),                                                 // runtimes/local: after each call
}

// AllLimits returns the table of limits, in the order in which they are shown.
func AllLimits() []Limit { return limits }

func row[N int | int64 | float64](name, flag string, unit Unit, most float64, help string, field func(*Limits) *N) Limit {
	return Limit{
		Name: name, Flag: flag, Unit: unit, Most: most, Help: help,
		get: func(l *Limits) float64 { return float64(*field(l)) },
		set: func(l *Limits, v float64) { *field(l) = N(v) },
	}
}

func span(name, flag string, unit Unit, most time.Duration, help string, field func(*Limits) *time.Duration) Limit {
	return Limit{
		Name: name, Flag: flag, Unit: unit, Most: most.Seconds(), Help: help,
		get: func(l *Limits) float64 {
			if *field(l) == None {
				return None
			}
			return field(l).Seconds()
		},
		set: func(l *Limits, v float64) {
			if *field(l) = None; v != None {
				*field(l) = time.Duration(math.Round(v * float64(time.Second)))
			}
		},
	}
}

func (l Limit) or(value float64) Limit { l.Default = value; return l }
func (l Limit) perExpert() Limit       { l.PerExpert = true; return l }
func (l Limit) allowZero() Limit       { l.AllowZero = true; return l }

// Value returns the limit in all, in the unit of Most; 0 if nothing is said, [None] if it
// is switched off.
func (l Limit) Value(all *Limits) float64 { return l.get(all) }

// Set sets the limit in all.
func (l Limit) Set(all *Limits, value float64) { l.set(all, value) }

// within returns a recorded value if a user could have set it, else 0: a journal can be
// forged.
func (l Limit) within(value float64) float64 {
	switch {
	case value > 0: // false for NaN
		return min(value, l.Most)
	case value == None && l.AllowZero:
		return None
	}
	return 0
}

// stricter returns the tighter of two values; 0 says nothing. Without retries is tighter
// than with some; a generation without a timeout is not.
func (l Limit) stricter(a, b float64) float64 {
	weight := func(v float64) float64 {
		switch {
		case v == 0:
			return math.Inf(1)
		case v == None && l.Unit == Milliseconds:
			return math.MaxFloat64
		}
		return v
	}
	if weight(b) < weight(a) {
		return b
	}
	return a
}

// Looser reports whether a value lets a job do more than another one does. 0 is no limit.
func (l Limit) Looser(value, than float64) bool {
	return value != than && l.stricter(value, than) == than
}

// Retries is how many retries one generation has.
func (l *Limits) Retries() int { return max(l.MaxRetries, 0) }

// GenerationTimeout is how long one generation can take; 0 for no limit.
func (l *Limits) GenerationTimeout() time.Duration { return max(l.Timeout, 0) }
