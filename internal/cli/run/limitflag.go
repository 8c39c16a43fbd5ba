package run

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/manifest"
)

// This file has the values of the flags that limit something. Zero means that a flag was
// not given. A limit of nothing is refused: whoever writes 0 may mean that there is no
// limit, and a run without one is not what a program should guess.

const noLimit = "; leave the flag out for what perstack.toml or the default says"

// A count limits how many of something there may be.
type count[N int | int64] struct {
	to   *N
	most N
}

// Type names the value in help texts.
func (c *count[N]) Type() string { return "int" }

func (c *count[N]) String() string {
	if c.to == nil || *c.to == 0 { // nil: the flag library makes a zero value to compare with
		return ""
	}
	return strconv.FormatInt(int64(*c.to), 10)
}

// Set reads a whole number from 1.
func (c *count[N]) Set(text string) error {
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err != nil:
		return host.Usagef("it must be a whole number")
	case n < 1 || n > int64(c.most):
		return host.Usagef("it must be between 1 and %d%s", c.most, noLimit)
	}
	*c.to = N(n)
	return nil
}

// dollars limit what a job may cost.
type dollars float64

// amount is how dollars are written: no sign, no unit, no exponent.
var amount = regexp.MustCompile(`^[0-9]*\.?[0-9]+$`)

// Type names the value in help texts.
func (d *dollars) Type() string { return "usd" }

func (d *dollars) String() string {
	if *d == 0 {
		return ""
	}
	return strconv.FormatFloat(float64(*d), 'f', -1, 64)
}

// Set reads an amount above 0.
func (d *dollars) Set(text string) error {
	n, err := strconv.ParseFloat(text, 64)
	switch {
	case !amount.MatchString(text) || err != nil:
		return host.Usagef("it must be an amount in US dollars, like 0.50")
	case n == 0:
		return host.Usagef("it must be more than 0%s", noLimit)
	case n > expert.MostCost:
		return host.Usagef("it must be %d or less", expert.MostCost)
	}
	*d = dollars(n)
	return nil
}

// A span limits how long a run may take.
type span time.Duration

// Type names the value in help texts.
func (s *span) Type() string { return "duration" }

func (s *span) String() string {
	if *s == 0 {
		return ""
	}
	return shortSpan(time.Duration(*s))
}

// Set reads a time above 0 with its unit, as the file does.
func (s *span) Set(text string) error {
	d, err := manifest.ParseDuration(text)
	if err != nil {
		// The reader of the file speaks of a key; here it is a flag.
		return host.Usagef("%s", strings.Replace(err.Error(), "leave the key out for no limit", strings.TrimPrefix(noLimit, "; "), 1))
	}
	*s = span(d)
	return nil
}

// shortSpan writes 30m for what Go calls 30m0s.
func shortSpan(d time.Duration) string {
	text := d.String()
	for _, zero := range []struct{ after, unit string }{{"m", "0s"}, {"h", "0m"}} {
		if n := len(text) - len(zero.unit); n > 0 && text[n:] == zero.unit && text[n-1:n] == zero.after {
			text = text[:n]
		}
	}
	return text
}
