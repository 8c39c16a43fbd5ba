package policy

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/perstack-go/perstack/internal/userfile"
)

// git obeys the configuration and the hooks of a repository: a line there runs a program with
// the user's next git command. git takes a directory for a repository if it contains HEAD,
// objects and refs, or HEAD and commondir, which is a file that says where the rest is.

// A listing is what the names of a directory say about it.
type listing struct {
	git                         bool // its name is .git
	head, objects, refs, common bool
	trusted                     []fs.DirEntry // what git obeys, if this is a git directory
	below                       []string      // directories
}

func (l *listing) note(folded string, e fs.DirEntry) {
	switch folded {
	case "head":
		l.head = true
	case "objects":
		l.objects = true
	case "refs":
		l.refs = true
	case "commondir":
		l.common = true
		l.trusted = append(l.trusted, e)
	case "config", "config.worktree", "hooks":
		l.trusted = append(l.trusted, e)
	}
	if e.IsDir() {
		l.below = append(l.below, e.Name())
	}
}

func (l *listing) repository() bool { return l.head && (l.objects && l.refs || l.common) }

// gitDirectory protects what git obeys in a repository.
func (s *search) gitDirectory(dir string, l *listing) error {
	if s.repositories++; s.repositories > s.limits.repositories {
		return s.tooMany("git repositories", s.limits.repositories)
	}
	s.pinned.add(dir)
	for _, e := range l.trusted {
		s.freezeEntry(filepath.Join(dir, e.Name()), e)
	}
	return nil
}

// gitFile protects a file or a link named .git, and finds the git directory that it names.
func (s *search) gitFile(path string, e fs.DirEntry) error {
	if s.repositories++; s.repositories > s.limits.repositories {
		return s.tooMany("git repositories", s.limits.repositories)
	}
	if isLink(e) {
		// The directory that it leads to has to be written to, so the link alone is frozen. In
		// the workspace, the search finds that directory by the names in it.
		_, links := resolve(path)
		for _, link := range links {
			s.frozen.add(link)
		}
		return nil
	}
	s.frozen.add(path)
	dir, err := s.gitDirectoryOf(path)
	switch {
	case err != nil:
		s.ignored = append(s.ignored, Ignored{File: path, Dir: dir, Why: err.Error()})
	case dir == "" || s.top(filepath.Join(dir, "HEAD")) != "": // the search finds it
	default:
		s.write = append(s.write, dir)
	}
	return nil
}

// maxGitFile bounds the files that say where the parts of a repository are.
const maxGitFile = 64 << 10

// gitDirectoryOf returns the directory with everything that git writes for the file .git of a
// worktree or a submodule; "" if the file names a directory of the workspace, or none. A file
// of the workspace cannot open other directories to programs: the git directory must name the
// file, too.
func (s *search) gitDirectoryOf(file string) (dir string, err error) {
	dir, err = readPointer(file, "gitdir:")
	if err != nil {
		return "", nil //nolint:nilerr // git does not take it for a repository
	}
	if s.top(filepath.Join(dir, "HEAD")) != "" {
		return "", nil
	}
	common, err := readPointer(filepath.Join(dir, "commondir"), "")
	switch {
	case err == nil:
		if err := isWorktree(file, dir, common); err != nil {
			return dir, err
		}
	case userfile.Absent(err):
		if err := isSubmodule(file, dir); err != nil {
			return dir, err
		}
		common = dir
	default:
		return dir, err
	}
	if s.top(filepath.Join(common, "HEAD")) != "" {
		return "", nil // of a worktree, only the rest is elsewhere
	}
	if _, around := userfile.Below(common, s.root); around {
		return common, errors.New("it contains the workspace")
	}
	if _, err := s.places.CheckPath("git directory", common); err != nil {
		return common, err
	}
	return common, nil
}

var errNotBack = errors.New("it does not name this file, so it is not the git directory of it")

// isWorktree checks that dir is what "git worktree add" made for a file, in the repository
// common.
func isWorktree(file, dir, common string) error {
	back, err := readPointer(filepath.Join(dir, "gitdir"), "")
	if err != nil || back != file || !hasFile(dir, "HEAD") ||
		filepath.Dir(dir) != filepath.Join(common, "worktrees") || !isRepository(common) {
		return errNotBack
	}
	return nil
}

// isSubmodule checks that dir is the repository of a submodule whose files are beside file.
func isSubmodule(file, dir string) error {
	if !isRepository(dir) {
		return errNotBack
	}
	config, err := userfile.Read(filepath.Join(dir, "config"), maxGitConfig)
	if err != nil {
		return errNotBack
	}
	tree := ""
	parseGitConfig(config, func(key, value string) {
		if key == "core.worktree" {
			tree = value
		}
	})
	if tree == "" {
		return errNotBack
	}
	if !filepath.IsAbs(tree) {
		tree = filepath.Join(dir, tree)
	}
	if real, err := filepath.EvalSymlinks(tree); err != nil || real != filepath.Dir(file) {
		return errNotBack
	}
	return nil
}

// readPointer reads a file with one path in it, which is relative to the directory of the file,
// and returns the path without links.
func readPointer(file, prefix string) (string, error) {
	data, err := userfile.Read(file, maxGitFile)
	if err != nil {
		return "", err
	}
	text, ok := strings.CutPrefix(strings.TrimRight(string(data), "\r\n"), prefix)
	if prefix != "" {
		text = strings.TrimLeft(text, " ")
	}
	if !ok || text == "" || strings.ContainsAny(text, "\x00\n") {
		return "", errors.New("it does not have the path of a git directory")
	}
	if !filepath.IsAbs(text) {
		text = filepath.Join(filepath.Dir(file), text)
	}
	return filepath.EvalSymlinks(text)
}

func isRepository(dir string) bool {
	return hasFile(dir, "HEAD") && hasDir(dir, "objects") && hasDir(dir, "refs")
}

func hasFile(dir, name string) bool {
	info, err := os.Lstat(filepath.Join(dir, name))
	return err == nil && info.Mode().IsRegular()
}

func hasDir(dir, name string) bool {
	info, err := os.Lstat(filepath.Join(dir, name))
	return err == nil && info.IsDir()
}
