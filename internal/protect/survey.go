package protect

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/perstack-go/perstack/internal/userfile"
	"github.com/perstack-go/perstack/internal/workspace"
)

// A survey is what was at all names that decide about later commands, by absolute path.
type survey struct {
	Files  map[string]File
	Git    map[string]File    // repositories, their configuration and their active hooks
	Closed []workspace.Closed // directories that could not be searched
}

// survey looks at everything that the record is about. What has not changed since Before is not
// read again.
func (r *record) survey(ctx context.Context) (survey, error) {
	found, err := workspace.FindTrusted(ctx, r.Workspace)
	if err != nil && !userfile.Absent(err) { // a job can remove its workspace
		return survey{}, err
	}
	s := survey{Files: make(map[string]File), Git: make(map[string]File)}
	at := func(name string) string { return filepath.Join(r.Workspace, filepath.FromSlash(name)) }
	for _, name := range slices.Concat(found.Env, found.Rules) {
		if ctx.Err() != nil {
			return survey{}, context.Cause(ctx)
		}
		s.Files[at(name)] = look(at(name), true, r.Before.Files[at(name)])
	}
	for _, name := range found.TOML {
		if ctx.Err() != nil {
			return survey{}, context.Cause(ctx)
		}
		if err := s.experts(at(name), r.Before.Files); err != nil {
			return survey{}, err
		}
	}
	for _, path := range r.Trusted {
		if ctx.Err() != nil {
			return survey{}, context.Cause(ctx)
		}
		if _, ok := s.Files[path]; !ok {
			s.Files[path] = look(path, filepath.Dir(path) == r.Workspace, r.Before.Files[path])
		}
	}
	for _, name := range found.Git {
		if ctx.Err() != nil {
			return survey{}, context.Cause(ctx)
		}
		if err := s.repository(ctx, at(name), r.Before.Git); err != nil {
			return survey{}, err
		}
	}
	for _, dir := range found.Closed {
		dir.Path = at(dir.Path)
		s.Closed = append(s.Closed, dir)
	}
	return s, nil
}

// experts looks at a file that ends in .toml and at its lockfile, if it defines Experts, or did
// before: a user can name it instead of perstack.toml.
func (s *survey) experts(path string, before map[string]File) error {
	if _, known := before[path]; !known && !definesExperts(path) {
		return nil
	}
	if len(s.Files) >= maxFiles {
		return fmt.Errorf("it has more than %d files that later runs read; choose another workspace", maxFiles)
	}
	for _, path := range []string{path, strings.TrimSuffix(path, filepath.Ext(path)) + ".lock"} {
		s.Files[path] = look(path, true, before[path])
	}
	return nil
}

// definesExperts reports whether a file has a key experts at its top. One that cannot be read, or
// has keys that are written with escapes, counts as well.
func definesExperts(path string) bool {
	data, err := userfile.Read(path, maxConfig)
	return err != nil && !userfile.Absent(err) || expertsKey().Match(data)
}

var expertsKey = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^\x{FEFF}?[\s\[]*(["']?experts\b|"[^"\n]*\\)`)
})

const (
	maxFiles   = 20_000  // that one record compares
	maxHooks   = 1000    // names in a directory of hooks
	maxConfig  = 1 << 20 // bytes of a git configuration
	maxInclude = 5       // files that include each other
)

// repository looks at what git takes for a repository.
func (s *survey) repository(ctx context.Context, dir string, before map[string]File) error {
	s.Git[dir] = look(dir, true, before[dir])
	if s.Git[dir].Kind != Directory {
		return nil
	}
	hooks := []string{filepath.Join(dir, "hooks")}
	for _, name := range []string{"config", "config.worktree"} {
		hooks = append(hooks, s.configuration(ctx, filepath.Join(dir, name), workTree(dir), before, 0)...)
	}
	for _, name := range []string{"info/attributes", "commondir"} {
		s.addGit(filepath.Join(dir, filepath.FromSlash(name)), before)
	}
	for _, at := range hooks {
		if ctx.Err() != nil {
			break
		}
		names, err := userfile.Names(at, maxHooks)
		if err != nil {
			s.addGit(at, before) // if it is there, the user has to look at it
			continue
		}
		for _, name := range names {
			if ctx.Err() != nil {
				break
			}
			path := filepath.Join(at, name)
			if hook, err := userfile.Within(func() bool { return isHook(path) }); hook || err != nil {
				s.addGit(path, before)
			}
		}
	}
	return context.Cause(ctx)
}

// configuration looks at a git configuration and the files that it includes. It returns the
// directories of hooks that these name.
func (s *survey) configuration(ctx context.Context, path, workTree string, before map[string]File, depth int) (hooks []string) {
	if ctx.Err() != nil {
		return nil // repository reports it
	}
	if s.addGit(path, before); s.Git[path].Kind != Regular || depth == maxInclude {
		return nil
	}
	data, err := userfile.Read(path, maxConfig)
	if err != nil {
		return nil
	}
	named := parseConfig(string(data))
	for _, dir := range named.hooks {
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(workTree, dir)
		}
		hooks = append(hooks, dir)
	}
	for _, file := range named.includes {
		if !filepath.IsAbs(file) {
			file = filepath.Join(filepath.Dir(path), file)
		}
		if _, seen := s.Git[file]; !seen {
			hooks = append(hooks, s.configuration(ctx, file, workTree, before, depth+1)...)
		}
	}
	return hooks
}

// addGit looks at a file of git, if there is one.
func (s *survey) addGit(path string, before map[string]File) {
	if f := look(path, false, before[path]); f.exists() {
		s.Git[path] = f
	}
}

// workTree is where the files of a repository are, from which relative paths to hooks start.
func workTree(repository string) string {
	if strings.EqualFold(filepath.Base(repository), ".git") {
		return filepath.Dir(repository)
	}
	return repository
}

// isHook reports whether git would run a file in a directory of hooks.
func isHook(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && !strings.HasSuffix(path, ".sample") &&
		(runtime.GOOS == "windows" || info.Mode().Perm()&0o111 != 0)
}

// sortedKeys returns all paths of several maps.
func sortedKeys(all ...map[string]File) []string {
	keys := make(map[string]bool)
	for _, m := range all {
		for path := range m {
			keys[path] = true
		}
	}
	return slices.Sorted(maps.Keys(keys))
}
