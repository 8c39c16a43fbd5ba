package audit

import (
	"fmt"
	"strings"

	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/internal/wording"
)

// escape makes one line of Markdown of text from elsewhere, which shows the text and nothing else:
// no link, image, HTML, table or heading.
func escape(text string) string {
	var b strings.Builder
	for _, r := range terminal.RevealLine(text) {
		switch {
		case strings.ContainsRune("\\`*_[]<>|~&#", r):
			b.WriteByte('\\')
		case r == ':' || r == '@' || r == '.': // of addresses, which readers turn into links
			if isAddress(b.String(), r) {
				b.WriteByte('\\')
			}
		}
		b.WriteRune(r)
	}
	return strings.TrimSpace(b.String())
}

// isAddress reports whether the next character would make an address of the text before it.
func isAddress(before string, next rune) bool {
	before = strings.ToLower(before[max(0, len(before)-len("mailto")):])
	switch next {
	case ':':
		for _, scheme := range []string{"http", "https", "ftp", "mailto", "xmpp"} {
			if strings.HasSuffix(before, scheme) {
				return true
			}
		}
	case '.':
		return strings.HasSuffix(before, "www")
	case '@':
		return true
	}
	return false
}

type markdown struct{ strings.Builder }

// line writes a line. Its arguments are escaped, its format is not.
func (m *markdown) line(format string, args ...any) {
	for i, a := range args {
		switch a.(type) {
		case int:
		default:
			args[i] = escape(fmt.Sprint(a))
		}
	}
	fmt.Fprintf(m, format+"\n", args...)
}

func (m *markdown) list(all []string, none string) {
	if len(all) == 0 {
		m.line("%s", none)
	}
	for _, text := range all {
		m.line("- %s", text)
	}
}

// block writes a text as it is, in a block that the text cannot end.
func (m *markdown) block(text string) {
	text = terminal.Reveal(text)
	ticks := "```"
	for strings.Contains(text, ticks) {
		ticks += "`"
	}
	fmt.Fprintf(m, "%stext\n%s\n%s\n", ticks, strings.TrimRight(text, "\n"), ticks)
}

// Markdown writes the report for people.
func (r *Report) Markdown() string {
	m := &markdown{}
	m.line("# Security audit: %s\n", r.Subject)
	m.line("Made at %s.\n", r.Time)
	m.line("## Audited versions\n\n| part | version |\n|---|---|")
	for _, v := range r.Versions {
		m.line("| %s | %s |", v.Name, v.Version)
	}
	m.line("\n## Executive summary\n\n%s\n\nReady: %s.", r.Summary, r.Verdict.Ready)
	r.progress(m)
	m.line("\n## Findings\n")
	if len(r.Findings) == 0 {
		m.line("None.")
	} else {
		m.line("| id | severity | title | package | location | status | since |\n|---|---|---|---|---|---|---|")
	}
	for _, f := range r.Findings {
		m.line("| %s | %s | %s | %s | %s | %s | %s |", f.ID, f.Severity, f.Title, f.Package, f.Location, f.Status, f.Since)
	}
	m.line("\n## Methodology\n")
	m.list(r.Methodology, "")
	r.details(m)
	if r.Card != "" {
		m.line("\n## Capability card\n")
		m.block(r.Card)
	}
	r.claims(m)
	m.line("\n## Positive observations\n")
	m.list(r.Positive, "None.")
	m.line("\n## Recommendations\n")
	m.list(r.Recommendations, "None.")
	m.line("\n## Verdict\n\nReady: **%s**\n", r.Verdict.Ready)
	m.list(r.Verdict.Reasons, "")
	return m.String()
}

func (r *Report) progress(m *markdown) {
	m.line("\n## Progress\n")
	if r.Progress.Since == "" {
		m.line("There is no earlier report.\n")
	} else {
		m.line("Compared with %s of %s.\n", r.Progress.File, r.Progress.Since)
	}
	m.line("| severity | previous | current | change |\n|---|---|---|---|")
	for _, c := range r.Progress.Counts {
		m.line("| %s | %d | %d | %s |", c.Severity, c.Previous, c.Current, signed(c.Change))
	}
	m.line("\n- Fixed since: %s\n- New: %s", orNone(r.Progress.Fixed), orNone(r.Progress.New))
}

func signed(n int) string {
	if n > 0 {
		return fmt.Sprintf("+%d", n)
	}
	return fmt.Sprint(n)
}

func orNone(ids []string) string {
	if len(ids) == 0 {
		return "none"
	}
	return strings.Join(ids, ", ")
}

func (r *Report) details(m *markdown) {
	m.line("\n## Details\n")
	if len(r.Findings) == 0 {
		m.line("None.")
	}
	for i, f := range r.Findings {
		if i > 0 {
			m.line("")
		}
		m.line("### %s: %s\n", f.ID, f.Title)
		m.line("%s, %s, since %s.\n", f.Severity, f.Status, f.Since)
		for _, part := range []struct{ name, text string }{
			{"Description", f.Description}, {"Affected", f.Affected}, {"Attack scenario", f.Attack}, {"Recommended fix", f.Fix}, {"Note", f.Note},
		} {
			if part.text != "" {
				m.line("- %s: %s", part.name, part.text)
			}
		}
	}
}

func (r *Report) claims(m *markdown) {
	m.line("\n## Verification of claims\n")
	if len(r.Claims) == 0 {
		m.line("The promises of perstack itself were not part of this audit.")
		return
	}
	m.line("| id | promise | result | runtime | evidence | test |\n|---|---|---|---|---|---|")
	for _, c := range r.Claims {
		m.line("| %s | %s | %s | %s | %s | %s |", c.ID, c.Promise, c.Status.words(), c.Runtime, c.told(), c.Test)
	}
}

// told is the evidence, or why there is none.
func (c Claim) told() string {
	if c.Reason != "" && c.Evidence != "" {
		return c.Reason + "; " + c.Evidence
	}
	return c.Reason + c.Evidence
}

func (s Status) words() string {
	if s == Unavailable {
		return "not available here"
	}
	return string(s)
}

// Text writes the report for a terminal: what is wrong, and where it is told in full.
func (r *Report) Text() string {
	var b strings.Builder
	line := func(format string, args ...any) {
		text := fmt.Sprintf(format, args...)
		indent := text[:len(text)-len(strings.TrimLeft(text, " "))]
		b.WriteString(indent + terminal.RevealLine(strings.TrimSpace(text)) + "\n")
	}
	if r.Card != "" {
		b.WriteString(terminal.Reveal(r.Card) + "\n")
	}
	first := make(map[string]string) // id of the first promise that could not be tried for a reason
	for _, c := range r.Claims {
		line("%s %s: %s", c.ID, c.Status.words(), c.Promise)
		told := c.told()
		switch said := first[told]; {
		case c.Status == Unavailable && said != "":
			line("  for the same reason as %s", said)
		case told != "":
			first[told] = c.ID
			line("  %s", strings.TrimSpace(wording.CutRunes(runtimePrefix(c.Runtime)+told, 400, "…")))
		}
	}
	if len(r.Claims) > 0 {
		line("")
	}
	for _, f := range r.Findings {
		if f.Status == Fixed {
			continue
		}
		line("%s %s, %s: %s", f.ID, f.Severity, f.Status, f.Title)
		line("  %s", f.Location)
		line("  %s", f.Description)
		if f.Fix != "" {
			line("  fix: %s", f.Fix)
		}
		if f.Note != "" {
			line("  note: %s", f.Note)
		}
	}
	line("%s", r.Summary)
	if r.Progress.Since != "" {
		line("Since %s: fixed %s; new %s", r.Progress.Since, orNone(r.Progress.Fixed), orNone(r.Progress.New))
	}
	line("Ready: %s (%s)", r.Verdict.Ready, strings.Join(r.Verdict.Reasons, "; "))
	return b.String()
}

func runtimePrefix(runtime string) string {
	if runtime == "" {
		return ""
	}
	return runtime + ": "
}
