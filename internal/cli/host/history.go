package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/perstack-go/perstack/internal/credentials"
	"github.com/perstack-go/perstack/internal/history"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/restore"
	"github.com/perstack-go/perstack/internal/sandbox/policy"
	"github.com/perstack-go/perstack/internal/state"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/internal/userfile"
	"github.com/perstack-go/perstack/store"
)

// A History says where the jobs of a project are recorded.
type History struct {
	Dir string // of the journals
	// Chosen says that the user named the directory. Only then may it be a symbolic link.
	Chosen  bool
	Project state.Project // empty if the system names no state directory
	state   state.Dir
	others  []string // histories in the workspace, which other runs used
	own     string   // the directory of the user's configuration, with grants and logins; "" if it is not known
}

// ProjectDir returns the directory of the project: that of the perstack.toml that the flag
// --config names, or of the nearest one, else the workspace. A remote file is in no project.
func (h *Host) ProjectDir(config, workspace string) (string, error) {
	if manifest.IsRemote(config) {
		return workspace, nil
	}
	path, err := h.Locate(config)
	switch {
	case err == nil && h.isRemoteCopy(path):
		return workspace, nil
	case err == nil:
		return filepath.Dir(path), nil
	case errors.Is(err, manifest.ErrNotFound):
		return workspace, nil
	}
	return "", err
}

// StateDir returns where perstack keeps the state of the user.
func (h *Host) StateDir() (state.Dir, error) {
	dir, err := state.Find(runtime.GOOS, h.Home, h.Getenv)
	if err != nil {
		return "", fmt.Errorf("%w; set HOME, or choose a directory with --storage", err)
	}
	return dir, nil
}

// StatePath returns the state directory; "" if there is none.
func (h *Host) StatePath() string {
	dir, err := h.StateDir()
	if err != nil {
		return ""
	}
	return string(dir)
}

// History returns where jobs are recorded: in the directory of the flag --storage, else of
// PERSTACK_STORAGE_PATH, else in the user's state directory, for each project apart. Env files
// cannot set it: they may come with a repository. config is the flag --config.
func (h *Host) History(storage, config, workspace string) (History, error) {
	chosen := cmp.Or(storage, h.Getenv("PERSTACK_STORAGE_PATH"))
	history := History{Chosen: chosen != "", Dir: h.Path(chosen)}
	if path := h.UserConfigPath(); path != "" {
		history.own = filepath.Dir(path)
	}
	err := h.findProject(&history, config, workspace)
	if err != nil && !(history.Chosen && errors.Is(err, state.ErrUnknown)) {
		return History{}, err
	}
	if !history.Chosen {
		history.Dir = history.Project.State
	}
	if info, err := os.Stat(history.Dir); err == nil && !info.IsDir() {
		return History{}, Usagef("%s is not a directory, so it cannot hold the history; choose another with --storage", history.Dir)
	}
	if err := history.findOthers(workspace); err != nil {
		return History{}, Usagef("look for other histories in the workspace: %w", err)
	}
	return history, nil
}

// findProject finds the state directory and the project in it.
func (h *Host) findProject(history *History, config, workspace string) (err error) {
	if history.state, err = h.StateDir(); err != nil {
		return &ExitError{Code: ExitUsage, Err: err}
	}
	dir, err := h.ProjectDir(config, workspace)
	if err != nil {
		return err
	}
	if history.Project, err = history.state.Project(dir); err != nil {
		return &ExitError{Code: ExitUsage, Err: fmt.Errorf("the project cannot be found: %w", err)}
	}
	return nil
}

// findOthers finds the histories in a workspace that other runs used. A directory that is the
// workspace itself cannot be hidden as a whole.
func (h *History) findOthers(workspace string) error {
	if h.state == "" {
		return nil
	}
	storages, err := h.state.Storages()
	if err != nil || len(storages) == 0 {
		return err
	}
	at, err := resolvePath(workspace)
	if err != nil {
		return err
	}
	own, err := resolvePath(h.Dir)
	if err != nil {
		return err
	}
	for _, dir := range storages {
		if dir == at {
			dir = filepath.Join(dir, "jobs")
		}
		if _, in := userfile.Below(at, dir); in && dir != own {
			h.others = append(h.others, dir)
		}
	}
	return nil
}

// RecordStorage records the directory that the user chose, so that runs which choose another one
// hide it, too.
func (h History) RecordStorage() error {
	if !h.Chosen || h.state == "" {
		return nil
	}
	return h.state.RecordStorage(h.Dir)
}

// Hidden lists what tools and programs must not see: the history, all state of the user, the user's
// configuration with grants and logins, and the histories in the workspace that other runs used.
func (h History) Hidden() []string {
	own := []string{h.Dir, string(h.state)}
	if h.state == "" || h.Dir == h.Project.State {
		own = []string{cmp.Or(string(h.state), h.Dir)}
	}
	if h.own != "" && !slices.Contains(own, h.own) { // on macOS it is the state directory
		own = append(own, h.own)
	}
	return append(own, h.others...)
}

// Files returns the directory with the stored states of workspaces.
func (h History) Files() string { return restore.Place{Storage: h.Dir}.Files() }

// Sealer returns what seals the jobs of the project, and checks those that it continues. It is
// nil if the system names no state directory, where the key would be. The key is made when it is
// first needed.
func (h History) Sealer() (*store.Sealer, error) {
	if h.state == "" {
		return nil, nil
	}
	adopted, err := h.Project.Adopted()
	if err != nil {
		return nil, fmt.Errorf("read which projects this one was before: %w", err)
	}
	return store.NewLazySealer(h.Project.ID(), secrets(h.state.Keys)).Adopt(adopted...), nil
}

// Place returns where the history is, for restores. With trust, jobs are accepted whose seal is
// missing or wrong. Without a state directory, nothing can be restored: there is no place for a lock.
func (h History) Place(trust bool) (restore.Place, error) {
	if h.state == "" {
		return restore.Place{}, Usagef("the home directory is not known, so the workspace cannot be locked; set HOME")
	}
	adopted, err := h.Project.Adopted()
	if err != nil {
		return restore.Place{}, fmt.Errorf("read which projects this one was before: %w", err)
	}
	return restore.Place{Storage: h.Dir, Link: h.Chosen, Project: h.Project.ID(), Adopted: adopted, Trust: trust}, nil
}

// ExplainSeal adds to an error about a seal what the user can do.
func ExplainSeal(err error) error {
	seal, ok := errors.AsType[*store.SealError](err)
	if !ok {
		return err
	}
	hint := "to continue it all the same, and believe everything that it records, add --trust-history"
	if seal.Fault == store.OtherProject {
		hint = "continue it there; if this project was moved, run: perstack jobs adopt <old path>; or " + hint
	}
	return Usagef("%w; %s", err, hint)
}

// ExplainRestore adds to an error about a restore that was interrupted what the user can do.
func ExplainRestore(err error) error {
	if interrupted := (*restore.InterruptedError)(nil); errors.As(err, &interrupted) {
		return fmt.Errorf("%w; to take it back instead, run: perstack restore %s --abort", err, interrupted.Job)
	}
	return err
}

// TellFinished says that a restore of a job was interrupted and is finished now. "" stands for none.
func (h *Host) TellFinished(jobID string) {
	if jobID != "" {
		fmt.Fprintf(h.Stderr, "perstack: a restore of job %s was interrupted here; it is finished now\n", terminal.CleanLine(jobID))
	}
}

// FindJob returns the id of the job that a text names. The hint says how to find one, if there is no
// such job.
func FindJob(ctx context.Context, s store.Store, text, hint string) (string, error) {
	id, err := history.Job(ctx, s, text)
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrBadID) {
		err = Usagef("%w; %s", err, hint)
	}
	return id, err
}

// NewestJob returns the job in which something happened last; a zero one if there is none. The hint
// says how to name another job, if it cannot be found out.
func NewestJob(ctx context.Context, s store.Store, hint string) (store.JobInfo, error) {
	var newest store.JobInfo
	var old *store.VersionError
	for job, err := range s.Jobs(ctx) {
		if errors.As(err, &old) || errors.Is(err, store.ErrBadID) || job.Imported != nil {
			continue // it cannot be continued anyway
		}
		if err != nil {
			// It can be the one that is meant, and a program must not guess.
			return newest, fmt.Errorf("cannot tell which job is the newest: %w; %s; perstack log lists the jobs", err, hint)
		}
		if job.UpdatedAt > newest.UpdatedAt {
			newest = job
		}
	}
	if newest.ID == "" && old != nil {
		return newest, old
	}
	return newest, nil
}

// Verifier returns what checks the seals of the jobs of all projects. It makes no key.
func (h *Host) Verifier() (*store.Sealer, error) {
	dir, err := h.StateDir()
	if err != nil {
		return nil, &ExitError{Code: ExitUsage, Err: err}
	}
	return store.NewLazySealer("", secrets(dir.ReadKeys)), nil
}

func secrets(read func() ([]state.Key, error)) func() ([]store.SealKey, error) {
	return func() (all []store.SealKey, err error) {
		keys, err := read()
		if err != nil {
			return nil, &ExitError{Code: ExitUsage, Err: err}
		}
		for _, key := range keys {
			all = append(all, key.Secret)
		}
		return all, nil
	}
}

// In returns those of the directories that [History.Hidden] lists which are in a workspace, and
// whether the state or the logins of the user are among them.
func (h History) In(workspace string) (found []string, state bool, err error) {
	at, err := resolvePath(workspace)
	if err != nil {
		return nil, false, err
	}
	for _, dir := range h.Hidden() {
		resolved, err := resolvePath(dir)
		if err != nil {
			return nil, false, err
		}
		if _, in := userfile.Below(at, resolved); in {
			if dir == h.own && dir != string(h.state) && !h.hasLogins() {
				continue // nothing in it is a secret
			}
			found = append(found, dir)
			state = state || dir == string(h.state) || dir == h.own
		}
	}
	return found, state, nil
}

// hasLogins reports whether there is a login file.
func (h History) hasLogins() bool {
	_, err := os.Lstat(filepath.Join(h.own, credentials.FileName))
	return err == nil
}

// Begin records which project the history is of.
func (h History) Begin() error {
	if h.Chosen {
		return nil
	}
	return h.Project.Record()
}

// OldHistory returns the directory in a workspace in which older versions kept the history,
// or "" if there is none, or if the user named it. Another directory of that name is not
// meant.
func (h History) OldHistory(workspace string) string {
	dir := filepath.Join(workspace, "perstack")
	if dir == h.Dir || !policy.IsOldHistory(dir) {
		return ""
	}
	if resolved, err := resolvePath(dir); err == nil {
		at, err := resolvePath(workspace)
		if _, in := userfile.Below(resolved, at); err == nil && in {
			return "" // a link to the workspace itself, or to a directory around it, cannot be hidden
		}
	}
	return dir
}

// resolvePath returns a path without links, as far as it exists.
func resolvePath(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return state.Resolve(path)
}

// TellOldHistory tells the user once of a history of an older version.
func (h *Host) TellOldHistory(history History, workspace string) error {
	old := history.OldHistory(workspace)
	if old == "" || history.Chosen {
		return nil
	}
	first, err := history.Project.TellOldHistory()
	if err != nil || !first {
		return err
	}
	by, how := h.RecordedBy(old)
	fmt.Fprintf(h.Stderr, "perstack: %s holds jobs of %s; it is hidden from tools and not used. %s\n", terminal.CleanLine(old), by, how)
	return nil
}

// RecordedBy says which program recorded the jobs in the directory of an old history, and how
// they can be read.
func (h *Host) RecordedBy(old string) (by, how string) {
	if policy.HasJob(old, "journal.jsonl") {
		return "an older version", "To list its jobs: " + h.Command + " log --storage " + terminal.ShellJoin(old)
	}
	return "the original Perstack (TypeScript)", "To read its jobs: " + h.Command + " jobs import " + terminal.ShellJoin(old)
}
