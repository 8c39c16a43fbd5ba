package policy

import (
	"path/filepath"
	"slices"

	"github.com/perstack-go/perstack/expert"
)

// access is what a policy lets programs do with a path that nothing protects.
type access int

const (
	accessNone access = iota
	accessHome        // a path in the home directory, which is empty in the sandbox
	accessRead
	accessWrite
)

// access answers by the names alone. The most specific entry counts, as with mounts.
func (p *Policy) access(path string) access {
	best, length := accessNone, -1
	consider := func(dir string, a access) {
		if dir != "" && in(dir, path) && (len(dir) > length || len(dir) == length && a > best) {
			best, length = a, len(dir)
		}
	}
	for _, dir := range systemPaths() {
		consider(dir, accessRead)
	}
	consider("/dev", accessWrite)
	if p.Level == expert.SandboxFull {
		consider("/tmp", accessWrite)
	}
	// A path in the home directory that a program looks for is one of the user's.
	if p.Home != path {
		consider(p.Home, accessHome)
	} else {
		consider(p.Home, accessWrite)
	}
	for _, dir := range slices.Concat(p.Read, p.Opened) {
		consider(dir, accessRead)
	}
	for dir := range p.Files {
		consider(dir, accessWrite)
	}
	for _, c := range p.Caches {
		consider(c.Path, accessWrite)
	}
	for _, dir := range p.Write {
		consider(dir, accessWrite)
	}
	switch p.Workspace.Right {
	case expert.WorkspaceNone:
	case expert.WorkspaceRead:
		consider(p.Workspace.Path, accessRead)
	default:
		consider(p.Workspace.Path, accessWrite)
	}
	if length < 0 && p.leadsTo(path) {
		return accessRead
	}
	return best
}

// leadsTo reports whether something that is shown lies below the path: the directories on the way
// exist in the sandbox.
func (p *Policy) leadsTo(path string) bool {
	for _, shown := range p.absolute() {
		if in(path, shown) {
			return true
		}
	}
	return path == filepath.Dir(path)
}

// systemPaths are shown by every sandbox. /etc has more than is shown, but nothing that a user
// could allow.
func systemPaths() []string {
	return []string{"/usr", "/opt", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/proc", "/sys", "/nix/store", "/gnu/store"}
}
