package audit

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Severity says how bad a finding is.
type Severity string

// The severities, the worst first.
const (
	Critical      Severity = "Critical"
	High          Severity = "High"
	Medium        Severity = "Medium"
	Low           Severity = "Low"
	Informational Severity = "Informational"
)

// Severities lists all, the worst first.
func Severities() []Severity { return []Severity{Critical, High, Medium, Low, Informational} }

// rank is 0 for the worst.
func (s Severity) rank() int { return slices.Index(Severities(), s) }

// Serious reports whether an open finding of this severity fails the audit.
func (s Severity) Serious() bool { return s == Critical || s == High }

// A State says what became of a finding.
type State string

// The states of findings.
const (
	Open         State = "Open"
	Fixed        State = "Fixed"
	WontFix      State = "Won't fix"
	Acknowledged State = "Acknowledged"
)

func states() []State { return []State{Open, Fixed, WontFix, Acknowledged} }

// A Finding is one thing that is wrong.
type Finding struct {
	ID          string   `json:"id"` // SEC-NNN
	Kind        string   `json:"kind"`
	Fingerprint string   `json:"fingerprint"` // the same in every report
	Severity    Severity `json:"severity"`
	Title       string   `json:"title"`
	Package     string   `json:"package"`
	Location    string   `json:"location"`
	Status      State    `json:"status"`
	Since       string   `json:"since"` // the time of the report that had it first
	Description string   `json:"description"`
	Affected    string   `json:"affected,omitzero"`
	Attack      string   `json:"attack,omitzero"`
	Fix         string   `json:"fix,omitzero"`
	// Note says why a finding is here although this audit did not find it.
	Note string `json:"note,omitzero"`

	// File and Line are where a person would fix it; for code-scanning tools.
	File string `json:"file,omitzero"`
	Line int    `json:"line,omitzero"`
}

// fingerprint identifies a finding in all reports. It depends neither on the words of the
// description nor on the severity, which later versions can change.
func fingerprint(parts ...string) string {
	sum := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(sum, "%d:%s\n", len(p), p)
	}
	return hex.EncodeToString(sum.Sum(nil))[:32]
}

// The kind of a finding about a broken promise is this, with the id of the promise.
const brokenPromise = "promise-"

// promiseOf returns the id of the promise that a finding is about.
func (f Finding) promiseOf() (id string, ok bool) { return strings.CutPrefix(f.Kind, brokenPromise) }

// inherited are the findings of the first audit of the original Perstack. If the promise that
// fixed one breaks, that finding is open again.
var inherited = map[string]int{"K5": 1, "F1": 2, "E3": 3, "N5": 4, "N4": 5, "K6": 7}

// The numbers of findings: up to lastInherited those of the original, then any, with the hundreds
// from firstPromise to lastPromise reserved for broken promises.
const (
	lastInherited = 7
	firstPromise  = 100
	lastPromise   = 999
	maxNumber     = 99_999
)

// hundreds gives each letter of promise ids its numbers.
const hundreds = "NKEXFSRW"

// numberOf returns the number that a finding of this kind always has; 0 if it has none.
func numberOf(kind string) int {
	id, ok := strings.CutPrefix(kind, brokenPromise)
	if !ok || len(id) < 2 {
		return 0
	}
	if n := inherited[id]; n > 0 {
		return n
	}
	n, err := strconv.Atoi(id[1:])
	if err != nil || n < 1 || n > 19 {
		return 0
	}
	if at := strings.IndexByte(hundreds, id[0]); at >= 0 {
		return firstPromise*(at+1) + n
	}
	if at := strings.IndexByte("GATL", id[0]); at >= 0 {
		return 900 + 20*at + n
	}
	return 0
}

func formatID(n int) string { return fmt.Sprintf("SEC-%03d", n) }

// parseID is the inverse of formatID.
func parseID(id string) (int, bool) {
	digits, ok := strings.CutPrefix(id, "SEC-")
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || n < 1 || n > maxNumber || formatID(n) != id {
		return 0, false
	}
	return n, true
}

// number gives every finding without an id one: that of its kind, that of the earlier report, or
// the next free number.
func number(all []Finding, earlier []Finding) {
	used := make(map[int]bool)
	known := make(map[string]int)
	for _, f := range earlier {
		n, _ := parseID(f.ID)
		used[n], known[f.Fingerprint] = true, n
	}
	next := lastInherited + 1
	for i := range all {
		f := &all[i]
		n := cmp.Or(numberOf(f.Kind), known[f.Fingerprint])
		for n == 0 {
			if next == firstPromise {
				next = lastPromise + 1
			}
			if !used[next] {
				n = next
			}
			next++
		}
		used[n] = true
		f.ID = formatID(n)
	}
}

// order sorts findings: open ones first, the worst first, then by number.
func order(all []Finding) {
	slices.SortStableFunc(all, func(a, b Finding) int {
		na, _ := parseID(a.ID)
		nb, _ := parseID(b.ID)
		return cmp.Or(
			cmp.Compare(slices.Index(states(), a.Status), slices.Index(states(), b.Status)),
			cmp.Compare(a.Severity.rank(), b.Severity.rank()),
			cmp.Compare(na, nb))
	})
}
