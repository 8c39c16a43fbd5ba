package rules

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// A word that users should not read, and what to write instead. The list is that of
// docs/glossary.md: one word for one thing, and no metaphors.
type avoided struct {
	pattern *regexp.Regexp
	instead string
}

// avoid matches whole words in any letter case; a space matches a line break, too.
func avoid(pattern, instead string) avoided {
	pattern = strings.ReplaceAll(pattern, " ", `\s+`)
	return avoided{regexp.MustCompile(`(?i)\b(?:` + pattern + `)\b`), instead}
}

var avoidedWords = []avoided{
	avoid(`walls?`, "sandbox, isolation"),
	avoid(`cells?`, "sandbox"),
	avoid(`fence[sd]?`, "sandbox, restricted to, path checks"),
	avoid(`houses?|rooms?`, "package, directory, space"),
	avoid(`gates?`, "listener, for a port of the egress proxy; else check"),
	avoid(`doors?|hatch(?:es)?`, "the thing itself: function, port, connection"),
	avoid(`desks?`, "recorder"),
	avoid(`purses?`, "budget"),
	avoid(`strangers?`, "untrusted, third-party, other users"),
	avoid(`neighbours?`, "other skills, other processes"),
	avoid(`(?:container|docker) engine|engine of docker`, "Docker daemon"),
	avoid(`signs? of life`, "heartbeat, progress"),
	avoid(`nobody|whoever`, "the actor: the user, no skill, a program that"),
	avoid(`who (?:thinks|asked|asks)`, "model, caller"),
	avoid(`asked experts?|ones? that (?:asks|asked|ask)`, "delegate, caller"),
	avoid(`may ask`, "can delegate to"),
	avoid(`thinks? for (?:itself|them|your)`, "uses a model"),
	avoid(`(?:go|goes|going|went|gone) on`, "continue, resume"),
	avoid(`tak(?:e|es|en) another way`, "branch"),
	avoid(`anew`, "again"),
	avoid(`mend(?:s|ed|ing)?`, "fix"),
	avoid(`dear(?:er|est)?`, "expensive, higher"),
	avoid(`(?:is|are) not there`, "does not exist, is missing, is not available"),
	avoid(`stands? in`, "is in"),
	avoid(`at home`, "local"),
	{regexp.MustCompile(`\bWho(?:ever)? (?:can|may|wants|has|sets|writes|made|reads|connects|reaches)\b`), "a subject: a user who, a program that"},
}

// prosePages are the Markdown files for people. Other ones are texts for models, and examples.
func (t *tree) prosePages() (pages []*page) {
	names := []string{"README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SPECIFICATION.md", "SECURITY.md"}
	for _, p := range t.pages {
		if slices.Contains(names, p.path) || path.Dir(p.path) == "docs" {
			pages = append(pages, p)
		}
	}
	return pages
}

func avoidedInPages(t *tree) (found []finding) {
	for _, p := range t.prosePages() {
		found = append(found, p.avoided()...)
	}
	return found
}

// avoided looks at the prose of a page, line breaks and inline code included. Blocks of code
// and the targets of links are left out: they can name things of others.
func (p *page) avoided() (found []finding) {
	text := linkPattern.ReplaceAllString(strings.Join(p.prose, "\n"), "]")
	for _, w := range avoidedWords {
		for _, at := range w.pattern.FindAllStringIndex(text, -1) {
			line := 1 + strings.Count(text[:at[0]], "\n")
			found = append(found, finding{p.path, line, w.say(text[at[0]:at[1]])})
		}
	}
	return found
}

func (w avoided) say(word string) string {
	return fmt.Sprintf("%q: write %s", strings.Join(strings.Fields(word), " "), w.instead)
}

// maxColumns is where prose is wrapped.
const maxColumns = 100

// wideProse leaves out what cannot be broken: tables, headings, links, and code without a
// space before it. SECURITY.md is wrapped when it is rewritten.
func wideProse(t *tree) (found []finding) {
	for _, p := range t.prosePages() {
		for i, line := range p.prose {
			if p.path == "SECURITY.md" || strings.HasPrefix(line, "#") || strings.HasPrefix(strings.TrimSpace(line), "|") {
				continue
			}
			short := linkPattern.ReplaceAllString(line, "]")
			words := strings.Fields(codePattern.ReplaceAllString(short, "code"))
			if n := utf8.RuneCountInString(short); n > maxColumns && len(words) > 2 {
				found = append(found, finding{p.path, i + 1, fmt.Sprintf("%d columns", n)})
			}
		}
	}
	return found
}
