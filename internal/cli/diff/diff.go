// Package diff is the command that shows which files a job changed, and how.
//
// It reads the history and the stored files, and nothing of the workspace. Start reading at [New].
package diff

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/internal/cli/files"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/restore"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/internal/wording"
	"github.com/perstack-go/perstack/internal/workspace/snapshot"
)

// Options are what the command works with.
type Options struct {
	Host     *host.Host
	Flags    files.Flags
	Job      string // empty for the newest
	From, To string // checkpoints or snapshots; empty for the first and the last state
	Paths    []string
	Stat     bool
	JSON     bool
}

// New returns the command. Tests hand in a runF to see the options.
func New(h *host.Host, runF func(context.Context, *Options) error) *cobra.Command {
	opts := &Options{Host: h}
	if runF == nil {
		runF = run
	}
	cmd := &cobra.Command{
		Use:   "diff [job] [checkpoint [checkpoint]] [-- path...]",
		Short: "Show which files a job changed",
		Long: `Show which files a job changed, and how. Without a job, the newest one is meant. With one
checkpoint, the changes since then are shown, and with two, the changes between them. A
snapshot, such as s12, can be given instead of a checkpoint.

What you or other programs changed meanwhile is left out, unless the job changed the
same file. The output has the format of git, and git apply takes it. Changes in .git are
only listed by --stat and --json. The content of env files is never shown, and that of
binary and very large files is not, either.`,
		Example: `  perstack diff                              what the newest job changed
  perstack diff <job> <checkpoint>           what it changed since then
  perstack diff <job> -- src                 only below src
  perstack diff --stat                       only count the lines`,
		Args:              opts.parse,
		ValidArgsFunction: files.Complete(h, &opts.Flags, 3),
		RunE:              func(cmd *cobra.Command, _ []string) error { return runF(cmd.Context(), opts) },
	}
	opts.Flags.Add(cmd, false)
	cmd.Flags().BoolVar(&opts.Stat, "stat", false, "print one line for each file, with the number of lines that were added and removed")
	cmd.Flags().BoolVar(&opts.JSON, "json", false, "print the list of files as JSON")
	cmd.MarkFlagsMutuallyExclusive("stat", "json")
	return cmd
}

// parse tells the arguments apart.
func (o *Options) parse(cmd *cobra.Command, args []string) error {
	if at := cmd.ArgsLenAtDash(); at >= 0 {
		args, o.Paths = args[:at], args[at:]
	}
	if len(args) > 3 {
		return host.Usagef("diff takes a job and two checkpoints, but got %d arguments; put paths after --", len(args))
	}
	for i, to := range []*string{&o.Job, &o.From, &o.To} {
		if i < len(args) {
			*to = args[i]
		}
	}
	return nil
}

func run(ctx context.Context, opts *Options) (err error) {
	j, err := files.Find(ctx, opts.Host, opts.Flags, opts.Job)
	if err != nil {
		return err
	}
	h, err := j.Load(ctx)
	if err != nil {
		return err
	}
	from, to, err := opts.ends(h)
	if errors.Is(err, restore.ErrNoFiles) && !opts.JSON {
		_, err := fmt.Fprintf(opts.Host.Stderr, "perstack: job %s has stored no files: it changed none, or snapshots were off\n", j.ID)
		return err
	}
	if err != nil {
		return j.Explain(err)
	}
	spec, err := h.NewestSpec()
	if err != nil {
		return err
	}
	paths, err := files.Paths(opts.Host, spec.Workspace.Dir, opts.Paths)
	if err != nil {
		return err
	}
	changes, err := restore.Compare(ctx, j.Files, h, from, to, paths)
	if err != nil {
		return j.Explain(err)
	}
	defer func() { err = errors.Join(err, changes.Close()) }()
	switch {
	case opts.JSON:
		return opts.printJSON(j.ID, from, to, changes)
	case opts.Stat:
		return opts.printStat(changes)
	}
	return opts.printPatch(changes)
}

// Write writes what a job changed since a checkpoint. What is in .git is left out.
func Write(ctx context.Context, h *host.Host, flags files.Flags, jobID, from string, w io.Writer) (err error) {
	j, err := files.Find(ctx, h, flags, jobID)
	if err != nil {
		return err
	}
	history, err := j.Load(ctx)
	if err != nil {
		return err
	}
	first, last, err := (&Options{From: from}).ends(history)
	if err != nil {
		return j.Explain(err)
	}
	changes, err := restore.Compare(ctx, j.Files, history, first, last, nil)
	if err != nil {
		return j.Explain(err)
	}
	defer func() { err = errors.Join(err, changes.Close()) }()
	withoutGit(changes)
	return changes.WritePatch(lineCleaner{w})
}

// ends returns the states that are compared.
func (o *Options) ends(h *engine.History) (from, to engine.FileState, err error) {
	all := h.Files()
	if len(all) == 0 {
		return from, to, restore.ErrNoFiles
	}
	from, to = all[0], all[len(all)-1]
	if o.From != "" {
		if from, err = restore.Find(h, o.From); err != nil {
			return from, to, err
		}
	}
	if o.To != "" {
		if to, err = restore.Find(h, o.To); err != nil {
			return from, to, err
		}
	}
	if from.Seq > to.Seq {
		return from, to, host.Usagef("%s is later than %s; give the earlier one first", o.From, o.To)
	}
	return from, to, nil
}

// printPatch prints the changes as git does. A terminal gets no control characters of files.
func (o *Options) printPatch(changes *restore.Changes) error {
	if inGit := withoutGit(changes); inGit > 0 {
		fmt.Fprintf(o.Host.Stderr, "perstack: %s in .git changed, too; --stat lists them\n", wording.Count(inGit, "path"))
	}
	if !o.Host.StdoutIsTerminal {
		return changes.WritePatch(o.Host.Stdout)
	}
	return changes.WritePatch(lineCleaner{o.Host.Stdout})
}

// withoutGit leaves out what is in .git, and counts it.
func withoutGit(changes *restore.Changes) int {
	all := len(changes.List)
	changes.List = slices.DeleteFunc(changes.List, func(c snapshot.Change) bool {
		return slices.Contains(strings.Split(c.Path, "/"), ".git")
	})
	return all - len(changes.List)
}

// A lineCleaner takes control characters out of what is written. It is given whole files.
type lineCleaner struct{ w io.Writer }

func (c lineCleaner) Write(data []byte) (int, error) {
	if _, err := io.WriteString(c.w, terminal.Clean(string(data))); err != nil {
		return 0, err
	}
	return len(data), nil
}

// A row is one changed file, for programs.
type row struct {
	Path    string `json:"path"`
	Change  string `json:"change"` // added, modified or removed
	Added   int    `json:"added"`  // lines
	Removed int    `json:"removed"`
	Note    string `json:"note,omitzero"` // why lines are not counted
}

// rows counts the lines of each change.
func (o *Options) rows(changes *restore.Changes) ([]row, error) {
	byPath := map[string]snapshot.Change{}
	for _, c := range changes.List {
		byPath[c.Path] = c
	}
	rows := []row{}
	for _, r := range files.Rows(changes.List) {
		c := byPath[strings.TrimSuffix(r.Path, "/")]
		next := row{Path: r.Path, Change: map[string]string{"A": "added", "M": "modified", "D": "removed"}[r.Letter]}
		var patch bytes.Buffer
		if err := changes.WriteOne(&patch, c); err != nil {
			return nil, err
		}
		inHunk := false
		for line := range strings.Lines(patch.String()) {
			switch {
			case strings.HasPrefix(line, "@@"):
				inHunk = true
			case inHunk && line[0] == '+':
				next.Added++
			case inHunk && line[0] == '-':
				next.Removed++
			case strings.HasPrefix(line, "diff --git"):
				inHunk = false
			case !inHunk && strings.HasPrefix(line, "Binary files"):
				next.Note = "binary"
			case !inHunk && strings.HasPrefix(line, "Files "):
				_, next.Note, _ = strings.Cut(strings.TrimSpace(line), " differ: ")
			}
		}
		rows = append(rows, next)
	}
	return rows, nil
}

func (o *Options) printStat(changes *restore.Changes) error {
	rows, err := o.rows(changes)
	if err != nil {
		return err
	}
	var out strings.Builder
	added, removed := 0, 0
	for _, r := range rows {
		letter := map[string]string{"added": "A", "modified": "M", "removed": "D"}[r.Change]
		counts := fmt.Sprintf("+%d -%d", r.Added, r.Removed)
		if r.Note != "" {
			counts = r.Note
		}
		fmt.Fprintf(&out, "%s %s  %s\n", letter, terminal.ShellJoin(r.Path), counts)
		added, removed = added+r.Added, removed+r.Removed
	}
	fmt.Fprintf(&out, "%s changed, +%d -%d\n", wording.Count(len(rows), "file"), added, removed)
	_, err = io.WriteString(o.Host.Stdout, out.String())
	return err
}

func (o *Options) printJSON(jobID string, from, to engine.FileState, changes *restore.Changes) error {
	rows, err := o.rows(changes)
	if err != nil {
		return err
	}
	return host.WriteJSON(o.Host.Stdout, struct {
		Job   string `json:"job"`
		From  string `json:"from"`
		To    string `json:"to"`
		Files []row  `json:"files"`
	}{jobID, restore.Name(from), restore.Name(to), rows})
}
