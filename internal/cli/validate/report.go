package validate

import (
	"io"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/lockfile"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/toml"
	"github.com/perstack-go/perstack/internal/wording"
	"github.com/perstack-go/perstack/job"
)

// A report is everything there is to say about a file.
type report struct {
	problems         toml.Problems
	errors, warnings int
	notes            toml.Problems // what cannot be done, whichever Expert runs
	requests         toml.Problems // what the project asks for beyond the defaults
	experts          []listing
}

// A listing is an Expert of the file, with what cannot be done of it.
type listing struct {
	*expert.Expert
	notes toml.Problems
}

// newReport sorts what was found. Config is nil if the file cannot be used. File names
// are printed as shorten writes them, and the words of notes as advise does.
func newReport(config *manifest.Config, problems toml.Problems, shorten, advise func(string) string) *report {
	warnings := len(problems.Warnings())
	r := &report{warnings: warnings, errors: len(problems) - warnings}
	for _, p := range problems {
		p.File = shorten(p.File)
		r.problems = append(r.problems, p)
	}
	if config == nil {
		return r
	}
	seen := make(map[toml.Problem]bool)
	lock, err := lockfile.Read(config)
	for _, e := range config.Experts {
		entry := listing{Expert: e}
		for _, n := range slices.Concat(config.UnsupportedBy([]*expert.Expert{e}, job.Settings{}), refused(config, e), unpinned(config, lock, err, e)) {
			n.File, n.Message, n.Hint = shorten(n.File), advise(n.Message), advise(n.Hint)
			switch {
			case strings.HasPrefix(n.Path, "experts."):
				entry.notes = append(entry.notes, n)
			case !seen[n]: // the provider, for instance: the same for all Experts
				seen[n] = true
				r.notes = append(r.notes, n)
			}
		}
		r.experts = append(r.experts, entry)
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
