package host

import (
	"context"
	"errors"
	"fmt"
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

// TrustRecords reads which trusted files jobs have changed. If an earlier perstack was killed, it
// tells what the job did until then.
func (h *Host) TrustRecords(ctx context.Context) (*protect.Records, error) {
	dir, err := h.StateDir()
	if errors.Is(err, state.ErrUnknown) {
		return nil, nil // then there is none, and Protect says so
	}
	var records *protect.Records
	if err == nil {
		records, err = protect.Open(ctx, dir, func() time.Time { return h.Source.Now() })
	}
	if err != nil {
		return nil, &ExitError{Code: ExitUsage, Err: err}
	}
	for _, report := range records.Reports {
		h.tellReport(report)
	}
	return records, nil
}

// RefuseMarked returns an error if a job has changed one of the files, and the user has not
// accepted that. On a terminal the user is asked.
func (h *Host) RefuseMarked(ctx context.Context, records *protect.Records, paths ...string) error {
	var lines, files, accepted []string
	for _, path := range paths {
		refused, err := records.Refused(path)
		if err != nil {
			return h.unknownTrust(err)
		}
		for _, r := range refused {
			lines, accepted = append(lines, h.DescribeMark(r)), append(accepted, acceptable(r))
			if file := ShellJoin(h.short(acceptable(r))); !slices.Contains(files, file) {
				files = append(files, file)
			}
		}
	}
	if len(lines) == 0 {
		return nil
	}
	text := strings.Join(lines, "\n")
	if !h.StdinIsTerminal || !h.StderrIsTerminal {
		subject := "It is"
		if len(files) > 1 {
			subject = "They are"
		}
		return Usagef("%s\n%s not read until you accept %s; look at %s first, then run: %s trust %s", text, subject, them(len(files)), them(len(files)), h.Command, strings.Join(files, " "))
	}
	fmt.Fprintf(h.Stderr, "perstack: %s\nLook at %s first. Use %s now? [y/N] ", terminal.Clean(text), them(len(files)), them(len(files)))
	yes, err := h.answer(ctx)
	if err != nil {
		return err
	}
	if !yes {
		return Usagef("nothing was started; accept %s with: %s trust %s", them(len(files)), h.Command, strings.Join(files, " "))
	}
	for _, path := range accepted {
		if err := records.Accept(path); err != nil {
			return err
		}
	}
	return nil
}

// acceptable is what the user has to accept: the file, or the directory that it is in.
func acceptable(r protect.Refusal) string {
	if r.Mark.What == protect.Unsearched {
		return r.Mark.Path
	}
	return r.Path
}

func them(n int) string {
	if n == 1 {
		return "it"
	}
	return "them"
}

// unknownTrust says what to do about a record that cannot be used.
func (h *Host) unknownTrust(err error) error {
	problem, ok := errors.AsType[*protect.ProblemError](err)
	if !ok {
		return err
	}
	if problem.Job == "" {
		return Usagef("%w; look at the files that you run perstack with, then remove the record", err)
	}
	return Usagef("%w; fix the cause; the next command compares again", err)
}

// DescribeMark says in one line what happened to a file.
func (h *Host) DescribeMark(r protect.Refusal) string {
	job := "job " + r.Job + " (still running)"
	if !r.When.IsZero() {
		job = "job " + r.Job + " (ended " + r.When.Local().Format(time.DateTime) + ")"
	}
	name := h.short(r.Path)
	if r.Mark.Path != filepath.Clean(r.Path) && r.Mark.What != protect.Unsearched {
		name += " (" + h.short(r.Mark.Path) + ")"
	}
	text := fmt.Sprintf("%s was %s during %s", name, r.Mark.What, job)
	switch r.Mark.What {
	case protect.Appeared:
		text = name + " did not exist before " + job
	case protect.Unsearched:
		text = name + " is in " + h.short(r.Mark.Path) + ", which could not be searched after " + job
	}
	return terminal.CleanLine(text)
}

// short is a path as the user would write it.
func (h *Host) short(path string) string {
	if rest, in := userfile.Below(h.Dir, path); in {
		return rest
	}
	return path
}

// TrustedConfig is TrustRecords for a command that reads perstack.toml next: it refuses one that
// a job has changed. config is the flag --config.
func (h *Host) TrustedConfig(ctx context.Context, config string) (*protect.Records, error) {
	records, err := h.TrustRecords(ctx)
	if err != nil {
		return nil, err
	}
	path, err := h.Locate(config)
	if err != nil && !errors.Is(err, manifest.ErrNotFound) {
		return records, nil // reading it fails
	}
	names := []string{path}
	if config == "" {
		// A perstack.toml that was removed lets that of a parent take its place.
		names = nil
		for at, below := h.Dir, ""; at != below && below != filepath.Dir(path); at, below = filepath.Dir(at), at {
			names = append(names, filepath.Join(at, manifest.FileName))
		}
	}
	return records, h.RefuseMarked(ctx, records, names...)
}

// Protect records the trusted files in a workspace and the named ones before a program can change
// them. end has to be called when all programs have ended: it tells the user what they have
// changed, and returns the error that the command ends with.
func (h *Host) Protect(ctx context.Context, history History, job, workspace string, trusted []string) (end func(error) error, err error) {
	if history.Project.State == "" {
		fmt.Fprintln(h.Stderr, "perstack: the home directory is not known, so perstack cannot detect changes to perstack.toml, env files or git configuration; set HOME")
		return func(err error) error { return err }, nil
	}
	record, err := protect.Begin(ctx, protect.Options{
		State: history.Project.State, Workspace: workspace, Job: job, Trusted: trusted, Now: h.Source.Now(),
	})
	if err != nil {
		return nil, &ExitError{Code: ExitUsage, Err: fmt.Errorf("%w; nothing was started", err)}
	}
	return func(result error) error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), maxCompare)
		defer cancel()
		report, err := record.End(ctx, h.Source.Now())
		if err == nil {
			h.tellReport(report)
			return result
		}
		err = fmt.Errorf("whether the run changed trusted files is not known: %w; the next run in %s looks again before it starts", err, workspace)
		if result != nil {
			err = fmt.Errorf("%w\nperstack: %w", result, err)
		}
		return &ExitError{Code: max(ExitFailure, signalCode(result)), Err: err}
	}, nil
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
			fmt.Fprintf(h.Stderr, "perstack: %s more; %s trust lists them\n", wording.Count(len(report.Marks)-i, "file"), h.Command)
			break
		}
		what := "was " + string(m.What)
		switch m.What {
		case protect.Appeared:
			what = "appeared"
		case protect.Unsearched:
			what = "cannot be searched any more"
		}
		h.warnLine("%s %s while job %s ran; later runs do not read it until you accept it with: %s trust %s", h.short(m.Path), what, report.Job, h.Command, ShellJoin(h.short(m.Path)))
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
		all = append(all, fmt.Sprintf("%s (%s)", h.short(c.Path), kind))
	}
	h.warnLine("git configuration or hooks changed while job %s ran, and your next git command uses them; look at them first: %s", report.Job, strings.Join(all, ", "))
}

func (h *Host) warnLine(format string, args ...any) {
	fmt.Fprintln(h.Stderr, "perstack: "+terminal.CleanLine(fmt.Sprintf(format, args...)))
}
