package snapshot

import (
	"slices"
	"strings"

	"github.com/perstack-go/perstack/internal/workspace"
)

// What is not captured: what perstack stores in the workspace, what git keeps itself, and what
// programs make again. .gitignore is not obeyed: local databases and notes are what git cannot
// bring back.

// A place is a directory of the workspace, as far as the rules depend on it.
type place struct {
	inGit   bool // in .git, or below it
	gitDir  bool // a directory that git takes for a repository's data
	gitDirs bool // its directories are such directories, if they have a HEAD
}

// enter returns the place of a directory, given that of its parent and the names in it.
func (p place) enter(name string, names []string) place {
	if name == ".git" && !p.inGit {
		return place{inGit: true, gitDir: true}
	}
	if !p.inGit {
		return place{}
	}
	// Data of submodules lies in .git/modules, below directories that are part of their names, and
	// that of linked worktrees in .git/worktrees.
	below := p.gitDir && (name == "modules" || name == "worktrees") || p.gitDirs
	head := p.gitDirs && contains(names, "HEAD")
	return place{inGit: true, gitDir: head, gitDirs: below && !head}
}

// leavesOut reports whether a name in the directory is not captured. siblings are all names in it.
func (p place) leavesOut(name string, kind Kind, siblings []string) bool {
	switch {
	case p.inGit && strings.HasSuffix(name, ".lock"):
		return true // of a command that runs, or was killed
	case p.gitDir:
		return kind == Directory && (name == "objects" || name == "lfs" || name == "logs")
	case p.inGit || kind != Directory:
		return false
	}
	switch name {
	case "__pycache__":
		return true
	case "node_modules":
		return contains(siblings, "package.json")
	case "target":
		return contains(siblings, "Cargo.toml")
	}
	return false
}

// madeAgain reports whether the names in a directory say that programs can make it again.
func madeAgain(names []string) bool {
	return contains(names, "CACHEDIR.TAG") || contains(names, "pyvenv.cfg")
}

// contains looks for a name in sorted names.
func contains(names []string, name string) bool {
	_, ok := slices.BinarySearch(names, name)
	return ok
}

// isPrivate reports whether the content of a file is never shown.
func (p place) isPrivate(name string) bool { return !p.inGit && workspace.IsEnvFile(name) }
