package inspect

// The rules of the output:
//
//  1. A field is a name and a value on one line; what is below an Expert or a skill is
//     indented by two more. Nothing is coloured or redrawn.
//  2. Everything that came from a file is printed by line, which makes visible what would
//     act or hide. So no field can forget it.
//  3. Nothing is left out for want of space but the ends of long descriptions.

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/perstack-go/perstack/internal/consent"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/terminal"
)

// longest is how much of a description is shown. --json has all of it.
const longest = 160

type printer struct{ strings.Builder }

// line writes one line, with the blanks that it begins with.
func (p *printer) line(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	indent := text[:len(text)-len(strings.TrimLeft(text, " "))]
	p.WriteString(indent + strings.Join(strings.Fields(terminal.Reveal(text)), " ") + "\n")
}

// field writes a name and its value, if it has one.
func (p *printer) field(indent, name, value string) {
	if value != "" {
		p.WriteString(indent + fmt.Sprintf("%-10s ", name) + terminal.RevealLine(value) + "\n")
	}
}

// text writes the card for people.
func (c *Card) text() string {
	p := &printer{}
	p.line("%s, from %s", c.Expert, c.Config)
	if c.Provider != nil {
		p.field("  ", "provider", c.Provider.line())
	}
	p.field("  ", "runtime", c.Runtime)
	p.field("  ", "isolation", c.Docker.line()+c.Programs.line())
	p.field("  ", "limits", c.Limits.line())
	p.field("  ", "price", c.price())
	p.field("  ", "delegation", c.delegation())
	for _, circle := range c.Circles {
		p.field("  ", "circle", strings.Join(circle, ", ")+" can ask each other, until a limit ends it")
	}
	p.field("  ", "lockfile", c.Lock.line())
	for _, problem := range c.Lock.Problems {
		for line := range strings.Lines(problem) {
			p.line("    %s", line)
		}
	}
	for _, e := range c.Experts {
		p.expert(c, e)
	}
	p.requests(c.Requests)
	p.findings(c.Findings)
	return p.String()
}

func (p *printer) expert(c *Card, e Expert) {
	p.WriteString("\n")
	p.line("Expert %s %s", e.Key, e.Version)
	p.field("  ", "about", cut(e.Description))
	if e.Provider != nil {
		p.field("  ", "provider", e.Provider.line())
	}
	p.field("  ", "limits", prefixed("one Run of it, with its delegates: ", nonEmpty(e.Limits.line())))
	var delegates []string
	for _, d := range e.Delegates {
		switch {
		case d.Exact != "" && d.Exact != d.Key:
			d.Key += " (published, " + d.Exact + ")"
		case d.Exact != "":
			d.Key += " (published)"
		case !d.InFile:
			d.Key += " (not in the file)"
		}
		delegates = append(delegates, d.Key)
	}
	p.field("  ", "delegates", strings.Join(delegates, ", "))
	runs := slices.Clone(e.ProviderTools)
	for _, s := range e.ProviderSkills {
		runs = append(runs, "the "+s.Type+" skill "+s.Name)
	}
	p.field("  ", "provider", prefixed("runs for it: ", runs))
	for _, s := range e.Skills {
		p.skill(s, c.hosts(s), s.inside(c.Docker != nil))
	}
}

func (p *printer) skill(s Skill, hosts, sandbox string) {
	kind := s.Type
	if s.BuiltIn {
		kind = "part of perstack"
	}
	p.line("  Skill %s (%s)", s.Name, kind)
	const in = "    "
	p.field(in, "about", cut(s.Description))
	p.field(in, "rule", cut(s.Rule))
	p.field(in, "command", terminal.ShellJoin(s.Command...))
	if s.Package != nil {
		p.field(in, "package", s.Package.line())
	}
	if s.Program != nil {
		p.field(in, "program", s.Program.line())
	}
	p.field(in, "endpoint", s.Endpoint)
	p.field(in, "headers", strings.Join(s.Headers, ", "))
	if !s.BuiltIn && s.Type != "interactiveSkill" {
		p.field(in, "gets", variables(s.Env))
		p.field(in, "hosts", hosts)
		p.field(in, "starts", s.starts())
		p.field(in, "timeouts", fmt.Sprintf("%s to start, %s a call without progress", ms(s.StartTimeoutMS), ms(s.CallTimeoutMS)))
	}
	if s.BuiltIn {
		p.field(in, "hosts", prefixed("commands can reach ", nonEmpty(hosts)))
	}
	p.field(in, "sandbox", sandbox)
	p.tools(in, s)
}

func (p *printer) tools(in string, s Skill) {
	switch {
	case !s.ToolsKnown:
		p.field(in, "tools", "unknown until perstack install")
		return
	case s.BuiltIn:
		var names []string
		for _, t := range s.Tools {
			names = append(names, t.Name)
		}
		p.field(in, "tools", s.count()+": "+strings.Join(names, ", "))
		return
	case s.Type == "interactiveSkill":
		p.field(in, "asks", s.count())
	default:
		p.field(in, "tools", s.count())
	}
	for _, t := range s.Tools {
		line := in + "  " + t.Name
		if t.Title != "" && t.Title != t.Name {
			line += " (" + t.Title + ")"
		}
		if t.Description != "" {
			line += ": " + cut(t.Description)
		}
		p.line("%s", line)
	}
}

func (p *printer) requests(all []consent.Request) {
	if len(all) == 0 {
		return
	}
	p.WriteString("\n")
	p.line("Asks for")
	for _, r := range all {
		p.line("  %s: %s", r.Kind, r.Text)
	}
}

const noFindings = "No findings"

func (p *printer) findings(all []Finding) {
	p.WriteString("\n")
	if len(all) == 0 {
		p.line(noFindings)
		return
	}
	p.line("Findings")
	for _, f := range all {
		var where string
		if f.Expert != "" {
			where = f.Expert + ": "
		}
		if f.Skill != "" {
			where = f.Expert + ", skill " + f.Skill + ": "
		}
		if f.Hint != "" {
			f.Message += "; " + f.Hint
		}
		p.line("  %s: %s%s", f.Severity, where, f.Message)
	}
}

func cut(text string) string {
	text = terminal.RevealLine(text)
	if r := []rune(text); len(r) > longest {
		return string(r[:longest]) + "…"
	}
	return text
}

// ms writes milliseconds as a duration.
func ms(n int64) string { return manifest.FormatDuration(time.Duration(n) * time.Millisecond) }
