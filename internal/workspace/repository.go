package workspace

// git takes a directory for a repository if it contains HEAD, objects and refs, or HEAD and
// commondir, which is a file that says where the rest is (worktrees have it). It looks for
// them in the current directory and in those above it, and it obeys the settings and hooks
// that are there. So a directory "notes" with these names and a file "config" runs a command
// when the user calls "git status" in it. Also, a file ".git" or a setting can name such a
// directory.
//
// These names are harmless one by one. The call that would complete them is refused, in
// whatever order they are made, and once they are complete nothing below is changed. Whether
// HEAD is valid does not matter: its content can be changed later.

// gitNames are those of a directory's names by which git recognises a repository.
type gitNames struct{ head, objects, refs, common bool }

// note takes a name into account, which is folded. It reports whether the name can complete a
// repository.
func (g *gitNames) note(folded string) bool {
	switch folded {
	case headName:
		g.head = true
	case "objects":
		g.objects = true
	case "refs":
		g.refs = true
	case "commondir":
		g.common = true
	default:
		return false
	}
	return true
}

func (g gitNames) repository() bool { return g.head && (g.objects && g.refs || g.common) }

// headName is the folded name of the file without which nothing is a repository.
const headName = "head"

// isRepositoryName recognises, by its folded name, what can complete a repository.
func isRepositoryName(folded string) bool { return new(gitNames).note(folded) }

// isRepository reports whether git could take the directory for a repository, with a new
// entry of a folded name, if that is not empty. The file system decides which spellings of
// a name git would find.
func (d folder) isRepository(added string) bool {
	var names gitNames
	names.note(added)
	for _, name := range []string{"HEAD", "objects", "refs", "commondir"} {
		if _, err := d.Lstat(name); err == nil {
			names.note(fold(name))
		} else if name == "HEAD" && !names.head {
			return false // as almost always
		}
	}
	return names.repository()
}

// refuseRepository refuses to change something below dir if it is a repository. Reading is
// allowed.
func (p *location) refuseRepository(dir folder) error {
	if p.purpose != reading && dir.isRepository("") {
		return inRepository(p.given)
	}
	return nil
}

// refuseNewRepository refuses a new name that would make its directory a repository. The lock
// of the name must be held when it is made.
func (p *location) refuseNewRepository(name string) error {
	if folded := fold(name); isRepositoryName(folded) && p.dir().isRepository(folded) {
		return newRepository(p.given, name)
	}
	return nil
}
