package host

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/job"
)

// AddLimits adds a flag for each limit, or for the named ones.
func AddLimits(flags *pflag.FlagSet, to *job.Limits, names ...string) {
	for _, l := range job.AllLimits() {
		if len(names) > 0 && !slices.Contains(names, l.Name) {
			continue
		}
		f := &limitFlag{limit: l, to: to}
		usual := "no limit"
		if l.Default > 0 {
			usual = f.format(l.Default)
		}
		if l.Name == "timeout" {
			usual += ", 1800000 with ollama and openai-compatible"
		}
		flags.Var(f, l.Flag, l.Help+" (default: "+usual+")")
	}
}

// A limitFlag is the flag of one limit. It sets nothing until it is given.
type limitFlag struct {
	limit job.Limit
	to    *job.Limits
}

// Type names the value in help texts.
func (f *limitFlag) Type() string {
	switch f.limit.Unit {
	case job.Dollars:
		return "usd"
	case job.Span:
		return "duration"
	case job.Bytes:
		return "bytes"
	}
	return "int"
}

func (f *limitFlag) String() string {
	if f.to == nil { // the flag library makes a zero value to compare with
		return ""
	}
	switch v := f.limit.Value(f.to); v {
	case 0:
		return ""
	case job.None:
		return "0"
	default:
		return f.format(v)
	}
}

// LimitText writes a limit as its flag reads it; "" if nothing is said.
func LimitText(l job.Limit, in *job.Limits) string { return (&limitFlag{l, in}).String() }

// format writes a value as Set reads it.
func (f *limitFlag) format(v float64) string {
	switch f.limit.Unit {
	case job.Span:
		return manifest.FormatDuration(time.Duration(math.Round(v * float64(time.Second))))
	case job.Milliseconds:
		v *= 1000
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

const leaveOut = "; leave the flag out for what perstack.toml or the default says"

// amount is how dollars are written: no sign, no unit, no exponent.
var amount = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9]*\.?[0-9]+$`) })

// Set reads a value. A limit of 0 is refused where it could be meant as no limit at all: a
// program should not guess that.
func (f *limitFlag) Set(text string) error {
	var v float64
	switch f.limit.Unit {
	case job.Dollars:
		n, err := strconv.ParseFloat(text, 64)
		switch {
		case !amount().MatchString(text) || err != nil:
			return Usagef("it must be an amount in US dollars, like 0.50")
		case n == 0:
			return Usagef("it must be more than 0%s", leaveOut)
		case n > f.limit.Most:
			return Usagef("it must be %.0f or less", f.limit.Most)
		}
		v = n
	case job.Span:
		d, err := manifest.ParseDuration(text)
		if err != nil {
			// The reader of the file speaks of a key; here it is a flag.
			return Usagef("%s", strings.Replace(err.Error(), "leave the key out for no limit", strings.TrimPrefix(leaveOut, "; "), 1))
		}
		v = d.Seconds()
	default:
		n, err := strconv.ParseInt(text, 10, 64)
		least, most := int64(1), f.limit.Most
		if f.limit.Unit == job.Milliseconds {
			most *= 1000
		}
		hint := leaveOut
		if f.limit.AllowZero {
			least, hint = 0, ""
		}
		switch {
		case f.limit.Unit == job.Bytes && (err != nil || n < 1):
			return Usagef("it must be a whole number of bytes, 1 or more")
		case err != nil:
			return Usagef("it must be a whole number")
		case n < least || float64(n) > most:
			return Usagef("it must be between %d and %.0f%s", least, most, hint)
		}
		if v = float64(n); n == 0 {
			v = job.None
		} else if f.limit.Unit == job.Milliseconds {
			v /= 1000
		}
	}
	f.limit.Set(f.to, v)
	return nil
}
