package inspect

import (
	"fmt"
	"strings"
	"time"

	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/internal/wording"
)

func (p Provider) line() string {
	line := p.Name
	for _, part := range []struct{ name, value string }{
		{"model ", p.Model}, {"at ", p.BaseURL}, {"resource ", p.Resource}, {"project ", p.Project},
		{"region ", p.Region}, {"location ", p.Location}, {"guardrail ", p.Guardrail},
	} {
		line += prefixed(", "+part.name, nonEmpty(part.value))
	}
	for _, s := range p.Safety {
		line += ", " + s.Threshold + " for " + s.Category
	}
	line += prefixed(", with the headers ", p.Headers)
	line += prefixed(", adding ", p.ExtraBody)
	if len(p.Keys) > 0 {
		line += ", key from " + variables(p.Keys)
		if p.KeyOptional {
			line += ", optional"
		}
	}
	return line
}

func (l Limits) line() string {
	timeout, size := "no timeout", "workspace of any size"
	if l.TimeoutMS > 0 {
		timeout = ms(l.TimeoutMS) + " a generation"
	}
	if l.MaxWorkspaceBytes > 0 {
		size = fmt.Sprintf("workspace of %d bytes", l.MaxWorkspaceBytes)
	}
	line := l.RunLimits.line()
	if l.MaxToolCalls > 0 {
		line += fmt.Sprintf(", %d tool calls", l.MaxToolCalls)
	}
	return fmt.Sprintf("%s, %d retries, %s, %s", line, l.MaxRetries, timeout, size)
}

// line names the limits that there are.
func (l RunLimits) line() string {
	var words []string
	if l.MaxSteps > 0 {
		words = append(words, fmt.Sprintf("%d steps", l.MaxSteps))
	}
	if l.MaxTokens > 0 {
		words = append(words, fmt.Sprintf("%d tokens", l.MaxTokens))
	}
	if l.MaxCost > 0 {
		words = append(words, wording.Number(l.MaxCost)+" US dollars")
	}
	if l.MaxDurationMS > 0 {
		words = append(words, ms(l.MaxDurationMS))
	}
	return strings.Join(words, ", ")
}

// delegation says how deep delegation can go, if an Expert can delegate at all.
func (c *Card) delegation() string {
	for _, e := range c.Experts {
		if len(e.Delegates) > 0 {
			return fmt.Sprintf("at most %d deep, %d at once", c.Limits.MaxDepth, c.Limits.MaxParallel)
		}
	}
	return ""
}

func (l Lock) line() string {
	switch l.State {
	case lockMissing:
		return "none: nothing is pinned"
	case lockBroken:
		return l.Path + " is broken"
	}
	at := time.UnixMilli(l.GeneratedAt).UTC().Format("2006-01-02 15:04 MST")
	if l.State == lockStale {
		return l.Path + " of " + at + " does not fit any more"
	}
	return l.Path + " of " + at
}

func (p Package) line() string {
	switch {
	case p.Pinned:
		return fmt.Sprintf("%s, pinned to %s, %s", p.Wanted, p.Version, p.Integrity)
	case p.Version != "":
		return fmt.Sprintf("%s, version %s, content not pinned", p.Wanted, p.Version)
	}
	return p.Wanted + ", not pinned"
}

// variables names them with where they are set. A file is called one, because it can have any name,
// such as "the environment".
func variables(all []Variable) string {
	var words []string
	for _, v := range all {
		state := "not set here"
		switch {
		case v.File != "":
			state = "set in the file " + terminal.ShellJoin(v.File)
		case v.Set:
			state = "set in the environment"
		}
		words = append(words, fmt.Sprintf("%s (%s)", v.Name, state))
	}
	return strings.Join(words, ", ")
}

func (s Skill) starts() string {
	if s.Lazy {
		return "in the background, or with a lockfile when it is first used"
	}
	return ""
}

// count says how many tools there are, and how many pick and omit leave out.
func (s Skill) count() string {
	text := fmt.Sprint(len(s.Tools))
	if s.Left > 0 {
		text += fmt.Sprintf(" of %d", len(s.Tools)+s.Left)
	}
	if s.ToolPrefix {
		text += ", each with the name of the skill before its own"
	}
	return text
}

func nonEmpty(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}

func prefixed(prefix string, words []string) string {
	if len(words) == 0 {
		return ""
	}
	return prefix + strings.Join(words, ", ")
}
