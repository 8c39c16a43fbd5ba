package host

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/protect"
	"github.com/perstack-go/perstack/internal/state"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/internal/userfile"
	"github.com/perstack-go/perstack/internal/wording"
)

// TrustMarks reads which trusted files jobs have changed. If an earlier perstack was killed, it
// tells what the job did until then.
func (h *Host) TrustMarks(ctx context.Context) (*protect.Marks, error) {
	dir, err := h.StateDir()
	if errors.Is(err, state.ErrUnknown) {
		return nil, nil // then there is none, and Protect says so
	}
	var marks *protect.Marks
	if err == nil {
		marks, err = protect.Open(ctx, dir, func() time.Time { return h.Source.Now() })
	}
	if err != nil {
		return nil, &ExitError{Code: ExitUsage, Err: err}
	}
	for _, report := range marks.Reports {
		h.tellReport(report)
	}
	return marks, nil
}

// MarkedFiles returns the files that are not accepted, as the user would write them. It closes no
// record and tells nothing, so that a completion can call it.
func (h *Host) MarkedFiles() (files []string) {
	dir, err := h.StateDir()
	if err != nil {
		return nil
	}
	for _, r := range protect.Peek(dir).All() {
		if file := h.short(r.Accept); !slices.Contains(files, file) {
			files = append(files, file)
		}
	}
	return files
}

// RefuseMarked returns an error if a job has changed one of the files, and the user has not
// accepted that. On a terminal the user is asked.
func (h *Host) RefuseMarked(ctx context.Context, marks *protect.Marks, paths ...string) error {
	var checks []protect.Check
	for _, path := range paths {
		c, err := marks.Check(path)
		if err != nil {
			return h.TrustProblem(err)
		}
		checks = append(checks, c)
	}
	return h.refuse(ctx, marks, checks)
}

func (h *Host) refuse(ctx context.Context, marks *protect.Marks, checks []protect.Check) error {
	var lines, files []string
	var accepted []protect.Check
	var unacceptable error
	for _, c := range checks {
		for _, r := range c.Refusals {
			if r.Accept != c.Path { // a directory
				var err error
				if c, err = marks.Check(r.Accept); err != nil {
					return h.TrustProblem(err)
				}
			}
			if err := c.Acceptable(); err != nil && unacceptable == nil {
				unacceptable = err
			}
			lines, accepted = append(lines, h.DescribeMark(r)), append(accepted, c)
			if file := h.name(r.Accept); !slices.Contains(files, file) {
				files = append(files, file)
			}
		}
	}
	if len(lines) == 0 {
		return nil
	}
	text := strings.Join(lines, "\n")
	if unacceptable != nil { // the user could not look at it before an answer
		return Usagef("%s\n%w", text, unacceptable)
	}
	if !h.CanConfirm() {
		subject := "It is"
		if len(files) > 1 {
			subject = "They are"
		}
		return Usagef("%s\n%s not read until you accept %s; look at %s first, then run: %s trust %s", text, subject, them(len(files)), them(len(files)), h.Command, strings.Join(files, " "))
	}
	yes, err := h.Confirm(ctx, "perstack: %s\nLook at %s first. Use %s now?", terminal.Clean(text), them(len(files)), them(len(files)))
	if err != nil {
		return err
	}
	if !yes {
		return Usagef("nothing was started; accept %s with: %s trust %s", them(len(files)), h.Command, strings.Join(files, " "))
	}
	for _, c := range accepted {
		if err := marks.Accept(c); err != nil {
			return &ExitError{Code: ExitUsage, Err: err}
		}
	}
	return nil
}

func them(n int) string {
	if n == 1 {
		return "it"
	}
	return "them"
}

// TrustProblem says what to do about a trust record that cannot be used.
func (h *Host) TrustProblem(err error) error {
	problem, ok := errors.AsType[*protect.ProblemError](err)
	if !ok {
		return err
	}
	if problem.Job == "" {
		return Usagef("%w; look at the files that your runs use, then remove the record", err)
	}
	return Usagef("%w; fix that, and run the command again", err)
}

// DescribeMark says in one line what happened to a file.
func (h *Host) DescribeMark(r protect.Refusal) string {
	id := terminal.CleanLine(r.Job)
	job := "job " + id + " (killed)"
	switch {
	case r.Running:
		job = "job " + id + " (still running)"
	case !r.When.IsZero():
		job = "job " + id + " (ended " + r.When.UTC().Format(time.DateTime) + " UTC)"
	}
	name := h.name(r.Path)
	if r.Mark.Path != filepath.Clean(r.Path) && r.Mark.Change != protect.Unsearched {
		name += " (" + h.name(r.Mark.Path) + ")"
	}
	text := fmt.Sprintf("%s was %s during %s", name, r.Mark.Change, job)
	switch r.Mark.Change {
	case protect.Appeared:
		text = name + " did not exist before " + job
	case protect.Unsearched:
		text = name + " is in " + h.name(r.Accept) + ", which perstack could not search after " + job
	}
	return text
}

// name is a path that can be recognised and copied. It must not be cleaned again, which would join
// blanks, and name another file.
func (h *Host) name(path string) string { return terminal.ShellJoin(h.short(path)) }

// short is a path as the user would write it.
func (h *Host) short(path string) string {
	rest, in := userfile.Below(h.Dir, path)
	switch {
	case !in:
		return path
	case strings.HasPrefix(rest, "-"): // it would pass for a flag
		return "." + string(filepath.Separator) + rest
	}
	return rest
}

// TrustedConfig is TrustMarks for a command that reads perstack.toml next: it refuses one that
// a job has changed, and with it the files that the command would refuse after that. config is the
// flag --config, envPath the flag --env-path.
func (h *Host) TrustedConfig(ctx context.Context, config string, envPath []string) (*protect.Marks, error) {
	marks, err := h.TrustMarks(ctx)
	if err != nil {
		return nil, err
	}
	path, err := h.Locate(config)
	if err != nil && !errors.Is(err, manifest.ErrNotFound) {
		return marks, nil // reading it fails
	}
	names := h.configNames(config, path)
	for _, name := range slices.Clone(names) {
		c, err := marks.Check(name)
		if err != nil {
			return nil, h.TrustProblem(err)
		}
		if len(c.Refusals) == 0 {
			continue
		}
		names = append(names, (&manifest.Config{Path: name, Dir: filepath.Dir(name)}).LockFile())
		for _, f := range manifest.EnvFiles(h.Dir, h.Home, envPath, nil) { // those of envPath are not known
			names = append(names, f.Path)
		}
		break
	}
	return marks, h.RefuseMarked(ctx, marks, names...)
}

// Protect records the trusted files in a workspace and the named ones before a program can change
// them. read has the digest of each file that the command has read; "" for one that does not exist.
// If another job has changed one of them since, nothing is started. end has to be called when all
// programs have ended: it tells the user what they have changed, and returns the error that the
// command ends with.
func (h *Host) Protect(ctx context.Context, history History, job, workspace string, trusted []string, read map[string]string) (end func(error) error, err error) {
	if history.Project.State == "" {
		fmt.Fprintln(h.Stderr, "perstack: the home directory is not known, so perstack cannot detect changes to perstack.toml, env files or git configuration; set HOME")
		return func(err error) error { return err }, nil
	}
	checks, err := h.checkRead(ctx, read)
	if err != nil {
		return nil, err
	}
	before, err := history.state.Exposed()
	if err != nil {
		return nil, &ExitError{Code: ExitUsage, Err: fmt.Errorf("%w; nothing was started", err)}
	}
	watch, err := protect.Begin(ctx, protect.Options{
		State: history.Project.State, Workspace: workspace, Job: job, Trusted: trusted, Checked: checks, Now: h.Source.Now(),
	})
	if err != nil {
		return nil, &ExitError{Code: ExitUsage, Err: fmt.Errorf("%w; nothing was started", err)}
	}
	return func(result error) error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), maxCompare)
		defer cancel()
		report, err := watch.End(ctx, h.Source.Now())
		if err == nil {
			h.tellReport(report)
		} else {
			err = fmt.Errorf("perstack cannot tell whether the run changed files that later runs read: %w; the next run in %s compares them before it starts", err, workspace)
			result = fail(result, err)
		}
		if err := history.hide(before); err != nil {
			result = fail(result, err)
		}
		return result
	}, nil
}

// fail adds an error to the result of a command.
func fail(result, err error) error {
	if result != nil {
		err = fmt.Errorf("%w\nperstack: %w", result, err)
	}
	return &ExitError{Code: max(ExitFailure, signalCode(result)), Err: err}
}

// hide returns an error if other users have rights to the state of the user since a program ran,
// and takes the rights away.
func (h History) hide(before []string) error {
	now, err := h.state.Exposed()
	if err != nil {
		return err
	}
	now = slices.DeleteFunc(now, func(path string) bool { return slices.Contains(before, path) })
	if len(now) == 0 {
		return nil
	}
	if err := h.state.Hide(); err != nil {
		return err
	}
	is := "is"
	if len(now) > 1 {
		is = "are"
	}
	return fmt.Errorf("a program of this run let other users into %s, which "+is+" private again; they may have read the key that seals the history; make a new one with: perstack jobs key --rotate", wording.And(now))
}

// checkRead reads the marks again, and refuses files that are not as the command has read them.
func (h *Host) checkRead(ctx context.Context, read map[string]string) ([]protect.Check, error) {
	marks, err := h.TrustMarks(ctx)
	if err != nil {
		return nil, err
	}
	var checks []protect.Check
	for _, path := range slices.Sorted(maps.Keys(read)) {
		c, unchanged, err := marks.CheckRead(path, read[path])
		if err != nil {
			return nil, h.TrustProblem(err)
		}
		if !unchanged {
			return nil, Usagef("%s changed after perstack had read it; nothing was started; look at the file, then run the command again", h.name(path))
		}
		checks = append(checks, c)
	}
	return checks, h.refuse(ctx, marks, checks)
}

// maxCompare bounds the search at the end of a run: many times what five million names take.
const maxCompare = 5 * time.Minute

// signalCode is the exit code of a command that a signal ended, else 0.
func signalCode(err error) int {
	if code := ExitCode(err); code >= ExitHangup {
		return code
	}
	return 0
}

// maxTold bounds the files that a message names.
const maxTold = 10

// tellReport says which trusted files a job has changed.
func (h *Host) tellReport(report protect.Report) {
	for i, m := range report.Marks {
		if i == maxTold {
			fmt.Fprintf(h.Stderr, "perstack: %s more changed; list all of them with: %s trust\n", wording.Count(len(report.Marks)-i, "file"), h.Command)
			break
		}
		what := "was " + string(m.Change) + " while job " + report.Job + " ran"
		switch m.Change {
		case protect.Appeared:
			what = "appeared while job " + report.Job + " ran"
		case protect.Unsearched:
			what = "cannot be searched since job " + report.Job + " ran"
		}
		next := fmt.Sprintf("later runs do not read it until you accept it with: %s trust %s", h.Command, h.name(m.Path))
		if why := m.Now.Unacceptable(); why != "" {
			next = "it " + terminal.CleanLine(why)
		}
		fmt.Fprintf(h.Stderr, "perstack: %s %s; %s\n", h.name(m.Path), terminal.CleanLine(what), next)
	}
	if len(report.Git) == 0 {
		return
	}
	var all []string
	for i, c := range report.Git {
		if i == maxTold {
			all = append(all, fmt.Sprintf("%d more", len(report.Git)-i))
			break
		}
		kind := "changed"
		if c.New {
			kind = "new"
		}
		all = append(all, fmt.Sprintf("%s (%s)", h.name(c.Path), kind))
	}
	fmt.Fprintf(h.Stderr, "perstack: git configuration or hooks changed while job %s ran, and your next git command uses them; look at them first: %s\n",
		terminal.CleanLine(report.Job), strings.Join(all, ", "))
}
