package skills

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/lockfile"
	"github.com/perstack-go/perstack/internal/programs"
	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/job"
)

// A skill can be started from files of the workspace, which tools and commands could rewrite
// before it starts. So these files are pinned before the job begins: by the lockfile, or by the
// record of the job. They are compared right before each start, and file tools cannot change them
// meanwhile. A command can, where no container or mount keeps it from that; then the comparison
// stops the run.

// ProgramOf returns what a skill is started from, as far as it lies in the workspace. It is empty
// for skills that start no program of the machine. Runtime is that of the job.
func ProgramOf(k *expert.Skill, workspace, runtime string) (*programs.Program, error) {
	argv, err := k.CommandLine()
	if err != nil {
		return &programs.Program{}, nil //nolint:nilerr // it is started in another way, or not at all
	}
	if runtime == job.Docker {
		return programs.Find(workspace, argv, job.ContainerWorkspace)
	}
	return programs.Find(workspace, argv)
}

// PinProgram returns the digests of the files of the workspace that a skill is started from, for a
// lockfile; "" if there are none.
func PinProgram(k *expert.Skill, workspace, runtime string) (string, error) {
	p, err := ProgramOf(k, workspace, runtime)
	if err != nil || p.Empty() {
		return "", err
	}
	return p.Digest()
}

// RecordPrograms adds to a Spec what its skills are started from in the workspace now, as far as
// neither the lockfile nor the Spec says it. If these say something else, that is an error: the
// run would stop at the first call of such a skill.
func RecordPrograms(spec *job.Spec, lock *lockfile.Lock) error {
	all := slices.Clone(spec.Programs)
	for _, e := range spec.Experts {
		for _, k := range e.Servers() {
			now, err := PinProgram(k, spec.Workspace.Dir, spec.Runtime)
			if err == nil && now != "" {
				err = comparePin(lock, all, e.Key, k, now)
			}
			switch {
			case err == nil:
			case errors.Is(err, errUnknown):
				all = append(all, job.Program{Expert: e.Key, Skill: k.Name, Digest: k.Connection(), Files: now})
			default:
				return fmt.Errorf("skill %q of %q: %w", k.Name, e.Key, err)
			}
		}
	}
	spec.Programs = all
	return nil
}

// errUnknown says that neither a lockfile nor the record of a job knows a program.
var errUnknown = errors.New("its program was not in the workspace when the job began")

// comparePin compares the files of a program with those that the lockfile has, or the record of
// the job if there is no lockfile.
func comparePin(lock *lockfile.Lock, all []job.Program, key string, k *expert.Skill, now string) error {
	var pinned string
	since := "since it was installed"
	if lock != nil {
		locked, _ := lock.Expert(key)
		entry, _ := locked.Skill(k.Name)
		if entry == nil || entry.Program == "" && programs.Count(now) > 0 {
			return &LockError{fmt.Sprintf("the lockfile does not pin the program of skill %q", k.Name)}
		}
		pinned = entry.Program
	} else {
		var known bool
		if pinned, known = recorded(all, key, k); !known {
			return errUnknown
		}
		since = "since the job began"
	}
	if change := programs.Compare(pinned, now); change != "" {
		return &ProgramError{change, since}
	}
	return nil
}

func recorded(all []job.Program, key string, k *expert.Skill) (string, bool) {
	i := slices.IndexFunc(all, func(p job.Program) bool {
		return p.Expert == key && p.Skill == k.Name && p.Digest == k.Connection()
	})
	if i < 0 {
		return "", false
	}
	return all[i].Files, true
}

// FrozenPrograms returns the paths that must not change while the skills of some Experts can be
// started: files and directories, and the symbolic links that lead to them.
func FrozenPrograms(experts []*expert.Expert, workspace, runtime string, environ []string) (frozen, links []string, err error) {
	add := func(p *programs.Program, err error) error {
		if err == nil {
			frozen, links = append(frozen, p.Frozen()...), append(links, p.LinkPaths()...)
		}
		return err
	}
	for _, e := range experts {
		for _, k := range e.Servers() {
			if err := add(ProgramOf(k, workspace, runtime)); err != nil {
				return nil, nil, err
			}
			if path := onPath(k, environ); path != "" {
				if err := add(programs.Named(workspace, path)); err != nil {
					return nil, nil, err
				}
			}
		}
	}
	for _, paths := range []*[]string{&frozen, &links} {
		slices.Sort(*paths)
		*paths = slices.Compact(*paths)
	}
	return frozen, links, nil
}

// HoldPrograms returns the digests of programs that are found in PATH and lie in the workspace,
// by their paths. PATH is another on each machine, so no lockfile has them.
func HoldPrograms(experts []*expert.Expert, workspace string, environ []string) (map[string]string, error) {
	held := make(map[string]string)
	for _, e := range experts {
		for _, k := range e.Servers() {
			path := onPath(k, environ)
			if path == "" {
				continue
			}
			p, err := programs.Named(workspace, path)
			if err != nil {
				return nil, err
			}
			if held[path], err = p.Digest(); err != nil {
				return nil, err
			}
		}
	}
	return held, nil
}

// onPath returns the path of a program that a skill names without one; "" if there is none.
func onPath(k *expert.Skill, environ []string) string {
	argv, err := k.CommandLine()
	if err != nil || filepath.Base(argv[0]) != argv[0] {
		return ""
	}
	env, _ := sandbox.Environment(environ, nil)
	return lookup(argv[0], env)
}

// verify compares the files that a skill is started from with those that were pinned, and reports
// whether code of it lies in the workspace.
func (s *set) verify(k *expert.Skill, argv []string) (inWorkspace bool, err error) {
	dir := s.site.Workspace.Path()
	p, err := programs.Find(dir, argv)
	if err != nil {
		return false, err
	}
	now, err := p.Digest()
	if err != nil || s.unpinned {
		return p.HasCode(), err
	}
	inWorkspace = p.HasCode()
	if now != "" {
		if err := comparePin(s.site.Lock, s.site.Programs, s.expert.Key, k, now); err != nil {
			return true, err
		}
	}
	path := onPath(k, s.site.Parts.Environ)
	if path == "" {
		return inWorkspace, nil
	}
	if p, err = programs.Named(dir, path); err != nil {
		return false, err
	}
	named, err := p.Digest()
	if err != nil || named == "" {
		return inWorkspace, err
	}
	if change := programs.Compare(s.site.Held[path], named); change != "" {
		return true, &ProgramError{change, "since the job began"}
	}
	return true, nil
}

// A ProgramError says that the program of a skill is not the one that was pinned.
type ProgramError struct{ change, since string }

func (e *ProgramError) Error() string {
	return fmt.Sprintf("its program has changed %s, so it was not started: %s; restore it or, if the change is yours, %s",
		e.since, e.change, lockfile.InstallAgain)
}
