package audit

import (
	"fmt"
	"slices"
	"time"

	"github.com/perstack-go/perstack/internal/wording"
)

// format is the version of the JSON.
const format = 1

// A Version is one part of what was audited.
type Version struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Subject is what an audit is about: perstack on this machine, or an Expert.
type Subject struct {
	Expert string `json:"expert,omitzero"` // its key; absent for the self-test
	Config string `json:"config,omitzero"`
}

// SelfTest reports whether perstack itself was audited.
func (s Subject) SelfTest() bool { return s.Expert == "" }

func (s Subject) String() string {
	if s.SelfTest() {
		return "perstack on this machine"
	}
	return "Expert " + s.Expert
}

// A Count compares the open findings of one severity with the earlier report.
type Count struct {
	Severity Severity `json:"severity"`
	Previous int      `json:"previous"`
	Current  int      `json:"current"`
	Change   int      `json:"change"`
}

// Progress is what has changed since the earlier report.
type Progress struct {
	Since  string   `json:"since"`  // the time of that report; empty if there is none
	File   string   `json:"file"`   // its name
	Counts []Count  `json:"counts"` // of open findings
	Fixed  []string `json:"fixed"`  // ids
	New    []string `json:"new"`
}

// A Verdict says whether what was audited should be used.
type Verdict struct {
	Ready   Ready    `json:"ready"`
	Reasons []string `json:"reasons"`
}

// Ready is yes, no or conditional.
type Ready string

// The verdicts.
const (
	Yes         Ready = "yes"
	No          Ready = "no"
	Conditional Ready = "conditional"
)

// A Report is a whole audit. Its JSON is a promise to programs: fields are added, never removed or
// given another meaning.
type Report struct {
	Format          int       `json:"format"`
	Time            string    `json:"time"` // RFC 3339, UTC
	Subject         Subject   `json:"subject"`
	Versions        []Version `json:"versions"`
	Summary         string    `json:"summary"`
	Progress        Progress  `json:"progress"`
	Findings        []Finding `json:"findings"`
	Methodology     []string  `json:"methodology"`
	Claims          []Claim   `json:"claims"`
	Positive        []string  `json:"positive"`
	Recommendations []string  `json:"recommendations"`
	Verdict         Verdict   `json:"verdict"`
	// Card is the capability card of an Expert, as a person reads it.
	Card string `json:"card,omitzero"`
}

// Input is what a report is made of.
type Input struct {
	Time     time.Time
	Subject  Subject
	Versions []Version
	Claims   []Claim
	Findings []Finding
	Card     string
	Earlier  *Earlier // nil if there is none
}

// NewReport numbers the findings, compares them with the earlier report and comes to a verdict.
func NewReport(in Input) *Report {
	r := &Report{
		Format: format, Time: in.Time.UTC().Format(time.RFC3339), Subject: in.Subject,
		Versions: in.Versions, Claims: in.Claims, Card: in.Card,
		Findings: slices.Clone(in.Findings), Methodology: methodology(in.Subject),
	}
	var earlier []Finding
	if in.Earlier != nil {
		earlier = in.Earlier.Report.Findings
	}
	number(r.Findings, earlier)
	r.carryOver(earlier)
	order(r.Findings)
	r.compare(in.Earlier)
	r.observe()
	r.decide()
	r.Summary = r.summarize()
	return r
}

// carryOver takes from the earlier report since when a finding is known and what a person decided
// about it, and keeps those that this audit did not find: as fixed, or as open if it could not
// look.
func (r *Report) carryOver(earlier []Finding) {
	now := make(map[string]int)
	for i := range r.Findings {
		f := &r.Findings[i]
		now[f.Fingerprint] = i
		f.Since = r.Time
	}
	unchecked := make(map[string]string)
	for _, c := range r.Claims {
		if c.Status == Unavailable {
			unchecked[c.ID] = c.Reason
		}
	}
	for _, old := range earlier {
		if i, again := now[old.Fingerprint]; again {
			f := &r.Findings[i]
			if old.Status != Fixed {
				f.Since = old.Since
			}
			if old.Status == WontFix || old.Status == Acknowledged {
				f.Status, f.Note = old.Status, "The earlier report says so."
			}
			continue
		}
		id, ofPromise := old.promiseOf()
		if reason, ok := unchecked[id]; ofPromise && ok && old.Status != Fixed {
			old.Note = "Not checked again: " + reason
		} else {
			old.Status, old.Note = Fixed, ""
		}
		r.Findings = append(r.Findings, old)
	}
}

func (r *Report) compare(earlier *Earlier) {
	var before []Finding
	if earlier != nil {
		before = earlier.Report.Findings
		r.Progress.Since, r.Progress.File = earlier.Report.Time, earlier.File
	}
	wasOpen := make(map[string]bool)
	for _, f := range before {
		wasOpen[f.Fingerprint] = f.Status != Fixed
	}
	for _, s := range Severities() {
		c := Count{Severity: s, Previous: countOpen(before, s), Current: countOpen(r.Findings, s)}
		c.Change = c.Current - c.Previous
		r.Progress.Counts = append(r.Progress.Counts, c)
	}
	for _, f := range r.Findings {
		switch {
		case f.Status == Fixed && wasOpen[f.Fingerprint]:
			r.Progress.Fixed = append(r.Progress.Fixed, f.ID)
		case f.Status != Fixed && !wasOpen[f.Fingerprint]:
			r.Progress.New = append(r.Progress.New, f.ID)
		}
	}
}

func countOpen(all []Finding, s Severity) (n int) {
	for _, f := range all {
		if f.Status == Open && f.Severity == s {
			n++
		}
	}
	return n
}

// Serious are the open findings that fail the audit.
func (r *Report) Serious() (found []Finding) {
	for _, f := range r.Findings {
		if f.Status == Open && f.Severity.Serious() {
			found = append(found, f)
		}
	}
	return found
}

// count returns how many claims have a status.
func (r *Report) count(s Status) (n int) {
	for _, c := range r.Claims {
		if c.Status == s {
			n++
		}
	}
	return n
}

// decide comes to the verdict. An audit that verified nothing does not say yes.
func (r *Report) decide() {
	v := &r.Verdict
	open, decided := 0, 0
	for _, f := range r.Findings {
		switch f.Status {
		case Open:
			open++
		case WontFix, Acknowledged:
			decided++
		}
	}
	serious := len(r.Serious())
	switch {
	case serious > 0:
		v.Ready = No
		v.Reasons = append(v.Reasons, isAre(serious, "of severity High or above ", "open"))
	case open > 0:
		v.Ready = Conditional
		v.Reasons = append(v.Reasons, isAre(open, "", "open, none of severity High or above"))
	default:
		v.Ready = Yes
		v.Reasons = append(v.Reasons, "no finding is open")
	}
	if decided > 0 {
		v.Reasons = append(v.Reasons, isAre(decided, "", "acknowledged or will not be fixed, as the earlier report says"))
	}
	if !r.Subject.SelfTest() {
		return
	}
	verified, not := r.count(Verified), r.count(Unavailable)
	if verified == 0 {
		v.Ready = No
		v.Reasons = append(v.Reasons, "no promise could be verified")
	}
	if not > 0 {
		if v.Ready == Yes {
			v.Ready = Conditional
		}
		var ids []string
		for _, c := range r.Claims {
			if c.Status == Unavailable {
				ids = append(ids, c.ID)
			}
		}
		v.Reasons = append(v.Reasons, fmt.Sprintf("%s could not be checked on this machine: %s", wording.Count(not, "promise"), wording.And(ids)))
	}
}

func isAre(n int, of, what string) string {
	verb := "are "
	if n == 1 {
		verb = "is "
	}
	return wording.Count(n, "finding") + " " + of + verb + what
}

func (r *Report) summarize() string {
	var counts []string
	for _, c := range r.Progress.Counts {
		if c.Current > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", c.Current, c.Severity))
		}
	}
	open := "No finding is open."
	if len(counts) > 0 {
		open = "Open findings: " + wording.And(counts) + "."
	}
	if !r.Subject.SelfTest() {
		return "The configuration of the Expert and of all Experts that it can reach was reviewed. Nothing was started. " + open
	}
	return fmt.Sprintf("%s: %d verified on this machine, %d failed, %d not available here. %s",
		wording.Count(len(r.Claims), "promise"), r.count(Verified), r.count(Failed), r.count(Unavailable), open)
}

func methodology(s Subject) []string {
	if s.SelfTest() {
		return []string{
			"Each promise of SECURITY.md has a probe. The probe attacks the code that perstack uses itself, in directories of its own that are removed afterwards, with hostile files, programs and servers that are part of perstack.",
			"Where it is possible, the probe first shows that its attack works without the protection. An attack that does not work anyway proves nothing, and is reported as not available.",
			"No model is asked: where a job is needed, perstack plays the model itself. No host outside of this machine is contacted.",
			"A promise without a probe names the test that proves it when perstack is built, and why it cannot be checked here.",
		}
	}
	return []string{
		"perstack.toml, perstack.lock and the names in env files were read, for the Expert and all Experts that it can reach by delegation.",
		"Fixed rules were applied to what they allow. Nothing was started, no network was used, and no value of a variable was looked at.",
		"What a program does, beyond what it is given, was not examined.",
	}
}

// observe writes down what is good, and what should be done.
func (r *Report) observe() {
	var areas []string
	held := make(map[string]int)
	for _, c := range r.Claims {
		if c.Status == Verified {
			if held[c.Area]++; held[c.Area] == 1 {
				areas = append(areas, c.Area)
			}
		}
	}
	for _, a := range areas {
		r.Positive = append(r.Positive, fmt.Sprintf("%s: %s verified.", a, wording.Count(held[a], "promise")))
	}
	if !r.Subject.SelfTest() {
		kinds := make(map[string]bool)
		for _, f := range r.Findings {
			kinds[f.Kind] = kinds[f.Kind] || f.Status != Fixed
		}
		for _, k := range Kinds() {
			if !kinds[k.Name] {
				r.Positive = append(r.Positive, k.Absent)
			}
		}
	}
	seen := make(map[string]bool)
	for _, f := range r.Findings {
		if f.Status == Open && f.Fix != "" && !seen[f.Fix] {
			seen[f.Fix] = true
			r.Recommendations = append(r.Recommendations, f.ID+": "+f.Fix)
		}
	}
}
