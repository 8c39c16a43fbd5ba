package files

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/restore"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/internal/wording"
	"github.com/perstack-go/perstack/internal/workspace/snapshot"
)

// refuse lists everything that keeps files from being restored.
func refuse(e *restore.RefusedError) error {
	lines := []string{"nothing was restored"}
	for _, path := range e.Conflicts {
		lines = append(lines, terminal.ShellJoin(path)+": the job changed it, and others did, too")
	}
	for _, s := range e.Lost {
		lines = append(lines, terminal.ShellJoin(s.Path)+": its present content cannot be stored, and would be lost: "+s.Why)
	}
	for _, path := range e.GitLocks {
		lines = append(lines, terminal.ShellJoin(path)+": a git command is running, or was killed; in that case, remove the file")
	}
	for _, path := range e.Folded {
		lines = append(lines, terminal.ShellJoin(path)+": another file has the same name on this file system")
	}
	if len(e.Conflicts) > 0 {
		lines = append(lines, "To restore files that others changed, too, add --force. The present state is stored first.")
	}
	return &host.ExitError{Code: host.ExitFailure, Err: errors.New(strings.Join(lines, "\n"))}
}

// A Row is one change, as people see it.
type Row struct {
	Letter string // A, M or D
	Path   string
	Note   string
}

func (r Row) String() string {
	text := r.Letter + " " + terminal.ShellJoin(r.Path)
	if r.Note != "" {
		text += " (" + terminal.CleanLine(r.Note) + ")"
	}
	return text
}

// Rows returns what the job changed, given the changes from one state to a later one. A directory is
// left out if something in it is shown, and so are the names that a restore gives to commits.
func Rows(changes []snapshot.Change) (rows []Row) {
	shown := map[string]bool{}
	for i := len(changes) - 1; i >= 0; i-- { // what is in a directory comes after it
		c := changes[i]
		is := c.After
		if is == nil {
			is = c.Before
		}
		if restore.IsKeptRef(c.Path) || is.Kind == snapshot.Directory && shown[c.Path] {
			shown[snapshot.Parent(c.Path)] = true
			continue
		}
		shown[snapshot.Parent(c.Path)] = true
		letter := "M"
		switch {
		case c.Before == nil:
			letter = "A"
		case c.After == nil:
			letter = "D"
		}
		path := c.Path
		if is.Kind == snapshot.Directory {
			path += "/"
		}
		rows = append(rows, Row{Letter: letter, Path: path})
	}
	slices.Reverse(rows)
	return rows
}

// Reverse returns the changes from the later state to the earlier one.
func Reverse(changes []snapshot.Change) []snapshot.Change {
	all := make([]snapshot.Change, len(changes))
	for i, c := range changes {
		all[i] = snapshot.Change{Path: c.Path, Before: c.After, After: c.Before}
	}
	return all
}

// maxShown bounds how many paths a line names.
const maxShown = 20

// Join writes words on one line, not too many of them.
func Join(words []string, separator string) string {
	if more := len(words) - maxShown; more > 0 {
		words = append(words[:maxShown:maxShown], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(words, separator)
}

// A Report is what a command says about a restore.
type Report struct {
	Rows   []Row    // what the job changed
	Others []string // what others changed, which stays
	Left   []snapshot.Skipped
	Kept   []string // refs that keep commits

	GitOutside bool // the repository lies outside of the workspace
}

// NewReport says what a plan does.
func NewReport(s *restore.Session, p *restore.Plan) (Report, error) {
	r := Report{Rows: Rows(Reverse(p.Changes)), Others: p.Others, Left: p.Left, GitOutside: p.GitOutside}
	for i, row := range r.Rows {
		from, to, err := s.Branches(p.Plan, row.Path)
		if err != nil {
			return r, err
		}
		if from != "" {
			r.Rows[i].Note = from + " -> " + to
		}
	}
	for _, c := range p.Changes {
		if restore.IsKeptRef(c.Path) && c.After != nil && c.After.Kind == snapshot.File {
			_, name, _ := strings.Cut(c.Path, "/refs/")
			r.Kept = append(r.Kept, "refs/"+name)
		}
	}
	return r, nil
}

// Write writes the report. what names the job or the run, with a verb.
func (r Report) Write(w io.Writer, what string) error {
	var out strings.Builder
	words := make([]string, len(r.Rows))
	for i, row := range r.Rows {
		words[i] = row.String()
	}
	if len(words) == 0 {
		fmt.Fprintf(&out, "%s no files\n", what)
	} else {
		fmt.Fprintf(&out, "%s %s: %s\n", what, wording.Count(len(words), "file"), Join(words, "  "))
	}
	if n := len(r.Others); n > 0 {
		they := "they stay"
		if n == 1 {
			they = "it stays"
		}
		names := make([]string, n)
		for i, path := range r.Others {
			names[i] = terminal.ShellJoin(path)
		}
		fmt.Fprintf(&out, "you changed %s yourself, %s: %s\n", wording.Count(n, "file"), they, Join(names, " "))
	}
	if r.GitOutside {
		out.WriteString("git: the repository lies outside of the workspace, and stays as it is\n")
	}
	out.WriteString(LeftText(r.Left))
	_, err := io.WriteString(w, out.String())
	return err
}

// LeftText says what could not be restored, a line for each path.
func LeftText(left []snapshot.Skipped) string {
	var out strings.Builder
	for _, l := range left {
		fmt.Fprintf(&out, "not restored: %s: %s\n", terminal.ShellJoin(l.Path), terminal.CleanLine(l.Why))
	}
	return out.String()
}

// Done says that files were restored, and how to take that back.
func (j *Job) Done(r Report, result restore.Result) string {
	text := fmt.Sprintf("restored %s; back again: %s\n", wording.Count(len(r.Rows)-skippedRows(r, result), "file"), j.Again("restore", restore.Name(result.Safety)))
	if len(r.Kept) > 0 {
		text = fmt.Sprintf("kept %s of git: %s\n", wording.Count(len(r.Kept), "commit"), Join(r.Kept, " ")) + text
	}
	return LeftText(result.Skipped[len(r.Left):]) + text
}

// skippedRows counts the shown paths that were left alone after all.
func skippedRows(r Report, result restore.Result) (n int) {
	left := map[string]bool{}
	for _, s := range result.Skipped[len(r.Left):] {
		left[s.Path] = true
	}
	for _, row := range r.Rows {
		if left[strings.TrimSuffix(row.Path, "/")] {
			n++
		}
	}
	return n
}
