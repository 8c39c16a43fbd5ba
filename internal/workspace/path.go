package workspace

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

const (
	maxPath  = 4096 // bytes of a name; PATH_MAX of Linux
	maxDepth = 128  // directories held open at once on the way to a file
)

// A request is a path to walk to, and what for.
type request struct {
	given   string // as the caller wrote it, for messages
	steps   []step
	wantDir bool // the path can only mean a directory
	purpose purpose
	moved   *location // no directory is made in this one; may be nil
}

// A step is one component of a path that is being walked.
type step struct {
	name string
	link bool // it came out of a symbolic link, not from the caller
}

// A purpose is what a walk is for.
type purpose int

const (
	reading  purpose = iota
	changing         // what exists; nothing is made on the way
	making           // something new; missing directories are made
)

func stepsTo(names []string) []step {
	steps := make([]step, len(names))
	for i, name := range names {
		steps[i].name = name
	}
	return steps
}

// split translates a name into steps from the root. The translation is lexical and
// decides nothing: ".." stays a step, and the walk finds out where the steps lead.
func (w *Workspace) split(name string, purpose purpose) (request, error) {
	switch {
	case strings.ContainsRune(name, 0):
		return request{}, fail(InvalidPath, name, "is not a valid path: it contains a NUL character")
	case len(name) > maxPath:
		return request{}, fail(InvalidPath, name, "is not a valid path: it is longer than %d bytes", maxPath)
	case name == "~" || len(name) > 1 && name[0] == '~' && os.IsPathSeparator(name[1]):
		// "~" is not expanded, and a file of that name would be a surprise.
		return request{}, &Error{Code: OutsideWorkspace, Message: "path outside allowed directories: " + quote(name) +
			`; "~" is not expanded, use a path inside the workspace`}
	}
	rest := name
	if filepath.IsAbs(name) {
		var ok bool
		if rest, ok = below(w.real, name); !ok {
			if rest, ok = below(w.dir, name); !ok {
				return request{}, outside(name)
			}
		}
	} else if filepath.VolumeName(name) != "" || name != "" && os.IsPathSeparator(name[0]) {
		return request{}, outside(name) // C:x and \x on Windows
	}
	parts := components(rest)
	for _, part := range parts {
		// Checked before anything is created: a write to new/.env must not leave the
		// directory behind.
		folded := fold(part)
		if isEnvName(folded) {
			return request{}, secret(name)
		}
		if purpose != reading && isGitName(folded) {
			return request{}, gitDirectory(name)
		}
	}
	return request{given: name, steps: stepsTo(parts), wantDir: meansDir(rest), purpose: purpose}, nil
}

// meansDir reports whether a path can only mean a directory: it ends in a separator, or
// in "." after one.
func meansDir(path string) bool {
	path = strings.TrimSuffix(path, ".")
	return path != "" && os.IsPathSeparator(path[len(path)-1])
}

// components splits at separators and drops what means "here".
func components(path string) []string {
	parts := strings.FieldsFunc(path, isSeparator)
	return slices.DeleteFunc(parts, func(p string) bool { return p == "." })
}

func isSeparator(r rune) bool { return r < 0x80 && os.IsPathSeparator(uint8(r)) }

// below returns what follows root in name, if name starts with its components.
func below(root, name string) (string, bool) {
	vol := filepath.VolumeName(name)
	if !strings.EqualFold(vol, filepath.VolumeName(root)) {
		return "", false
	}
	rest := name[len(vol):]
	for _, want := range components(root[len(vol):]) {
		rest = strings.TrimLeftFunc(rest, isSeparator)
		end := strings.IndexFunc(rest, isSeparator)
		if end < 0 {
			end = len(rest)
		}
		got := rest[:end]
		if got != want && (runtime.GOOS != "windows" || !strings.EqualFold(got, want)) {
			return "", false
		}
		rest = rest[end:]
	}
	return rest, true
}

// looksShort recognises the short name that file systems of Windows generate for a file
// (PERSTA~1): a protected file would not be recognised by it.
func looksShort(part string) bool {
	i := strings.LastIndexByte(part, '~')
	return i >= 0 && i+1 < len(part) && part[i+1] >= '0' && part[i+1] <= '9'
}
