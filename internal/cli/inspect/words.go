package inspect

import (
	"fmt"
	"strings"
	"time"
)

func (p Provider) line() string {
	line := p.Name
	if p.Model != "" {
		line += ", model " + p.Model
	}
	if p.BaseURL != "" {
		line += ", at " + p.BaseURL
	}
	line += prefixed(", with the headers ", p.Headers)
	if len(p.Keys) > 0 {
		line += ", key from " + variables(p.Keys)
	}
	return line
}

func (l Limits) line() string {
	timeout, size := "no timeout", "workspace of any size"
	if l.TimeoutMS > 0 {
		timeout = ms(l.TimeoutMS).String() + " a generation"
	}
	if l.MaxWorkspaceBytes != nil {
		size = fmt.Sprintf("workspace of %d bytes", *l.MaxWorkspaceBytes)
	}
	return fmt.Sprintf("%d steps, %d retries, %s, %s", l.MaxSteps, l.MaxRetries, timeout, size)
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

// variables names them with whether they are set here.
func variables(all []Variable) string {
	var words []string
	for _, v := range all {
		state := "not set here"
		if v.Set {
			state = "set"
		}
		words = append(words, fmt.Sprintf("%s (%s)", v.Name, state))
	}
	return strings.Join(words, ", ")
}

// hosts says what a server may reach. The local runtime holds no process to it; a
// finding says so.
func hosts(s Skill) string {
	if len(s.AllowedDomains) > 0 {
		return strings.Join(s.AllowedDomains, ", ")
	}
	if s.Endpoint != "" {
		return "" // perstack itself speaks to the endpoint, and to nothing else
	}
	return "any"
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

func prefixed(prefix string, words []string) string {
	if len(words) == 0 {
		return ""
	}
	return prefix + strings.Join(words, ", ")
}
