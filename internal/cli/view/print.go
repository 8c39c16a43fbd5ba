package view

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/card"
	"github.com/perstack-go/perstack/internal/terminal"
)

// maxVersions is how many versions people are shown; programs get all.
const maxVersions = 30

// describe writes a version for people. Its texts are not trusted.
func (v *shown) describe() string {
	out := &strings.Builder{}
	fmt.Fprintf(out, "%s\n%s\n\n", v.Key, terminal.RevealLine(v.definition.Description))
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(out, "  %-13s %s\n", name, terminal.RevealLine(value))
		}
	}
	row("registry", v.Registry)
	if v.Verified {
		row("verified", fmt.Sprintf("entry %d of %d in the log of the registry", v.LogIndex, v.LogSize))
	} else {
		row("not verified", "the registry has no log, so there is only its word")
	}
	row("digest", v.Digest)
	if !v.PublishedAt.IsZero() {
		row("published", v.PublishedAt.UTC().Format("2006-01-02 15:04 UTC"))
	}
	row("signed by", cmp.Or(v.Signer, "no key"))
	v.Said.describe(row)
	fmt.Fprintln(out, "\nWhat it can do, with its delegates")
	abilities(out, "  ", v.Card.Abilities)
	if len(v.Delegates) > 0 {
		fmt.Fprintln(out, "\nDelegates")
		for _, d := range v.Delegates {
			fmt.Fprintf(out, "  %s: %s %s\n", terminal.RevealLine(d.Key), terminal.RevealLine(d.Exact), d.Digest)
		}
	}
	if v.whole {
		fmt.Fprintln(out, "\nInstruction")
		text(out, "  ", v.definition.Instruction)
	}
	v.Said.versions(out)
	fmt.Fprintln(out, "\n* The registry says so, and nothing proves it.")
	return out.String()
}

// describe writes what only the registry says. Each row is marked.
func (s *said) describe(row func(name, value string)) {
	row("status *", strings.TrimSuffix(s.Status+": "+s.StatusMessage, ": "))
	row("replaced by *", s.ReplacedBy)
	row("moved to *", s.MovedTo)
	row("owner *", s.Owner)
	if s.Publisher != s.Owner {
		row("publisher *", s.Publisher)
	}
	if s.Visibility != api.Public {
		row("visibility *", s.Visibility)
	}
	var tags []string
	for _, tag := range slices.Sorted(maps.Keys(s.Tags)) {
		tags = append(tags, tag+" "+s.Tags[tag])
	}
	row("tags *", strings.Join(tags, ", "))
	for _, a := range s.Advisories {
		row("note *", a)
	}
}

func (s *said) versions(out *strings.Builder) {
	if len(s.Versions) == 0 {
		return
	}
	fmt.Fprintln(out, "\nVersions *")
	for i, one := range s.Versions {
		if i == maxVersions {
			fmt.Fprintf(out, "  %d more; --json has all\n", len(s.Versions)-i)
			break
		}
		fmt.Fprintf(out, "  %-12s %s", terminal.RevealLine(one.Version), one.PublishedAt.UTC().Format(time.DateOnly))
		for _, part := range []string{one.Status, strings.Join(one.Tags, ", "), one.StatusMessage} {
			if part != "" {
				fmt.Fprintf(out, "  %s", terminal.RevealLine(part))
			}
		}
		fmt.Fprintln(out)
	}
}

// abilities writes each ability with the Experts that have it.
func abilities(out *strings.Builder, before string, all []card.Ability) {
	for _, a := range all {
		fmt.Fprintf(out, "%s%-13s %s", before, a.Kind, terminal.RevealLine(a.Text))
		if a.Kind != card.Delegate { // a delegate is its own
			fmt.Fprintf(out, " (%s)", terminal.RevealLine(strings.Join(a.Experts, ", ")))
		}
		fmt.Fprintln(out)
	}
	if len(all) == 0 {
		fmt.Fprintf(out, "%snothing\n", before)
	}
}

// text writes lines that are not trusted, each after a mark of ours, so that none can look like a row.
func text(out *strings.Builder, before, lines string) {
	for _, line := range terminal.Show(strings.TrimSuffix(lines, "\n")) {
		fmt.Fprintf(out, "%s%s\n", before, line)
	}
}
