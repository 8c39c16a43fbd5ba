package validate

import (
	"io"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/toml"
	"github.com/perstack-go/perstack/internal/wording"
)

// A report is everything there is to say about a file.
type report struct {
	problems         toml.Problems
	errors, warnings int
	notes            toml.Problems // what cannot be done, whichever Expert runs
	requests         toml.Problems // what the project asks for beyond the defaults
	experts          []listing
}

// maxListed is how many problems, and how many notes, are printed: more than a user reads.
const maxListed = toml.MaxFaults + 1

// A listing is an Expert of the file, with what cannot be done of it.
type listing struct {
	*expert.Expert
	notes toml.Problems
}

// newReport sorts what was found. Config is nil if the file cannot be used. File names
// are printed as shorten writes them, and what is advised as advise does.
func newReport(config *manifest.Config, problems, notes toml.Problems, shorten, advise func(string) string) *report {
	warnings := len(problems.Warnings())
	r := &report{warnings: warnings, errors: len(problems) - warnings}
	problems, notes = problems.First(maxListed), notes.First(maxListed)
	write := func(p toml.Problem) toml.Problem {
		p.File, p.Message, p.Hint = shorten(p.File), advise(p.Message), advise(p.Hint)
		return p
	}
	for _, p := range problems {
		r.problems = append(r.problems, write(p))
	}
	if config == nil {
		return r
	}
	of := make(map[string]toml.Problems)
	for _, n := range notes {
		if e := config.ExpertAt(n.Path); e != nil {
			of[e.Key] = append(of[e.Key], write(n))
		} else {
			r.notes = append(r.notes, write(n))
		}
	}
	for _, e := range config.Experts {
		r.experts = append(r.experts, listing{e, of[e.Key]})
	}
	return r
}

// verdict sums the problems up.
func (r *report) verdict() string {
	switch {
	case r.errors == 0 && r.warnings == 0:
		return "no problems"
	case r.errors == 0:
		return wording.Count(r.warnings, "warning")
	case r.warnings == 0:
		return wording.Count(r.errors, "error")
	}
	return wording.Count(r.errors, "error") + ", " + wording.Count(r.warnings, "warning")
}

// finding is a problem as JSON has it.
type finding struct {
	Problem  toml.Problem `json:",embed"`
	Severity string       `json:"severity"`
}

// printJSON writes all findings as one array, which is empty when there are none.
func (r *report) printJSON(w io.Writer) error {
	all, severities := []finding{}, map[bool]string{false: "error", true: "warning"}
	for _, p := range r.problems {
		all = append(all, finding{p, severities[p.Warning]})
	}
	notes := r.notes
	for _, e := range r.experts {
		notes = append(notes, e.notes...)
	}
	for _, n := range notes {
		all = append(all, finding{n, "note"})
	}
	for _, n := range r.requests {
		all = append(all, finding{n, "request"})
	}
	return host.WriteJSON(w, all)
}
