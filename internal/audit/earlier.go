package audit

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/internal/userfile"
)

// An earlier report is a file that anything could have written, so it is read strictly and within
// limits.
const (
	maxReport   = 4 << 20 // bytes of a file
	maxReports  = 200     // that are looked at
	maxNames    = 10_000  // in the directory
	maxFindings = 5_000
	maxClaims   = 500
	maxText     = 64 << 10 // bytes of one text
)

// The names of reports are the time, as fileTime writes it, and these.
const (
	fileTime     = "2006-01-02T15-04-05"
	markdownName = "_audit_report.md"
	jsonName     = "_audit_report.json"
)

// FileNames returns the names of the files of a report that is made at that time.
func FileNames(at time.Time) (markdown, data string) {
	stamp := at.UTC().Format(fileTime)
	return stamp + markdownName, stamp + jsonName
}

// An Earlier report, with the name of its file.
type Earlier struct {
	File   string
	Report *Report
}

// FindEarlier returns the newest report in dir about the same subject that was made before the
// given time; nil if there is none. A report that cannot be read is an error: to skip it would
// hide what it says.
func FindEarlier(dir string, before time.Time, about Subject) (*Earlier, error) {
	names, err := userfile.Names(dir, maxNames)
	if userfile.Absent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the directory of reports: %w", err)
	}
	limit := before.UTC().Format(fileTime)
	names = slices.DeleteFunc(names, func(name string) bool {
		stamp, ok := strings.CutSuffix(name, jsonName)
		_, err := time.Parse(fileTime, stamp)
		return !ok || err != nil || stamp >= limit
	})
	slices.Sort(names)
	slices.Reverse(names)
	for _, name := range names[:min(len(names), maxReports)] {
		data, err := userfile.Read(filepath.Join(dir, name), maxReport)
		if err != nil {
			return nil, fmt.Errorf("read the earlier report %s: %w", name, err)
		}
		r, err := ParseReport(data)
		if err != nil {
			return nil, fmt.Errorf("the earlier report %s is not valid: %w; move it out of the directory", name, err)
		}
		if r.Subject.Expert == about.Expert {
			return &Earlier{File: name, Report: r}, nil
		}
	}
	return nil, nil
}

// ParseReport reads the JSON of a report.
func ParseReport(data []byte) (*Report, error) {
	if len(data) > maxReport {
		return nil, errors.New("it is too large")
	}
	r := new(Report)
	if err := json.Unmarshal(data, r, json.RejectUnknownMembers(true), jsontext.AllowDuplicateNames(false)); err != nil {
		return nil, fmt.Errorf("it is not a report: %w", err)
	}
	return r, r.check()
}

func (r *Report) check() error {
	if r.Format != format {
		return fmt.Errorf("it has format %d, and this perstack reads format %d", r.Format, format)
	}
	if _, err := time.Parse(time.RFC3339, r.Time); err != nil {
		return errors.New("its time is not valid")
	}
	if len(r.Findings) > maxFindings || len(r.Claims) > maxClaims {
		return errors.New("it has too many entries")
	}
	seen := make(map[string]bool)
	for _, f := range r.Findings {
		if err := f.check(); err != nil {
			return err
		}
		if seen[f.ID] || seen[f.Fingerprint] {
			return fmt.Errorf("finding %s is there twice", f.ID)
		}
		seen[f.ID], seen[f.Fingerprint] = true, true
	}
	return nil
}

func (f Finding) check() error {
	n, ok := parseID(f.ID)
	if !ok {
		return errors.New("an id of a finding is not valid")
	}
	// An id that belongs to a promise cannot be taken by something else, and the other way round.
	want := numberOf(f.Kind)
	reserved := n <= lastInherited || n >= firstPromise && n <= lastPromise
	if want != n && (want != 0 || reserved) {
		return fmt.Errorf("the id of finding %s belongs to another kind", f.ID)
	}
	if len(f.Fingerprint) != 32 || strings.Trim(f.Fingerprint, "0123456789abcdef") != "" {
		return fmt.Errorf("the fingerprint of finding %s is not valid", f.ID)
	}
	if f.Severity.rank() < 0 || !slices.Contains(states(), f.Status) {
		return fmt.Errorf("the severity or status of finding %s is not valid", f.ID)
	}
	if _, err := time.Parse(time.RFC3339, f.Since); err != nil {
		return fmt.Errorf("the time of finding %s is not valid", f.ID)
	}
	for _, text := range []string{f.Kind, f.Title, f.Package, f.Location, f.Description, f.Affected, f.Attack, f.Fix, f.Note, f.File} {
		if len(text) > maxText || !utf8.ValidString(text) {
			return fmt.Errorf("a text of finding %s is too long or not valid", f.ID)
		}
	}
	return nil
}
